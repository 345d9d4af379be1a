/** PostgreSQL's texts cannot contain NUL, and SQLite's can. Users must not see the difference. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TestDaemon } from "../harness/daemon.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

const { components, paths } = JSON.parse(readFileSync("docs/openapi.json", "utf8")) as {
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const NUL = "a\0b";

it("refuses a NUL in any parameter of any list", async () => {
  const daemon = await TestDaemon.start();
  const asked = Object.entries(paths).flatMap(([path, { get }]) =>
    path.includes("{") || path.endsWith("/stream")
      ? []
      : (get?.parameters ?? [])
          .map((one) => ("name" in one ? one : components.parameters[one.$ref.split("/").at(-1)!]!))
          .filter((parameter) => parameter.in === "query")
          .map(({ name }) => `${path}?${name}=${encodeURIComponent(NUL)}`),
  );
  expect(asked.length).toBeGreaterThan(40);
  const answers = await Promise.all(asked.map(async (path) => [path, (await daemon.request("GET", path)).status]));
  expect(answers.filter(([, status]) => status !== 422)).toEqual([]);
});

it("finds nothing under a name with a NUL", async () => {
  const daemon = await TestDaemon.start();
  const names = Object.keys(paths).filter((path) => path.split("{").length === 2 && paths[path]!["get"] !== undefined);
  const answers = await Promise.all(
    names.flatMap((path) =>
      ["a%00b", "uid:a%00b"].map(async (name) => {
        const filled = path.replace(/\{\w+\}/, name);
        return [filled, (await daemon.request("GET", filled)).status];
      }),
    ),
  );
  expect(answers.filter(([, status]) => status !== 404)).toEqual([]);
});

it("takes or refuses a NUL in a body, and fails at none", async () => {
  const daemon = await TestDaemon.start();
  const event = { type: "budget.exceeded", data: {} };
  const endpoint = { url: "https://example.com/h", events: ["budget.exceeded"] };
  const bodies: readonly (readonly [path: string, body: object])[] = [
    ["/v1/webhooks/events", { ...event, type: NUL }],
    ["/v1/webhooks/events", { ...event, data: { [NUL]: NUL } }],
    ["/v1/webhooks/events", { ...event, publisher_id: NUL }],
    ["/v1/webhooks/events", { ...event, tags: [NUL] }],
    ["/v1/webhooks/events", { ...event, idempotency_key: NUL }],
    ["/v1/webhooks/events", { ...event, tenant: NUL }],
    ["/v1/webhooks", { ...endpoint, url: `https://example.com/${NUL}` }],
    ["/v1/webhooks", { ...endpoint, events: [NUL] }],
    ["/v1/webhooks", { ...endpoint, description: NUL }],
    ["/v1/webhooks", { ...endpoint, uid: NUL }],
    ["/v1/webhooks", { ...endpoint, tenant: NUL }],
    ["/v1/webhooks", { ...endpoint, headers: { "x-a": NUL } }],
    ["/v1/webhooks", { ...endpoint, headers: { [NUL]: "a" } }],
    ["/v1/keys", { name: NUL, scopes: ["read"] }],
    ["/v1/pause", { reason: NUL }],
    ["/v1/webhooks/jobs", { action: "replay", filter: { type: NUL } }],
    ["/v1/webhooks/jobs", { action: "replay", filter: { tag: NUL } }],
  ];
  const answers = await Promise.all(
    bodies.map(async ([path, body]) => [JSON.stringify(body), (await daemon.request("POST", path, body)).status]),
  );
  expect(answers.filter(([, status]) => (status as number) >= 500)).toEqual([]);
});
