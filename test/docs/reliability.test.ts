import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = ["docs/reliability.md", "SECURITY.md"];
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };

describe.each(PAGES)("%s", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");

  it("names only tests that exist", () => {
    const named = [...text.matchAll(/`(test\/[\w./-]+)`/gu)].map(([, file]) => file!);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("names only commands that exist", () => {
    const named = [...text.matchAll(/npm run ([\w-]+)/gu)].map(([, script]) => script!);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });
});
