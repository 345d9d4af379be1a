import { describe, expect, it } from "vitest";
import { Catalogue } from "../../../src/api/event-types/catalogue.ts";
import { openDataCheck, UnusableType } from "../../../src/api/event-types/data-check.ts";
import { BUILT_IN_TYPES, type EventType } from "../../../src/domain/events/event-type.ts";
import { ManualClock } from "../../harness/clock.ts";
import type { Store } from "../../../src/store/store.ts";
import { aStore } from "../sqlite.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const PATH = "/v1/webhooks/event-types";
const EVENTS = "/v1/webhooks/events";

const ORDER: EventType = {
  name: "order.created",
  description: "An order.",
  source: "example",
  schema: {
    type: "object",
    required: ["id"],
    additionalProperties: false,
    properties: {
      id: { type: "string", maxLength: 5 },
      "a/b": { type: "array", minItems: 1, items: { type: "number", minimum: 0 } },
    },
  },
  sample: { id: "ord_1" },
};

async function serve(given: FakeStore | Store = new FakeStore(), validate = false) {
  const config = { ...aConfig(), eventTypes: [ORDER], events: { validate } };
  const store = given instanceof FakeStore ? given.asStore() : given;
  return ApiServer.start(store, {
    config,
    catalogue: await Catalogue.open(config, { store, clock: new ManualClock() }),
  });
}

describe("the catalogue", () => {
  it("shows the built-in and the configured types to any key that may read", async () => {
    const api = await serve();
    const { status, body } = await api.get(PATH, { key: await api.addKey(["read"]) });
    expect(status).toBe(200);
    expect(body.next_cursor).toBeNull();
    expect(body.data.map(({ name, source }: EventType) => [name, source])).toEqual([
      ...BUILT_IN_TYPES.map(({ name, source }) => [name, source]),
      ["order.created", "example"],
    ]);
    const plain = { group: null, validation: null, deprecated: false, deprecated_at: null, sunset_at: null };
    expect(body.data.at(-1)).toEqual({ ...ORDER, ...plain, archived: false, defined_in: "configuration" });
    expect((await api.get(PATH, { key: await api.addKey(["publish"]) })).status).toBe(403);
  });

  it("has added types for endpoints and events", async () => {
    const [fake, event] = [new FakeStore(), { type: "order.created", data: { anything: 1 } }];
    const api = await serve(fake);
    expect((await api.post(EVENTS, event)).status).toBe(202);
    const registration = { url: "https://example.com/h", events: ["order.created", "order.lost"] };
    const { errors } = (await api.post("/v1/webhooks", registration)).body;
    expect(errors).toMatchObject([{ pointer: "/events/1", code: "unknown_event_type" }]);
  });
});

describe("a pattern of event types", () => {
  it("is taken though it matches nothing today, and otherwise refused with the nearest right form", async () => {
    const api = await serve(await aStore());
    const register = (...events: string[]) => api.post("/v1/webhooks", { url: "https://example.com/h", events });
    const { status, body } = await register("order.*", "later.*", "*");
    expect({ status, events: body.events }).toEqual({ status: 201, events: ["order.*", "later.*", "*"] });
    const { errors } = (await register("order.created", "ord*")).body;
    expect(errors).toMatchObject([
      { pointer: "/events/1", code: "invalid_events", detail: expect.stringMatching(/did you mean order\.\*\?$/) },
    ]);
    const list = await api.get("/v1/webhooks?type=order.created");
    expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([body.id]);
  });

  it("is no reason to keep a type, and brings in those that the configuration adds", async () => {
    const api = await serve(await aStore());
    await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["order.*"] });
    const { body } = await api.post(EVENTS, { type: "order.created", data: {} });
    expect(body.delivery_count).toBe(1);
  });
});

