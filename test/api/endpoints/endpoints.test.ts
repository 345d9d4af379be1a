import { describe, expect, it } from "vitest";
import { anEndpoint } from "../../../src/api/endpoints/fields.ts";
import { aStore, anEvent } from "../sqlite.ts";
import { aConfig, ApiServer } from "../server.ts";

const PATH = "/v1/webhooks";

async function serve(settings: Record<string, string> = {}) {
  return ApiServer.start(await aStore(), { config: aConfig(settings), ownAddresses: () => ["9.9.9.9"] });
}

function registration(more: Record<string, unknown> = {}) {
  return { url: "https://example.com/h", events: ["budget.exceeded"], ...more };
}

function uids(body: { data: { uid: string }[] }): string[] {
  return body.data.map(({ uid }) => uid);
}

describe("a list with more", () => {
  it("has the health and the last day of each endpoint, and how many fail, in one answer", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store, { config: aConfig({}), ownAddresses: () => ["9.9.9.9"] });
    const ids: string[] = [];
    for (const uid of ["a", "b"]) ids.push((await api.post(PATH, registration({ uid }))).body.id);
    const { body: plain } = await api.get(PATH);
    expect(Object.keys(plain.data[0])).not.toEqual(expect.arrayContaining(["health"]));
    expect(plain).not.toHaveProperty("failing");
    const { body } = await api.get(`${PATH}?include=health,recent,failing&total=true`);
    expect(body).toMatchObject({ total: 2, failing: 0 });
    for (const one of body.data) {
      const { health } = (await api.get(`${PATH}/${one.id}`)).body;
      expect(one.health).toEqual(health);
      expect(one.recent).toMatchObject({ since: "2026-11-19T10:00:00.000Z", step_seconds: 3600 });
      expect([one.recent.succeeded.length, one.recent.failed.length]).toEqual([24, 24]);
    }
    expect((await api.get(`${PATH}?standing=new`)).body.data).toHaveLength(2);
    expect((await api.get(`${PATH}?standing=failing,retrying`)).body.data).toEqual([]);
    const refused = await api.get(`${PATH}?include=health,secrets`);
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, "?include"]);
  });
});

