import { describe, expect, it } from "vitest";
import { BUILT_IN_TYPES, type EventType } from "../../../src/domain/events/event-type.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks/event-types";
const EVENTS = "/v1/webhooks/events";
const CONFIGURED: EventType = { name: "file.added", description: "", source: "example", schema: {}, sample: {} };
const ORDER = {
  description: "An order.",
  schema: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
  sample: { id: "ord_1" },
  group: "orders",
};

async function serve() {
  const clock = new ManualClock();
  const api = await ApiServer.start(await aStore(clock), { config: { ...aConfig(), eventTypes: [CONFIGURED] } });
  const put = (name: string, body: object = ORDER, key?: string) =>
    api.request("PUT", `${PATH}/${name}`, { body: JSON.stringify(body), ...(key !== undefined && { key }) });
  const register = (events: string[], more: object = {}) =>
    api.post("/v1/webhooks", { url: "https://example.com/h", events, ...more });
  return { api, put, register };
}

describe("an operator's event type", () => {
  it("is added, shown, replaced and deleted", async () => {
    const { api, put } = await serve();
    const made = await api.post(PATH, { name: "order.created", ...ORDER });
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`${PATH}/order.created`);
    const shown = {
      name: "order.created",
      ...ORDER,
      source: "example",
      validation: null,
      deprecated: false,
      deprecated_at: null,
      sunset_at: null,
      archived: false,
      defined_in: "api",
    };
    expect(made.body).toEqual(shown);
    expect((await api.get(`${PATH}/order.created`)).body).toEqual(shown);
    expect((await api.get(PATH)).body.data.at(-1)).toEqual(shown);
    expect((await put("order.created", { description: "Other." })).body).toMatchObject({
      description: "Other.",
      group: null,
      sample: {},
    });
    const second = await put("order.paid");
    expect([second.status, second.headers.location]).toEqual([201, `${PATH}/order.paid`]);
    expect((await api.request("DELETE", `${PATH}/order.created`)).status).toBe(204);
    expect((await api.request("DELETE", `${PATH}/order.created`)).status).toBe(404);
    const { status, body } = await api.get(`${PATH}/order.created`);
    expect([status, body.detail]).toEqual([404, expect.stringMatching(/is not a known event type/)]);
    const audited = (await api.get("/v1/audit")).body.data.map(({ action, object }: Record<string, string>) => [
      action,
      object,
    ]);
    expect(audited).toEqual([
      // The second one was refused.
      ["event_type.delete", "order.created"],
      ["event_type.delete", "order.created"],
      ["event_type.put", "order.paid"],
      ["event_type.put", "order.created"],
      ["event_type.create", "order.created"],
    ]);
  });

  it("has a sample made from its schema if it brings none", async () => {
    const { put } = await serve();
    const schema = { type: "object", required: ["id"], properties: { id: { type: "integer", minimum: 5 } } };
    expect((await put("order.created", { schema })).body.sample).toEqual({ id: 5 });
    expect((await put("order.created", { schema, sample: { id: 9 } })).body.sample).toEqual({ id: 9 });
  });

  it("can be published, chosen and tested at once, with its own sample", async () => {
    const { api, put, register } = await serve();
    expect((await api.post(EVENTS, { type: "order.created", data: {} })).status).toBe(422);
    await put("order.created");
    const { id } = (await register(["order.created"])).body;
    expect((await api.post(EVENTS, { type: "order.created", data: { any: 1 } })).body.delivery_count).toBe(1);
    const test = await api.post(`/v1/webhooks/${id}/test`, {});
    expect((await api.get(`${EVENTS}/${test.body.id}`)).body.data).toEqual(ORDER.sample);
    const { paths: _, webhooks } = (await api.get("/openapi.json")).body;
    expect(Object.keys(webhooks)).toContain("order.created");
  });

  it("is changed only with an admin key for every tenant", async () => {
    const { api, put } = await serve();
    await put("order.created");
    for (const key of [await api.addKey(["manage", "secrets", "publish"], "*"), await api.addKey(["admin"])]) {
      expect((await put("order.created", ORDER, key)).status).toBe(403);
      expect((await api.post(PATH, { name: "a.b" }, { key })).status).toBe(403);
      expect((await api.request("DELETE", `${PATH}/order.created`, { key })).status).toBe(403);
    }
    const reader = await api.addKey(["read"]);
    expect((await api.get(`${PATH}/order.created`, { key: reader })).status).toBe(200);
  });

  it("is added by POST only once", async () => {
    const { api } = await serve();
    const add = (headers = {}) => api.post(PATH, { name: "a.b" }, { headers });
    const once = { "idempotency-key": "one" };
    expect((await add(once)).status).toBe(201);
    expect((await add(once)).status).toBe(201);
    expect((await add()).body).toMatchObject({
      status: 409,
      code: "already_created",
      detail: expect.stringContaining("PUT"),
    });
  });

  it.each(["budget.exceeded", "file.added"])("does not replace %s, which is fixed", async (name) => {
    const { api, put } = await serve();
    const answers = [
      await put(name),
      await api.post(PATH, { name, ...ORDER }),
      await api.request("DELETE", `${PATH}/${name}`),
    ];
    for (const { status, body } of answers) {
      expect([status, body.code]).toEqual([409, "event_type_read_only"]);
      expect(body.detail).toMatch(name === "file.added" ? /\[\[event_types\]\]/ : /fixed by the specification/);
    }
    expect((await api.get(PATH)).body.data).toHaveLength(BUILT_IN_TYPES.length + 1);
  });

  it.each<[object, string, string]>([
    [{ name: "a b" }, "/name", "invalid_syntax"],
    [{ name: "webhookd.x" }, "/name", "invalid_syntax"],
    [{ name: "a.*" }, "/name", "invalid_syntax"],
    [{}, "/name", "missing_field"],
    [{ name: "a", description: "x".repeat(257) }, "/description", "too_long"],
    [{ name: "a", description: "a\nb" }, "/description", "forbidden_char"],
    [{ name: "a", group: "" }, "/group", "too_few"],
    [{ name: "a", schema: { type: "objekt" } }, "/schema", "invalid_syntax"],
    [{ name: "a", schema: { $ref: "https://example.com/s" } }, "/schema", "invalid_syntax"],
    [{ name: "a", schema: [] }, "/schema", "invalid_type"],
    [{ name: "a", schema: { required: ["id"] }, sample: {} }, "/sample", "invalid_syntax"],
    [{ name: "a", schema: { properties: { id: { pattern: "^[^a]$" } } } }, "/sample", "invalid_syntax"],
    [{ name: "a", schema: { type: "array" } }, "/sample", "invalid_syntax"],
    [{ name: "a", validation: "strict" }, "/validation", "invalid_type"],
    [{ name: "a", sunset_at: "2027-01-01T00:00:00Z" }, "/sunset_at", "conflicting_fields"],
    [{ name: "a", deprecated: true, sunset_at: "2020-01-01T00:00:00Z" }, "/sunset_at", "conflicting_fields"],
    [{ name: "a", deprecated: true, sunset_at: "soon" }, "/sunset_at", "invalid_type"],
    [{ name: "a", defined_in: "api" }, "/defined_in", "unknown_field"],
  ])("is refused as %j", async (body, pointer, code) => {
    const { api } = await serve();
    const { status, body: answer } = await api.post(PATH, body);
    expect(status).toBe(422);
    expect(answer.errors).toMatchObject([{ pointer, code }]);
  });

  it("is refused under a path that is no name", async () => {
    const { put } = await serve();
    expect((await put("a%20b")).body.errors).toMatchObject([{ pointer: "", code: "invalid_syntax" }]);
  });
});

