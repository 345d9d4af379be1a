import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ALERT_TYPES } from "../../src/domain/alert.ts";
import { FIELD_CODES, PROBLEMS } from "../../src/domain/errors.ts";
import { written } from "./interface-tables.ts";
import { allNames } from "./names.ts";

const PAGE = readFileSync("docs/interface.md", "utf8");
const METHODS = ["get", "post", "put", "patch", "delete"];

interface Described {
  readonly paths: Record<
    string,
    Record<string, { readonly security?: readonly object[]; readonly "x-scope"?: string }>
  >;
}

const description = JSON.parse(readFileSync("docs/openapi.json", "utf8")) as Described;

/** Returns the text under a heading, up to the next heading of the same or a higher level. */
function section(title: string): string {
  const [, text = ""] = PAGE.split(`\n## ${title}\n`);
  return text.split("\n## ")[0]!;
}

function quoted(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).filter((name) => pattern.test(name));
}

describe("docs/interface.md", async () => {
  it("says of fields and errors what the code says", async () => {
    await expect(written(PAGE), "write it with: npm run docs").toMatchFileSnapshot("../../docs/interface.md");
  });

  it("has every route with its scope, and no other", () => {
    const rows = [...section("3. Routes").matchAll(/^\| `([A-Z]+) (\S+)` \| (\S+) \|/gm)];
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      METHODS.filter((method) => method in methods).map((method) => {
        const { security, "x-scope": scope = "any" } = methods[method]!;
        return [method.toUpperCase(), path, security?.length === 0 ? "–" : scope];
      }),
    );
    // The description leaves out pages for browsers.
    const pages = ["/docs", "/portal", "/portal/{file}"].map((path) => ["GET", path, "–"]);
    expect(rows.map(([, ...row]) => row).toSorted()).toEqual([...described, ...pages].toSorted());
  });

  it("has every code with its status", () => {
    const rows = [...section("Codes").matchAll(/^\| (\d+) \| (.+) \|$/gm)];
    const listed = rows.flatMap(([, status, codes]) => quoted(codes!, /./).map((code) => [code, Number(status)]));
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(Object.entries(PROBLEMS).map(([code, { status }]) => [code, status])),
    );
    const [, fields = ""] = section("Codes").split("Codes of one field");
    const codes = quoted(fields, /^[a-z0-9_]+$/);
    expect(codes.toSorted()).toEqual([...FIELD_CODES].toSorted());
  });

  it("has every alert", () => {
    const alerts = new Set(quoted(section("6. Delivery"), /^webhookd\./));
    expect([...alerts].toSorted()).toEqual([...ALERT_TYPES].toSorted());
  });

  it("has every metric", async () => {
    const rows = [...section("8. Metrics").matchAll(/^\| `(webhookd_\w+|target_info)` \|/gm)].map(([, name]) => name!);
    expect(rows.toSorted()).toEqual([...(await allNames())["metric"]!].toSorted());
  });
});