describe("registering", () => {
  it("answers the endpoint with its secret, and says where it is", async () => {
    const api = await serve();
    const { status, headers, body } = await api.post(PATH, registration({ url: "HTTPS://EXAMPLE.com" }));
    expect(status).toBe(201);
    expect(body).toEqual({
      // A new field whose example is its default needs no line here.
      ...anEndpoint,
      id: expect.stringMatching(/^ep_[0-9a-z]{26}$/),
      tenant: "default",
      uid: null,
      url: "https://example.com/",
      events: ["budget.exceeded"],
      description: "",
      enabled: true,
      disabled_reason: null,
      when_disabled: "hold",
      headers: {},
      rate_per_second: null,
      max_in_flight: null,
      metadata: {},
      secret_switches_at: null,
      damaged: null,
      created_at: "2026-11-20T09:55:00.000Z",
      updated_at: "2026-11-20T09:55:00.000Z",
      signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    expect(headers.location).toBe(`${PATH}/${body.id}`);
  });

  it("takes every field, and shows no header value and no secret again", async () => {
    const api = await serve();
    const given = {
      description: "日本語",
      headers: { "X-Api-Key": "hunter2" },
      rate_per_second: 0.5,
      max_in_flight: 3,
      enabled: false,
      when_disabled: "skip",
      uid: "mine",
      metadata: { constructor: 1, team: ["a"] },
    };
    const { body } = await api.post(PATH, registration(given));
    expect(body).toMatchObject({ ...given, headers: { "X-Api-Key": "***" } });
    const { signing_secret: _shownOnce, ...rest } = body;
    const health = {
      last_success_at: null,
      last_failure_at: null,
      consecutive_failures: 0,
      pending: 0,
      held: 0,
      failed: 0,
      held_keys: null,
      at_once: 16,
    };
    expect((await api.get(`${PATH}/${body.id}`)).body).toEqual({ ...rest, health });
    const list = await api.get(PATH);
    expect(list.body).toEqual({ data: [rest], next_cursor: null });
    expect(await api.store.endpoints.target(body.id)).toMatchObject({ headers: given.headers });
  });

  it("opens a network to the endpoints of its tenant alone, when they are changed too", async () => {
    const config = aConfig();
    const tenants = [{ names: ["acme"], allowCidrs: ["10.0.0.0/8"] }];
    const api = await ApiServer.start(await aStore(), { config: { ...config, egress: { ...config.egress, tenants } } });
    const inside = registration({ url: "https://10.1.1.1/h" });
    const refused = { status: 422, body: { errors: [{ pointer: "/url", code: "address_not_public" }] } };
    const acme = await api.post(`${PATH}?tenant=acme`, inside);
    expect(acme.status).toBe(201);
    expect(await api.post(`${PATH}?tenant=other`, inside)).toMatchObject(refused);
    const other = await api.post(`${PATH}?tenant=other`, registration());
    const move = { body: JSON.stringify({ url: "https://10.1.1.2/h" }) };
    expect((await api.request("PATCH", `${PATH}/${acme.body.id}`, move)).status).toBe(200);
    expect(await api.request("PATCH", `${PATH}/${other.body.id}`, move)).toMatchObject(refused);
  });

  it("names the setting that refuses a URL to operators, but never to customers", async () => {
    const api = await serve();
    const link = await api.post("/v1/portal-links", { can: ["manage"] });
    const key = /whk_\w+/.exec(link.text)![0];
    const settings = {
      "https://127.0.0.1/": '--dev allows it, and so does [egress] allow_cidrs = ["127.0.0.1/32"]',
      "https://9.9.9.9/": '[egress] allow_cidrs = ["9.9.9.9/32"] allows it',
      "https://hook/": '[egress] allow_hosts = ["hook"] allows the name, and allow_cidrs the network that it leads to',
    };
    for (const [url, setting] of Object.entries(settings)) {
      const told = await api.post(PATH, registration({ url }));
      expect(told.body.detail, url).toMatch(/^\/url the /);
      expect(told.body.detail, url).toContain(`; ${setting}`);
      const customer = await api.post(PATH, registration({ url }), { key });
      expect(customer.body).toMatchObject({ code: "validation_failed", errors: [{ pointer: "/url" }] });
      expect(customer.text).not.toMatch(/egress|--dev|allow_/);
    }
  });

  it("names the fault of each field", async () => {
    const api = await serve();
    const { body } = await api.post(PATH, {
      url: "https://9.9.9.9/",
      events: ["budget.exceeded", "budget.exceeded", 1],
      description: "a\nb",
      headers: { host: "x", constructor: "ok", "x~a/b": "é" },
      rate_per_second: 0,
      max_in_flight: 1.5,
      enabled: "yes",
      when_disabled: "drop",
      uid: "",
      metadata: [],
    });
    const codes = body.errors.map(({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`);
    expect(codes).toEqual([
      "/url address_self",
      "/events/2 invalid_type",
      "/description forbidden_char",
      "/headers/host invalid_header",
      "/headers/x~0a~1b invalid_header",
      "/rate_per_second out_of_range",
      "/max_in_flight invalid_type",
      "/enabled invalid_type",
      "/when_disabled invalid_type",
      "/uid too_few",
      "/metadata invalid_type",
    ]);
  });

  it.each([
    [{ events: Array.from({ length: 101 }, () => "budget.exceeded") }, "too_long"],
    [{ events: ["budget.exceeded", "budget.exceeded"] }, "invalid_events"],
    [{ events: ["*.exceeded"] }, "invalid_events"],
    [{ metadata: { x: "a".repeat(4096) } }, "too_long"],
    [{ uid: "a".repeat(65) }, "too_long"],
    [{ url: `https://example.com/${"a".repeat(2048)}` }, "url_too_long"],
    [{ headers: { "x-a": ["1"] } }, "invalid_header"],
    [{ metadata: { id: [2 ** 53] } }, "invalid_type"],
    [{ headers: "x" }, "invalid_type"],
    [{ rate_per_second: 5e-324 }, "out_of_range"],
    [{ rate_per_second: 0.000999 }, "out_of_range"],
    [{ rate_per_second: 100_001 }, "out_of_range"],
    [{ max_in_flight: 0 }, "out_of_range"],
  ])("refuses %j", async (more, code) => {
    const api = await serve();
    const { status, body } = await api.post(PATH, registration(more));
    expect(status).toBe(422);
    expect(body.errors.map((error: { code: string }) => error.code)).toContain(code);
  });

  it("says what is wrong in a whole sentence", async () => {
    const api = await serve();
    const { body } = await api.post(PATH, registration({ max_in_flight: 1.5 }));
    expect(body.detail).toBe("/max_in_flight must be a whole number");
    const { id } = (await api.post(PATH, registration())).body;
    const change = await api.request("PATCH", `${PATH}/${id}`, { body: '{"held":"release"}' });
    expect(change.body.detail).toBe("/held is allowed only with enabled: true");
  });

  it("takes header values from a key with scope secrets alone, and lets any that manages take them away", async () => {
    const api = await serve();
    const key = await api.addKey(["manage"]);
    const keyed = (method: string, path: string, body: unknown, as = key) =>
      api.request(method, path, { key: as, body: JSON.stringify(body) });
    const both = await api.addKey(["manage", "secrets"]);
    const given = registration({ headers: { "x-api-key": "hunter2" } });
    expect((await keyed("POST", PATH, given)).body.code).toBe("forbidden");
    const { status, body } = await keyed("POST", PATH, given, both);
    expect(status).toBe(201);
    const path = `${PATH}/${body.id}`;
    expect((await keyed("PATCH", path, { headers: { "x-b": "c" } })).body.code).toBe("forbidden");
    expect((await keyed("PATCH", path, { headers: { "X-Api-Key": null } })).body.headers).toEqual({});
    expect((await keyed("PATCH", path, { headers: { "x-b": "c" } }, both)).status).toBe(200);
    expect((await keyed("PATCH", path, { headers: null })).body.headers).toEqual({});
  });

  it("is not moved to another host with its header values by a key without scope secrets", async () => {
    const api = await serve();
    const key = await api.addKey(["manage"]);
    const given = registration({ headers: { "x-api-key": "hunter2" } });
    const path = `${PATH}/${(await api.post(PATH, given)).body.id}`;
    const patch = (body: unknown) => api.request("PATCH", path, { key, body: JSON.stringify(body) });
    const elsewhere = "https://elsewhere.example.com/hook";
    expect((await patch({ url: elsewhere })).body.code).toBe("forbidden");
    expect((await api.get(path)).body.url).toBe(given.url);
    expect((await patch({ url: `${given.url}/2` })).status).toBe(200);
    expect((await patch({ url: elsewhere, headers: null })).status).toBe(200);
  });

  it("refuses a uid that the tenant has, and an endpoint too many", async () => {
    const api = await serve({ ENDPOINTS_MAX_PER_TENANT: "2" });
    expect((await api.post(PATH, registration({ uid: "a" }))).status).toBe(201);
    expect((await api.post(PATH, registration({ uid: "a" }))).body.code).toBe("already_created");
    expect((await api.post(PATH, registration())).status).toBe(201);
    expect((await api.post(PATH, registration())).body.code).toBe("endpoint_limit");
    expect((await api.post(`${PATH}?tenant=acme`, registration({ uid: "a" }))).status).toBe(201);
  });
});

describe("an endpoint of another tenant", () => {
  it("is as if it were not there", async () => {
    const api = await serve();
    const { body } = await api.post(`${PATH}?tenant=acme`, registration());
    const key = await api.addKey(["manage"], "globex");
    const fixed = (await api.get(`${PATH}/ep_00000000000000000000000000`, { key })).body;
    for (const [method, path] of [
      ["GET", `${PATH}/${body.id}`],
      ["DELETE", `${PATH}/${body.id}`],
      ["POST", `${PATH}/${body.id}/test`],
    ] as const) {
      const answer = await api.request(method, path, { key });
      expect(answer.status).toBe(404);
      expect({ ...answer.body, request_id: "" }).toEqual({ ...fixed, request_id: "" });
    }
    expect((await api.get(PATH, { key })).body.data).toEqual([]);
    expect((await api.get(`${PATH}?tenant=globex`)).body.data).toEqual([]);
    expect((await api.get(PATH)).body.data).toHaveLength(1);
  });
});

describe("the list of endpoints", () => {
  it("goes on with a cursor and a relative link", async () => {
    const api = await serve();
    for (const uid of ["a", "b", "c"]) await api.post(PATH, registration({ uid }));
    const first = await api.get(`${PATH}?limit=2&order=oldest`);
    expect(uids(first.body)).toEqual(["a", "b"]);
    const link = /^<(\/v1\/webhooks\?[^>]+)>; rel="next"$/.exec(String(first.headers.link))![1]!;
    const second = await api.get(link);
    expect(uids(second.body)).toEqual(["c"]);
    expect(second.body.next_cursor).toBeNull();
    expect(second.headers.link).toBeUndefined();
    expect(uids((await api.get(PATH)).body)).toEqual(["c", "b", "a"]);
  });

  it("is filtered", async () => {
    const api = await serve();
    await api.post(PATH, registration({ uid: "a", enabled: false }));
    await api.post(PATH, registration({ uid: "b", events: ["goal.achieved"] }));
    const count = async (query: string) => (await api.get(`${PATH}?${query}`)).body.data.length;
    expect(await count("enabled=false")).toBe(1);
    expect(await count("type=goal.achieved")).toBe(1);
    expect(await count("url=https://example.com/h")).toBe(2);
    expect(await count("url=HTTPS://EXAMPLE.com:443/h")).toBe(2);
    expect(await count("url=https://example.com/")).toBe(0);
    expect(await count("uid=b")).toBe(1);
    expect(await count("uid=c")).toBe(0);
    expect((await api.get(`${PATH}?match=`)).body.code).toBe("invalid_query");
    expect((await api.get(`${PATH}?enabled=1`)).body.code).toBe("invalid_query");
  });
});

it("finds an endpoint by a part of what one knows of it", async () => {
  const api = await serve();
  const url = "https://acme.example.com/in/Orders";
  const acme = (await api.post(PATH, registration({ url, uid: "shop-7", description: "The café's till" }))).body;
  await api.post(PATH, registration({ uid: "other" }));
  const found = async (text: string) => {
    const { body } = await api.get(`${PATH}?match=${encodeURIComponent(text)}`);
    return body.data.map(({ id }: { id: string }) => id);
  };
  for (const text of ["ACME", "in/orders", "shop", "CAFÉ", acme.id.slice(-8)]) {
    expect([text, await found(text)]).toEqual([text, [acme.id]]);
  }
  expect(await found("default")).toHaveLength(2);
  expect(await found("%")).toEqual([]);
});

describe("deleting an endpoint", () => {
  it("answers once nothing more is started for it, and only once", async () => {
    const api = await serve();
    const { id } = (await api.post(PATH, registration())).body;
    const answer = await api.request("DELETE", `${PATH}/${id}`);
    expect(answer).toMatchObject({ status: 204, text: "" });
    expect(answer.headers["content-length"]).toBeUndefined();
    expect(api.dropped).toEqual([id]);
    expect((await api.request("DELETE", `${PATH}/${id}`)).status).toBe(404);
    expect((await api.get(`${PATH}/${id}`)).status).toBe(404);
  });
});

describe("a test event", () => {
  it("goes to this endpoint alone, enabled or not, with the sample of its first type", async () => {
    const api = await serve();
    await api.post(PATH, registration());
    const { id } = (await api.post(PATH, registration({ enabled: false, events: ["goal.achieved"] }))).body;
    const { status, body } = await api.request("POST", `${PATH}/${id}/test`);
    expect(status).toBe(202);
    expect(body).toMatchObject({ type: "goal.achieved", delivery_count: 1 });
    expect(api.accepted.flatMap(({ fresh }) => fresh)).toMatchObject([
      { endpoint: id, trigger: "test", event: body.id },
    ]);
    const event = (await api.get(`/v1/webhooks/events/${body.id}`)).body;
    expect(event).toMatchObject({ test: true, data: { goal_id: expect.any(String) } });
  });

  it("is of the first type that its patterns match today, and needs a type if they match none", async () => {
    const api = await serve();
    const of = async (...events: string[]) => {
      const { id } = (await api.post(PATH, registration({ events }))).body;
      return api.request("POST", `${PATH}/${id}/test`);
    };
    expect((await of("later.*", "budget.*")).body.type).toBe("budget.exceeded");
    expect((await of("*")).body.type).toBe("transaction.enriched");
    expect((await of("later.*")).body.errors).toMatchObject([
      { pointer: "/type", detail: expect.stringContaining("later.* matches no event type today") },
    ]);
  });

  it("may be of another type, if it is a known one", async () => {
    const api = await serve();
    const { id } = (await api.post(PATH, registration())).body;
    expect((await api.post(`${PATH}/${id}/test`, { type: "carbon.threshold" })).body.type).toBe("carbon.threshold");
    expect((await api.post(`${PATH}/${id}/test`, { type: "nope" })).body.errors[0].code).toBe("unknown_event_type");
  });

  it("stays out of the list of events", async () => {
    const api = await serve();
    const { id } = (await api.post(PATH, registration())).body;
    await api.request("POST", `${PATH}/${id}/test`);
    await anEvent(api.store, api.clock.now(), "delivered");
    expect((await api.get("/v1/webhooks/events")).body.data).toHaveLength(1);
    expect((await api.get("/v1/webhooks/events?test=true")).body.data).toMatchObject([{ test: true }]);
  });
});