describe("an endpoint with a pattern", () => {
  it("receives a type that is added later, archived or not, and does not keep it", async () => {
    const { api, put, register } = await serve();
    const { id } = (await register(["order.*"])).body;
    await put("order.created");
    const test = await api.post(`/v1/webhooks/${id}/test`, {});
    expect((await api.get(`${EVENTS}/${test.body.id}`)).body).toMatchObject({
      type: "order.created",
      data: ORDER.sample,
    });
    await put("order.created", { ...ORDER, archived: true });
    expect((await api.post(EVENTS, { type: "order.created", data: {} })).body.delivery_count).toBe(1);
    expect((await register(["order.*", "*"])).status).toBe(201);
    await put("order.unused");
    expect((await api.request("DELETE", `${PATH}/order.unused`)).status).toBe(204);
  });
});

describe("a type in use", () => {
  it("is not deleted, and says who uses it and to archive it", async () => {
    const { api, put, register } = await serve();
    await put("order.created");
    const { id } = (await register(["order.created"])).body;
    const refused = await api.request("DELETE", `${PATH}/order.created`);
    expect(refused.body).toMatchObject({ status: 409, code: "event_type_in_use" });
    expect(refused.body.detail).toContain(id);
    expect(refused.body.detail).toContain("archive it");
    await api.request("DELETE", `/v1/webhooks/${id}`);
    await api.post(EVENTS, { type: "order.created", data: {} });
    expect((await api.request("DELETE", `${PATH}/order.created`)).body.detail).toContain("events of it are kept");
  });

  it("is not offered any more once it is archived, and still delivered to those who have it", async () => {
    const { api, put, register } = await serve();
    await put("order.created");
    const { id } = (await register(["order.created"])).body;
    expect((await put("order.created", { ...ORDER, archived: true })).body.archived).toBe(true);
    const path = `/v1/webhooks/${id}`;
    expect((await register(["goal.achieved", "order.created"])).body.errors).toMatchObject([
      { pointer: "/events/1", code: "archived_event_type" },
    ]);
    expect((await api.post(EVENTS, { type: "order.created", data: {} })).body.delivery_count).toBe(1);
    const change = (method: string, body: object) => api.request(method, path, { body: JSON.stringify(body) });
    expect((await change("PATCH", { events: ["goal.achieved", "order.created"] })).status).toBe(200);
    const whole = { url: "https://example.com/h", events: ["order.created"] };
    expect((await change("PUT", whole)).status).toBe(200);
    expect((await change("PATCH", { events: ["goal.achieved"] })).status).toBe(200);
    expect((await change("PATCH", { events: ["order.created"] })).status).toBe(422);
    expect((await change("PUT", whole)).status).toBe(422);
    const named = await api.request("PUT", "/v1/webhooks/uid:new", { body: JSON.stringify(whole) });
    expect(named.body.errors).toMatchObject([{ pointer: "/events/0", code: "archived_event_type" }]);
  });
});