describe("the schemas", () => {
  const check = openDataCheck([...BUILT_IN_TYPES, ORDER]);
  const faultOf = (type: string, data: unknown) => check(type, Buffer.from(JSON.stringify(data)));

  it("take the samples and, where nothing is specified, any object", () => {
    for (const { name, sample, source } of BUILT_IN_TYPES) {
      expect(faultOf(name, sample), name).toBeNull();
      expect(faultOf(name, { ...sample, more: 1 }), name).toBeNull();
      if (source === "example") expect(faultOf(name, {}), name).toBeNull();
    }
  });

  it.each([
    [{}, "/transaction_id", "missing_field"],
    [{ transaction_id: "tx_1", merchant: {}, category: "a" }, "/transaction_id", "invalid_type"],
    [{ transaction_id: "txn_1", merchant: "x", category: "a" }, "/merchant", "invalid_type"],
    [{ transaction_id: "txn_1", merchant: {}, category: "a..b" }, "/category", "invalid_type"],
    [{ transaction_id: "txn_1", merchant: {}, category: 1 }, "/category", "invalid_type"],
  ])("refuse %j as an enriched transaction", (data, pointer, code) => {
    expect(faultOf("transaction.enriched", data)).toMatchObject({ pointer, code });
  });

  it.each([
    [{ id: "abcdef" }, "/id", "too_long"],
    [{ id: "a", "x~y": 1 }, "/x~0y", "unknown_field"],
    [{ id: "a", "a/b": [] }, "/a~1b", "too_few"],
    [{ id: "a", "a/b": [1, "2"] }, "/a~1b/1", "invalid_type"],
    [{ id: "a", "a/b": [-1] }, "/a~1b/0", "out_of_range"],
  ])("of the configuration refuse %j", (data, pointer, code) => {
    expect(faultOf("order.created", data)).toMatchObject({ pointer, code });
  });

  it.each<[Partial<EventType>, RegExp]>([
    [{ schema: { type: "objekt" } }, /schema that cannot be used: .*type/],
    [{ schema: { requierd: ["id"] } }, /schema that cannot be used: .*requierd/],
    [{ schema: { $ref: "https://example.com/s" } }, /schema that cannot be used: .*example\.com/],
    [{ schema: { patternProperties: { "(?=a)": {} } } }, /schema that cannot be used: has a pattern that looks ahead/],
    [{ sample: {} }, /sample that does not match its schema: \/id is required/],
  ])("%j make no type", (change, message) => {
    const open = () => openDataCheck([{ ...ORDER, ...change }]);
    expect(open).toThrow(UnusableType);
    expect(open).toThrow(message);
  });

  it("are compared in a time that the publisher cannot make long", () => {
    const tag = { type: "string", pattern: "^(?:[a-z]+)+$" };
    const schema = { type: "object", properties: { tags: { items: tag }, rows: { type: "array", uniqueItems: true } } };
    const slow = openDataCheck([{ ...ORDER, schema, sample: {} }]);
    const judged = (data: object) => slow("order.created", Buffer.from(JSON.stringify(data)));
    const before = process.cpuUsage();
    expect(judged({ tags: [`${"a".repeat(40)}!`] })).toMatchObject({ pointer: "/tags/0", code: "invalid_type" });
    expect(judged({ tags: ["a".repeat(100_000)] })).toMatchObject({ pointer: "", code: "too_long" });
    expect(judged({ rows: [{ x: [1, { y: 2, z: 3 }] }, { x: [1, { z: 3, y: 2 }] }] })).toMatchObject({
      pointer: "/rows",
    });
    expect(judged({ rows: Array.from({ length: 40_000 }, (_, at) => at) })).toBeNull();
    // A regular expression and a comparison of all pairs take minutes.
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });

  it("are held against what is published, and point at the field", async () => {
    const fake = new FakeStore();
    const api = await serve(fake, true);
    const one = await api.post(EVENTS, {
      type: "transaction.enriched",
      data: { transaction_id: "txn_1", category: "a" },
    });
    expect(one.status).toBe(422);
    expect(one.body.errors).toEqual([{ pointer: "/data/merchant", code: "missing_field", detail: "is required" }]);
    const events = [
      { type: "order.created", data: { id: "a" } },
      { type: "order.created", data: { id: 5 } },
    ];
    const many = await api.post(`${EVENTS}/batch`, { events });
    expect(many.body.errors).toEqual([
      { pointer: "/events/1/data/id", code: "invalid_type", detail: "must be string" },
    ]);
    expect(fake.drafts).toEqual([]);
    const raw = '{"type":"order.created","data":{"a/b":[1.10,1e400], "id":"a"}}';
    expect((await api.post(EVENTS, raw)).status).toBe(202);
    expect(Buffer.from(fake.drafts[0]!.data).toString()).toBe('{"a/b":[1.10,1e400], "id":"a"}');
  });
});
