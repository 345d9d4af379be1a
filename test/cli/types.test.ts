/** `webhookd types` with types of every state. The table has the rest. */
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEventType } from "../../src/api/event-types/schemas.ts";
import { typed } from "./typed.ts";

const OWN = {
  ...anEventType,
  name: "order.created",
  group: "orders",
  deprecated: true,
  deprecated_at: "2026-11-20T09:00:00.000Z",
  sunset_at: "2027-06-30T00:00:00.000Z",
  defined_in: "api",
} as const;
const PAID = { ...OWN, name: "order.paid", deprecated: false, deprecated_at: null, sunset_at: null, archived: true };
const ALL = { data: [anEventType, OWN, PAID], next_cursor: null };

describe("types list", () => {
  const names = async (...words: string[]) =>
    (await typed(["types", "list", "--ids", ...words], { answers: { listEventTypes: ALL } })).out;

  it("shows all, or those of a pattern, a group or a state", async () => {
    expect(await names()).toBe("transaction.enriched\norder.created\norder.paid\n");
    expect(await names("order.*")).toBe("order.created\norder.paid\n");
    expect(await names("order.paid")).toBe("order.paid\n");
    expect(await names("--group", "orders", "--deprecated")).toBe("order.created\n");
    expect(await names("--archived")).toBe("order.paid\n");
  });

  it("has a column for the state, the group and the validation only if some type has one", async () => {
    const { out } = await typed(["types", "list"], { answers: { listEventTypes: ALL } });
    expect(out).toMatch(/^TYPE +GROUP +FROM +STATE +DESCRIPTION\n/);
    expect(out).toMatch(/^order\.created +orders +api +deprecated until 2027-06-30 /m);
    expect(out).toMatch(/^order\.paid +orders +api +archived /m);
    expect(out).toMatch(/^transaction\.enriched +- +specification +- /m);
  });

  it("refuses what is no pattern before it asks", async () => {
    const { code, err, daemon } = await typed(["types", "list", "ord*"]);
    expect({ code, seen: daemon.seen }).toEqual({ code: EXIT.usage, seen: [] });
    expect(err).toContain("ord* is not a pattern");
  });
});

it("an endpoint's page names the types that are on their way out, among those that it chose by name", async () => {
  const events = ["order.created", "order.paid", "transaction.enriched", "order.*"];
  const answers = { listEventTypes: ALL, getEndpoint: { ...anEndpoint, events, health: aHealth } };
  const { out } = await typed(["endpoints", "show", anEndpoint.id], { answers });
  expect(out).toContain("order.created is deprecated since 2026-11-20; its events are expected to end on 2027-06-30\n");
  expect(out).toContain("order.paid is archived: ");
  expect(out).toContain("order.* matches today: order.created, order.paid\n");
  expect(out).not.toContain("transaction.enriched is");
});

describe("a name that there is not", () => {
  it.each(["show", "update", "archive", "rm"])("is answered by types %s with the nearest", async (verb) => {
    const more = { update: ["--deprecated"], rm: ["--yes"] }[verb] ?? [];
    const { code, out, err } = await typed(["types", verb, "order.creatd", ...more], {
      answers: { listEventTypes: ALL },
      refuse: (operation) => (operation === "getEventType" ? { status: 404 } : undefined),
    });
    expect({ code, out }).toEqual({ code: EXIT.not_found, out: "" });
    expect(err).toMatch(/^webhookd: there is no event type order\.creatd at .+\n {2}Did you mean order\.created\?/);
  });
});

describe("types update", () => {
  const update = async (...words: string[]) =>
    (await typed(["types", "set", "order.created", ...words], { answers: { getEventType: OWN } })).last?.body;

  it("sends the whole type with what was given", async () => {
    const { description, schema, sample } = OWN;
    const whole = { description, schema, sample, group: "orders", validation: null, archived: false };
    const old = { deprecated: true, sunset_at: OWN.sunset_at };
    expect(await update("--validation", "enforce", "--group=none")).toEqual({
      ...whole,
      ...old,
      validation: "enforce",
      group: null,
    });
    expect(await update("--sunset=2028-01-31", "--archived")).toEqual({
      ...whole,
      deprecated: true,
      sunset_at: "2028-01-31T00:00:00Z",
      archived: true,
    });
    expect(await update("--no-deprecated")).toEqual({ ...whole, deprecated: false, sunset_at: null });
  });

  it.each([
    [[], "there is nothing to change"],
    [["--schema", "{"], "--schema:1:2"],
    [["--sample", "[1]"], "--sample contains a JSON array"],
    [["--sample", "sample.json"], "To read a file, write --sample @sample.json."],
    [["--schema", "-", "--sample", "-"], "cannot both be stdin"],
    [["--validation", "enforced"], "Did you mean enforce?"],
  ])("refuses %j before it asks", async (words, message) => {
    const { code, err, daemon } = await typed(["types", "update", "order.created", ...words]);
    expect({ code, seen: daemon.seen }).toEqual({ code: EXIT.usage, seen: [] });
    expect(err).toContain(message);
  });
});

