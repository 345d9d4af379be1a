import { describe, expect, it } from "vitest";
import { Catalogue } from "../../../src/api/event-types/catalogue.ts";
import { MAX_STORED_TYPES } from "../../../src/domain/events/catalogue.ts";
import type { EventType } from "../../../src/domain/events/event-type.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks/event-types";
const SHIPPED: EventType = { name: "order.shipped", description: "", source: "example", schema: {}, sample: {} };
const SCHEMA = { type: "object", required: ["id"], properties: { id: { type: "string", minLength: 2 } } };
const CREATED = { name: "order.created", description: "New.", schema: SCHEMA, group: "orders", deprecated: false };

async function serve() {
  const store = await aStore();
  const config = { ...aConfig(), eventTypes: [SHIPPED] };
  const api = await ApiServer.start(store, {
    config,
    catalogue: await Catalogue.open(config, { store, clock: new ManualClock() }),
  });
  const importing = (...types: object[]) => api.post(`${PATH}/import`, { types });
  const planning = async (...types: object[]) => {
    const { status, body } = await api.post(`${PATH}/import`, { types, dry_run: true });
    expect({ status, dry: body.dry_run }).toEqual({ status: 200, dry: true });
    return body.data;
  };
  const put = (name: string, body: object) => api.request("PUT", `${PATH}/${name}`, { body: JSON.stringify(body) });
  const shown = async (name: string) => (await api.get(`${PATH}/${name}`)).body;
  return { api, store, importing, planning, put, shown };
}

const result = (name: string, is: string, changed: string[] = []) => ({ name, result: is, changed, reason: null });

describe("an import of event types", () => {
  it("adds and changes, leaves the rest, and does nothing the second time", async () => {
    const { store, importing, planning, shown } = await serve();
    const types = [CREATED, { name: "order.lost" }];
    const added = [result("order.created", "added"), result("order.lost", "added")];
    expect(await planning(...types)).toEqual(added);
    expect(await store.types.revision()).toBe(0);
    expect((await importing(...types)).body).toEqual({ data: added, dry_run: false });
    expect(await shown("order.created")).toMatchObject({ ...CREATED, sample: { id: "text" }, defined_in: "api" });
    expect(await store.types.revision()).toBe(1);

    const again = [result("order.created", "unchanged"), result("order.lost", "unchanged")];
    expect(await planning(...types)).toEqual(again);
    expect((await importing(...types)).body.data).toEqual(again);
    expect(await store.types.revision()).toBe(1);

    const other = { ...CREATED, description: "Newer.", deprecated: true, sample: { id: "ord_1" } };
    const changed = [result("order.created", "changed", ["description", "sample", "deprecated"])];
    expect(await planning(other)).toEqual(changed);
    expect((await importing(other)).body.data).toEqual(changed);
    expect(await shown("order.created")).toMatchObject(other);
  });

  it("keeps what it does not say", async () => {
    const { importing, put, shown } = await serve();
    const kept = {
      description: "Mine.",
      schema: SCHEMA,
      sample: { id: "mine" },
      group: "mine",
      validation: "warn",
      deprecated: true,
      sunset_at: "2030-01-01T00:00:00.000Z",
      archived: true,
    };
    await put("order.created", kept);
    const before = await shown("order.created");
    expect((await importing({ name: "order.created" })).body.data).toEqual([result("order.created", "unchanged")]);
    expect(await shown("order.created")).toEqual(before);
    // The sample still matches this schema, and not the next.
    await importing({ name: "order.created", schema: { ...SCHEMA, title: "Order" } });
    expect((await shown("order.created")).sample).toEqual({ id: "mine" });
    await importing({ name: "order.created", schema: { properties: { id: { const: 7 } } }, deprecated: false });
    expect(await shown("order.created")).toMatchObject({
      sample: { id: 7 },
      deprecated: false,
      sunset_at: null,
      validation: "warn",
      archived: true,
    });
  });

  it("does nothing if one type cannot be imported, and says of each why", async () => {
    const { store, importing, planning } = await serve();
    const types = [
      CREATED,
      { name: "goal.achieved" },
      { name: "order.shipped" },
      { name: "order created" },
      { name: "order.paid", schema: { type: "objekt" } },
      { name: "order.lost", schema: SCHEMA, sample: {} },
      { name: "order.list", schema: { type: "array" } },
      { name: "order.long", schema: { description: "x".repeat(70_000) } },
      CREATED,
    ];
    const why = [
      ["goal.achieved", "/types/1/name", "read_only_event_type", /fixed by the specification/],
      ["order.shipped", "/types/2/name", "read_only_event_type", /comes from the configuration/],
      ["order created", "/types/3/name", "invalid_syntax", /is not an event type name/],
      ["order.paid", "/types/4/schema", "invalid_syntax", /schema that cannot be used/],
      ["order.lost", "/types/5/sample", "invalid_syntax", /does not match its schema: \/id is required/],
      ["order.list", "/types/6/sample", "invalid_syntax", /data is always an object/],
      ["order.long", "/types/7", "too_long", /has 68 KiB of schema and sample, and a type may have 64 KiB/],
      ["order.created", "/types/8/name", "duplicate_key", /more than once/],
    ] as const;
    expect(await planning(...types)).toEqual([
      result("order.created", "added"),
      ...why.map(([name, , , reason]) => ({
        name,
        result: "refused",
        changed: [],
        reason: expect.stringMatching(reason),
      })),
    ]);
    const { status, body } = await importing(...types);
    expect(status).toBe(422);
    expect(body.errors).toEqual(
      why.map(([, pointer, code, detail]) => ({ pointer, code, detail: expect.stringMatching(detail) })),
    );
    expect(await store.types.list()).toMatchObject({ revision: 0, types: [] });
  });

  it("takes a thousand types in one body, and answers others meanwhile", async () => {
    const { api, importing, planning } = await serve();
    const types = Array.from({ length: MAX_STORED_TYPES }, (_, at) => ({ name: `t.n${at}`, schema: SCHEMA }));
    let answered = 0;
    const over = new AbortController();
    const answering = importing(...types).finally(() => over.abort());
    while (!over.signal.aborted) {
      await api.get("/v1/tenants");
      answered++;
    }
    expect((await answering).status).toBe(200);
    expect(answered).toBeGreaterThan(5);
    expect((await planning(types[0]!))[0]).toMatchObject({ result: "unchanged" });
    expect((await importing({ name: "one.more" })).body.code).toBe("event_type_limit");
    expect((await importing(...types, { name: "one.more" })).body.errors[0].code).toBe("too_long");
  });

  it("is for admins of every tenant only", async () => {
    const { api } = await serve();
    const body = JSON.stringify({ types: [CREATED] });
    const key = await api.addKey(["admin"], "acme");
    expect((await api.request("POST", `${PATH}/import`, { body, key })).status).toBe(403);
    const reader = await api.addKey(["read", "manage", "publish"]);
    expect((await api.request("POST", `${PATH}/import`, { body, key: reader })).status).toBe(403);
  });
});