describe("publishers", () => {
  const DEPRECATED = { ...ORDER, deprecated: true, sunset_at: "2027-01-31T12:00:00Z" };

  it("of a deprecated type are told its name, when it was deprecated, and when it ends", async () => {
    const { api, put } = await serve();
    await put("order.created", DEPRECATED);
    await put("order.old", { deprecated: true });
    const since = Date.parse((await api.get(`${PATH}/order.created`)).body.deprecated_at) / 1000;
    const { headers, status } = await api.post(EVENTS, { type: "order.created", data: {} });
    expect(status).toBe(202);
    expect(headers).toMatchObject({
      deprecation: `@${Math.floor(since)}`,
      sunset: "Sun, 31 Jan 2027 12:00:00 GMT",
      link: '</v1/webhooks/event-types/order.created>; rel="deprecation"; type="application/json"',
    });
    const batch = { events: ["goal.achieved", "order.old", "order.created"].map((type) => ({ type, data: {} })) };
    const many = await api.post(`${EVENTS}/batch`, batch);
    expect(many.headers.link).toMatch(/event-types\/order\.old>.*, .*event-types\/order\.created>/);
    expect((await api.post(EVENTS, { type: "goal.achieved", data: {} })).headers).not.toHaveProperty("deprecation");
    await put("order.created");
    expect((await api.post(EVENTS, { type: "order.created", data: {} })).headers).not.toHaveProperty("deprecation");
  });

  it("of a repeated event are told so as well", async () => {
    const { api, put } = await serve();
    await put("order.created", DEPRECATED);
    const publish = () =>
      api.post(EVENTS, { type: "order.created", data: {} }, { headers: { "idempotency-key": "k" } });
    await publish();
    expect((await publish()).headers).toMatchObject({
      "idempotency-replayed": "true",
      deprecation: expect.any(String),
    });
  });

  it("are warned of data that does not match, and refused only if the type says so", async () => {
    const { api, put } = await serve();
    const one = (data: object) => api.post(EVENTS, { type: "order.created", data });
    await put("order.created", { ...ORDER, validation: "off" });
    expect((await one({})).body).not.toHaveProperty("warnings");

    await put("order.created", { ...ORDER, validation: "warn" });
    const warnings = [{ pointer: "/data/id", code: "missing_field", detail: "is required" }];
    const warned = await one({});
    expect([warned.status, warned.body.warnings]).toEqual([202, warnings]);
    expect((await one({ id: "1" })).body).not.toHaveProperty("warnings");
    const events = [{ id: "1" }, { id: 5 }].map((data) => ({ type: "order.created", data }));
    const batch = () => api.post(`${EVENTS}/batch`, { events }, { headers: { "idempotency-key": "b" } });
    const inBatch = [{ pointer: "/events/1/data/id", code: "invalid_type", detail: "must be string" }];
    for (const { status, body } of [await batch(), await batch()]) {
      expect([status, body.data.length, body.warnings]).toEqual([202, 2, inBatch]);
    }

    await put("order.created", { ...ORDER, validation: "enforce" });
    const refused = await one({});
    expect([refused.status, refused.body.errors]).toEqual([422, warnings]);
    expect((await api.post(EVENTS, { type: "goal.achieved", data: {} })).status).toBe(202);
  });
});