describe("types import", () => {
  const post = { summary: "Something happened." };
  const webhooks = { "order.created": { post }, "order.paid": { post }, "refund.made": { get: {} } };
  const files = { "api.json": JSON.stringify({ openapi: "3.1.0", webhooks }) };
  const row = (name: string, result: string, changed: string[] = []) => ({ name, result, changed, reason: null });
  const both = { data: [row("order.created", "added"), row("order.paid", "unchanged")], dry_run: true };
  const run = (words: string[], data: object = both) =>
    typed(["types", "import", "{dir}/api.json", ...words], { files, answers: { importEventTypes: data } });

  it("shows the whole plan, and exits 8 if something in it is refused", async () => {
    const { code, out, err, daemon } = await run(["--dry-run"]);
    expect({ code, err }).toEqual({
      code: EXIT.answer_is_no,
      err: "1 added, 1 unchanged, 1 refused. Nothing was done.\n",
    });
    expect(out.split("\n")).toEqual([
      "TYPE           RESULT     CHANGES",
      "order.created  added      -",
      "order.paid     unchanged  -",
      "refund.made    refused    -",
      "  refund.made has no post operation, and events are posted",
      "",
    ]);
    expect(daemon.seen.map(({ body }) => body)).toEqual([
      {
        types: ["order.created", "order.paid"].map((name) => ({ name, description: post.summary })),
        dry_run: true,
      },
    ]);
  });

  it("imports nothing if a type is refused, and the others with --skip: only those that change something", async () => {
    const refused = await run(["--yes"]);
    expect([refused.code, refused.out, refused.daemon.seen.length]).toEqual([EXIT.refused, "", 1]);
    expect(refused.err).toContain(
      "webhookd: 1 of 3 types cannot be imported\n  Nothing was done. To import the others: --skip.",
    );
    const machine = await run(["--yes", "--json"]);
    expect(JSON.parse(machine.err).error).toMatchObject({
      code: "types_refused",
      hint: expect.stringContaining("refund.made has no post operation"),
    });
    const skipped = await run(["--yes", "--skip"]);
    expect([skipped.code, skipped.out]).toEqual([EXIT.ok, "Imported: 1 added, 1 unchanged, 1 refused.\n"]);
    expect(skipped.last!.body).toEqual({ types: [{ name: "order.created", description: post.summary }] });
  });

  it("takes some of the types, by name or pattern", async () => {
    const { code, out, daemon } = await run(["--yes", "--only", "order.paid"], {
      data: [row("order.paid", "unchanged")],
      dry_run: true,
    });
    expect([code, daemon.seen.length]).toEqual([EXIT.ok, 1]);
    expect(out).toMatch(/^order\.paid +unchanged +-\nThere is nothing to import\.\n$/m);
    expect((await run(["--dry-run", "--only=order.*", "--only=x.y"])).code).toBe(EXIT.ok);
  });

  it.each([
    [["--only", "ord*"], "--only: ord* is not a pattern"],
    [["--only", "order.lost"], "describes no type order.lost\n  It describes order.created, order.paid, refund.made."],
    [[], "an import needs --yes when there is no terminal"],
  ])("refuses %j before it asks", async (words, message) => {
    const { code, err, daemon } = await run(words);
    expect({ code, seen: daemon.seen }).toEqual({ code: EXIT.usage, seen: [] });
    expect(err).toContain(message);
  });

  it("refuses more than fits into an import before it asks", async () => {
    const content = { "application/json": { example: { text: "x".repeat(60_000) } } };
    const names = Array.from({ length: 150 }, (_, at) => `type.${at}`);
    const webhooks = Object.fromEntries(names.map((name) => [name, { post: { requestBody: { content } } }]));
    const long = { openapi: "3.1.0", webhooks };
    const { code, err, daemon } = await typed(["types", "import", "{dir}/api.json", "--dry-run"], {
      files: { "api.json": JSON.stringify(long) },
    });
    expect({ code, seen: daemon.seen }).toEqual({ code: EXIT.usage, seen: [] });
    expect(err).toContain("the types have 8.6 MiB together, and an import may have 8.0 MiB\n  Import some at a time");
  });
});
