import { describe, expect, it } from "vitest";
import { SPECIFIED_LADDER } from "../../harness/ladder.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";
import { ALL, World } from "./world.ts";

const LINKS = "/v1/portal-links";
const EVENT = { type: "goal.achieved", data: { a: 1 } };
const api = await World.server();
const world = await World.make(api);

const token = (body: { url: string }) => body.url.split("#")[1]!;
const make = (body: object, key?: string) => api.post(LINKS, body, key === undefined ? {} : { key });

describe("a link", () => {
  it("is answered whole, and its key works as the page will use it", async () => {
    const draft = {
      tenant: world.tenant,
      can: ["replay"],
      endpoints: [world.mine.ep],
      expires_in: 600,
      return_url: "https://app.example.com",
    };
    const { status, body, headers } = await make(draft);
    expect({ status, cache: headers["cache-control"], location: headers.location }).toEqual({
      status: 201,
      cache: "no-store",
      location: undefined,
    });
    const shown = {
      tenant: world.tenant,
      can: ["read", "replay"],
      endpoints: [world.mine.ep],
      expires_at: "2026-11-20T10:05:00.000Z",
      return_url: "https://app.example.com/",
    };
    expect(body).toEqual({
      ...shown,
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/portal#whk_[0-9a-z]{26}_[0-9a-z]{52}$/),
      key_id: expect.stringMatching(/^key_/),
    });
    const portal = await api.get("/v1/portal", { key: token(body) });
    expect(portal.headers["cache-control"]).toBe("no-store");
    expect(portal.body).toEqual({
      ...shown,
      name: "",
      logo_url: null,
      colors: { accent: null, header: null },
      radius: 10,
      font: null,
      font_url: null,
      footer: "",
      terms_url: null,
      help_url: null,
      retry_schedule: SPECIFIED_LADDER.map((delay) => delay / 1000),
      signature_header: "X-Service-Signature",
      standard_webhooks: true,
      held_seconds: 604_800,
    });
    const sent = await api.post(`/v1/webhooks/${world.mine.ep}/test`, {}, { key: token(body) });
    expect(sent.status).toBe(202);
  });

  it("is for a tenant that there is, or for one that is said to be new", async () => {
    await api.addKey(["read"], "initech");
    for (const tenant of [world.tenant, "initech", "*", "default"]) expect((await make({ tenant })).status).toBe(201);
    const { status, body } = await make({ tenant: "initehc" });
    expect({ status, errors: body.errors }).toMatchObject({
      status: 422,
      errors: [{ pointer: "/tenant", code: "unknown_tenant" }],
    });
    expect(body.detail).toContain("new_tenant: true");
    const mistyped = await make({ tenant: `${world.tenant}e` });
    expect(mistyped.body.detail).toContain(`did you mean ${world.tenant}?`);
    expect((await make({ tenant: "initehc", new_tenant: true })).body.tenant).toBe("initehc");
    const own = await api.addKey(["read"], "hooli");
    expect((await make({}, own)).body.tenant).toBe("hooli");
  });

  it("is made so often at most by one key, and so many work at once", async () => {
    const config = aConfig({ LIMITS_PORTAL_LINKS_PER_HOUR: "4", LIMITS_PORTAL_LINKS: "6" });
    const server = await ApiServer.start(await aStore(), { config });
    const key = await server.addKey(["read"], "acme");
    const link = (by: string) => server.post(LINKS, { tenant: "acme" }, { key: by });
    const statuses = async (count: number, by: string) => {
      const made: number[] = [];
      for (let each = 0; each < count; each++) made.push((await link(by)).status);
      return made;
    };
    expect(await statuses(5, key)).toEqual([201, 201, 201, 201, 429]);
    const often = await link(key);
    expect(often.headers["retry-after"]).toBe("900");
    expect(often.body.detail).toBe(
      "this key may make 4 portal links an hour; use a link again until it expires, such as for a customer's whole session; see [limits] portal_links_per_hour",
    );
    expect(await statuses(3, server.adminKey)).toEqual([201, 201, 429]);
    const { text } = await server.get("/metrics");
    expect(text).toContain("\nwebhookd_portal_links 6\n");
    server.clock.advance("1h");
    expect(await statuses(2, key)).toEqual([201, 201]);
  });

  it("can read for an hour by default", async () => {
    const { body } = await make({});
    const rest = { tenant: "default", can: ["read"], endpoints: null, return_url: null };
    expect(body).toMatchObject({ ...rest, expires_at: "2026-11-20T10:55:00.000Z" });
  });

  it("tells the page which header receivers verify", async () => {
    const config = aConfig({ SIGNATURE_HEADER: "X-Acme-Signature" });
    const server = await ApiServer.start(await aStore(), { config });
    expect((await server.get("/v1/portal")).body.signature_header).toBe("X-Acme-Signature");
  });

  it("tells the page whether webhook-signature is sent, and how long deliveries are held", async () => {
    const config = aConfig({ SIGNATURE_STANDARD_WEBHOOKS: "false", RETENTION_HELD: "36h" });
    const server = await ApiServer.start(await aStore(), { config });
    const { body } = await server.get("/v1/portal");
    expect(body).toMatchObject({ standard_webhooks: false, held_seconds: 36 * 3600 });
  });

  it("begins with the address that is configured, else with that of the request", async () => {
    const begun = async (settings: Record<string, string>, headers = {}) => {
      const server = await ApiServer.start(await aStore(), { config: aConfig(settings) });
      const { body } = await server.post(LINKS, {}, { headers });
      return body.url.split("#")[0].replace(`:${server.port}`, ":PORT");
    };
    expect(await begun({})).toBe("http://127.0.0.1:PORT/portal");
    expect(await begun({ PORTAL_URL: "https://hooks.example.com/" })).toBe("https://hooks.example.com/portal");
    const proxied = { SERVER_BEHIND_PROXY: "true", SERVER_ALLOWED_HOSTS: "hooks.example.com" };
    expect(await begun(proxied, { host: "Hooks.Example.com" })).toBe("https://hooks.example.com/portal");
    const trusted = { ...proxied, SERVER_TRUSTED_PROXIES: "127.0.0.0/8" };
    expect(await begun(trusted, { "x-forwarded-host": "hooks.example.com" })).toBe("https://hooks.example.com/portal");
  });

  it.each<[string, object, string]>([
    ["a tenant that is none", { tenant: "a b" }, "/tenant"],
    ["no time", { expires_in: 0 }, "/expires_in"],
    ["more than a day", { expires_in: 86_401 }, "/expires_in"],
    ["half seconds", { expires_in: 1.5 }, "/expires_in"],
    ["publishing", { can: ["publish"] }, "/can/0"],
    ["everything", { can: ["admin"] }, "/can/0"],
    ["no endpoint", { endpoints: [] }, "/endpoints"],
    ["an endpoint twice", { endpoints: ["ep_1", "ep_1"] }, "/endpoints"],
    ["an endpoint that is not there", { endpoints: [`ep_${"0".repeat(26)}`] }, "/endpoints/0"],
    ["another tenant's endpoint", { tenant: world.tenant, endpoints: [world.foreign.ep] }, "/endpoints/0"],
    ["endpoints of every tenant", { tenant: "*", endpoints: [world.mine.ep] }, "/endpoints"],
    ["a script to return to", { return_url: "javascript:alert(1)" }, "/return_url"],
    ["a path to return to", { return_url: "/settings" }, "/return_url"],
    ["a password to return with", { return_url: "https://a:b@app.example.com" }, "/return_url"],
    ["what nobody knows", { scopes: ["read"] }, "/scopes"],
  ])("is refused for %s", async (_, draft, pointer) => {
    const { status, body } = await make(draft);
    expect({ status, pointer: body.errors?.[0].pointer }).toEqual({ status: 422, pointer });
  });
});

describe("what a link hands out", () => {
  it.each([
    [["read"], ["replay"]],
    [["read"], ["manage"]],
    [["replay"], ["manage"]],
    [["read", "manage"], ["secrets"]],
    [["secrets"], ["secrets"]],
    [["publish"], []],
    [["metrics"], []],
  ] as const)("is never more than the key has that makes it: %j makes no %j", async (scopes, can) => {
    const key = await api.addKey(scopes, world.tenant);
    const { status, body } = await make({ can }, key);
    expect({ status, code: body.code }).toEqual({ status: 403, code: "forbidden" });
  });

  it("is never another tenant's, nor every tenant's", async () => {
    const key = await api.addKey(["admin"], world.tenant);
    for (const tenant of ["default", "*", "webhookd:alerts"]) expect((await make({ tenant }, key)).status).toBe(403);
    expect((await make({ tenant: "webhookd:alerts" })).status).toBe(403);
    expect((await make({}, key)).body.tenant).toBe(world.tenant);
    expect((await make({ tenant: "*" })).body.tenant).toBe("*");
  });

  it("cannot be handed on, nor outlive the key that made it", async () => {
    expect((await make({}, await world.link(ALL))).status).toBe(403);
    const key = await api.addKey(["read"], world.tenant, { expiresAt: api.clock.now() + 60_000 });
    const { body } = await make({ expires_in: 3600 }, key);
    expect(body.expires_at).toBe("2026-11-20T09:56:00.000Z");
  });

  it("never publishes, one by one or in a batch", async () => {
    const key = await world.link(ALL);
    for (const [path, body] of [
      ["/v1/webhooks/events", EVENT],
      ["/v1/webhooks/events/batch", { events: [EVENT] }],
    ] as const) {
      expect((await api.post(path, body, { key })).status).toBe(403);
      const lines = { "content-type": "application/x-ndjson" };
      expect((await api.post(path, JSON.stringify(EVENT), { key, headers: lines })).status).toBe(403);
    }
  });

  it("is no job that cancels or fills up, without manage", async () => {
    const key = await world.link(["replay"]);
    const jobs = "/v1/webhooks/jobs";
    const filter = { endpoint: world.mine.ep };
    for (const draft of [
      { action: "cancel", filter },
      { action: "replay", filter: { ...filter, missing: true } },
    ]) {
      expect((await api.post(jobs, draft, { key })).status).toBe(403);
      expect((await api.post(jobs, { ...draft, dry_run: true }, { key })).status).toBe(403);
    }
    const cancelling = (await api.post(`${jobs}?tenant=${world.tenant}`, { action: "cancel", filter })).body.id;
    for (const act of ["pause", "resume", "cancel"]) {
      expect((await api.request("POST", `${jobs}/${cancelling}/${act}`, { key })).status).toBe(403);
    }
  });
});

describe("what an operator keeps to itself", () => {
  it("are the tags of an event: a link neither sees them nor finds by them", async () => {
    const draft = { ...EVENT, publisher_id: "order-1042", tags: ["vip"] };
    const { body: published } = await api.post(`/v1/webhooks/events?tenant=${world.tenant}`, draft);
    const event = `/v1/webhooks/events/${published.id}`;
    const labels = ({ publisher_id, tags }: any) => ({ publisher_id, tags });
    expect(labels((await api.get(event)).body)).toEqual({ publisher_id: "order-1042", tags: ["vip"] });
    const hidden = { publisher_id: "order-1042", tags: [] };
    for (const key of [await world.link(ALL), await world.link(ALL, [world.mine.ep])]) {
      expect(labels((await api.get(event, { key })).body)).toEqual(hidden);
      const list = async (query: string) => api.get(`/v1/webhooks/events?${query}`, { key });
      expect((await list("publisher_id=order-1042")).body.data.map(labels)).toEqual([hidden]);
      const cancelled = await api.post(`${event}/cancel`, {}, { key });
      expect(cancelled.text).not.toContain("vip");
      for (const what of ["events", "deliveries"])
        for (const name of ["tag", "label"]) {
          const refused = await api.get(`/v1/webhooks/${what}?${name}=vip`, { key });
          expect([refused.status, refused.body.errors]).toMatchObject([422, [{ pointer: `?${name}` }]]);
        }
    }
    expect((await api.get("/v1/webhooks/events?tag=vip")).body.data).toHaveLength(1);
  });

  it("is why a job was made, too", async () => {
    const body = {
      action: "attempt_now",
      filter: { endpoint: world.mine.ep },
      reason: "they have not paid",
      canary: true,
    };
    const made = await api.post(`/v1/webhooks/jobs?tenant=${world.tenant}`, body);
    const job = `/v1/webhooks/jobs/${made.body.id}`;
    expect((await api.get(job)).body.reason).toBe("they have not paid");
    for (const key of [await world.link(ALL), await world.link(ALL, [world.mine.ep])]) {
      for (const path of [job, "/v1/webhooks/jobs?limit=100"]) {
        const { status, text } = await api.get(path, { key });
        expect([status, text.includes("paid")]).toEqual([200, false]);
      }
    }
    await api.request("POST", `${job}/cancel`);
  });

  it("is what it could set: a URL is refused without naming a setting", async () => {
    const refusal = async (url: string, key?: string) => {
      const asked = await api.post(
        "/v1/webhooks",
        { url, events: ["goal.achieved"] },
        key === undefined ? {} : { key },
      );
      return asked.body.errors[0].detail as string;
    };
    const key = await world.link(ALL);
    for (const url of ["https://10.0.0.7/h", "https://a.example.com:9999/h"]) {
      const [told, whole] = [await refusal(url, key), await refusal(url)];
      expect(whole).toMatch(/; .*\[egress\] \w+/);
      expect(told).toBe(whole.split("; ")[0]);
    }
  });
});

describe("a tenant's open jobs", () => {
  const worldOf = async () => {
    const server = await World.server();
    const made = await World.make(server);
    const jobs = (path = "", query = "") => `/v1/webhooks/jobs${path}?tenant=${made.tenant}${query}`;
    const open = async (endpoint: string, key?: string) => {
      const body = { action: "attempt_now", filter: { endpoint } };
      return server.post(jobs(), body, key === undefined ? {} : { key });
    };
    const most = async (endpoint: string, key?: string) => {
      for (let count = 0; ; count++) if ((await open(endpoint, key)).status === 429) return count;
    };
    const link = (endpoints?: string[]) => made.link(ALL, endpoints);
    return { ...made, server, jobs, link, open, most };
  };

  it("are never all of a link's: 10 for a link's endpoints, and half of them for all links", async () => {
    const { beside, jobs, link, mine, most, open, server } = await worldOf();
    const all = (await server.get(jobs("", "&limit=100"))).body.data;
    const ofMine = all.filter(({ filter }: any) => filter.endpoint === mine.ep).length;
    expect(await most(mine.ep, await link([mine.ep]))).toBe(10 - ofMine);
    expect(await most(mine.ep, await link([mine.ep]))).toBe(0);
    expect((await open(beside.ep, await link([beside.ep]))).status).toBe(202);
    await most(beside.ep, await link());
    expect((await server.get(jobs("", "&limit=100"))).body.data).toHaveLength(25);
    expect((await open(beside.ep, await link([beside.ep]))).status).toBe(429);
    expect(await most(mine.ep)).toBe(25);
  });

  it("count however many were made and cancelled since", async () => {
    const { beside, jobs, link, mine, most, open, server } = await worldOf();
    await most(mine.ep, await link([mine.ep]));
    for (let made = 0; made < 100; made++) {
      const { body } = await open(beside.ep);
      expect((await server.request("POST", jobs(`/${body.id}/cancel`))).status).toBe(200);
    }
    expect(await most(mine.ep, await link([mine.ep]))).toBe(0);
  });
});

describe("the end of a link", () => {
  const opens = async (key: string) => (await api.get("/v1/webhooks", { key })).status === 200;

  it("is its time, to the millisecond", async () => {
    const server = await ApiServer.start(await aStore());
    const { body } = await server.post(LINKS, { expires_in: 1 });
    const status = async () => (await server.get("/v1/portal", { key: token(body) })).status;
    server.clock.advance(999);
    expect(await status()).toBe(200);
    server.clock.advance(1);
    expect(await status()).toBe(401);
  });

  it("comes when it is revoked, or the key that made it", async () => {
    const maker = await api.addKey(["read"], world.tenant);
    const [one, other] = [await make({}, maker), await make({}, maker)];
    const keys = [token(one.body), token(other.body)];
    expect([await opens(keys[0]!), await opens(keys[1]!)]).toEqual([true, true]);
    await api.request("DELETE", `/v1/keys/${one.body.key_id}`);
    expect([await opens(keys[0]!), await opens(keys[1]!)]).toEqual([false, true]);
    await api.request("DELETE", `/v1/keys/key_${maker.slice(4, 30)}`);
    expect(await opens(keys[1]!)).toBe(false);
  });

  it("does not show among keys, unless it is looked for", async () => {
    const { body } = await make({ tenant: world.tenant });
    const ids = async (query: string) =>
      (await api.get(`/v1/keys?limit=100${query}`)).body.data.map((key: { id: string }) => key.id);
    expect(await ids("")).not.toContain(body.key_id);
    expect(await ids("&portal=true")).toContain(body.key_id);
    const { body: key } = await api.get(`/v1/keys/${body.key_id}`);
    expect(key.portal).toEqual({ endpoints: null, return_url: null, made_by: expect.stringMatching(/^key_/) });
  });

  it("leaves who asked for it in the audit log, and nothing of its key", async () => {
    const { body } = await make({ tenant: world.tenant });
    const { text, body: log } = await api.get("/v1/audit?action=portal_link.create&limit=1");
    expect(log.data[0]).toMatchObject({ object: body.key_id, tenant: world.tenant, outcome: "ok" });
    expect(text).not.toContain(token(body).slice(-52));
  });
});

describe("an Idempotency-Key", () => {
  const twice = async (path: string, body: object, [one, other]: readonly (string | undefined)[], name: string) => {
    const headers = { "idempotency-key": name };
    const first = await api.post(path, body, { headers, ...(one !== undefined && { key: one }) });
    return [first, await api.post(path, body, { headers, ...(other !== undefined && { key: other }) })] as const;
  };

  it("never shows a link again", async () => {
    const [first, second] = await twice(LINKS, {}, [undefined, undefined], "a-link");
    expect([first.status, second.status, second.body.code]).toEqual([201, 409, "already_created"]);
    expect(second.text).not.toContain(token(first.body));
  });

  it("of a link is its own: it neither sees nor spoils what the tenant does under the same one", async () => {
    const own = await api.addKey(["admin"], world.tenant);
    const link = await world.link(ALL, [world.mine.ep]);
    const job = { action: "replay", filter: {}, reason: "the same words" };
    const [ours, theirs] = await twice("/v1/webhooks/jobs", job, [own, link], "a-job");
    expect([ours.status, theirs.status]).toEqual([202, 202]);
    expect(theirs.body.id).not.toBe(ours.body.id);
    expect(theirs.body.filter.endpoint).toBe(world.mine.ep);
    const test = `/v1/webhooks/${world.mine.ep}/test`;
    const headers = { "idempotency-key": "order-1001" };
    expect((await api.post(test, {}, { key: link, headers })).status).toBe(202);
    const published = await api.post("/v1/webhooks/events", EVENT, {
      key: await api.addKey(["publish"], world.tenant),
      headers,
    });
    expect(published.status).toBe(202);
  });

  it("of a link is remembered for that link", async () => {
    const link = await world.link(ALL);
    const [first, second] = await twice(`/v1/webhooks/${world.mine.ep}/test`, {}, [link, link], "one-test");
    expect(second.headers["idempotency-replayed"]).toBe("true");
    expect(second.body.id).toBe(first.body.id);
  });
});

describe("tricks", () => {
  const one = () => world.link(ALL, [world.mine.ep]);

  it("with the path find nothing", async () => {
    const key = await one();
    const { mine, beside } = world;
    for (const path of [
      `/v1/webhooks/${mine.ep}/../${beside.ep}`,
      `/v1/webhooks/${mine.ep}%2f..%2f${beside.ep}`,
      `/v1/webhooks/${mine.ep}/%2e%2e/${beside.ep}`,
      `/v1/webhooks//${beside.ep}`,
      `/v1/webhooks/${beside.ep}/`,
      `/v1/webhooks/${beside.ep.toUpperCase()}`,
      `/v1/webhooks/${encodeURIComponent(`${mine.ep},${beside.ep}`)}`,
      `/v1/webhooks/${beside.ep}?endpoint=${mine.ep}`,
      `/v1/webhooks/${beside.ep};${mine.ep}`,
      `/portal/../v1/webhooks/${beside.ep}`,
    ]) {
      const { status, text } = await api.get(path, { key });
      expect(status, path).toBeGreaterThanOrEqual(400);
      for (const hidden of world.hidden) expect(text, path).not.toContain(hidden);
    }
  });

  it("with the method find nothing", async () => {
    const key = await one();
    const path = `/v1/webhooks/${world.beside.ep}`;
    expect((await api.request("HEAD", path, { key })).status).toBe(404);
    expect((await api.request("HEAD", `/v1/webhooks/${world.mine.ep}`, { key })).status).toBe(200);
    expect((await api.request("OPTIONS", path, { key })).status).toBe(405);
    const headers = { "x-http-method-override": "DELETE", "x-method-override": "DELETE" };
    expect((await api.request("GET", `/v1/webhooks/${world.mine.ep}`, { key, headers })).status).toBe(200);
    expect((await api.get(`/v1/webhooks/${world.mine.ep}`)).status).toBe(200);
  });

  it("with the filter find nothing", async () => {
    const key = await one();
    const { mine, beside } = world;
    for (const query of [
      `endpoint=${mine.ep}&endpoint=${beside.ep}`,
      `endpoint=${mine.ep},${beside.ep}`,
      `Endpoint=${beside.ep}`,
      `endpoint=`,
      `endpoint[]=${beside.ep}`,
      `tenant=${world.tenant}&endpoint=${beside.ep}`,
    ]) {
      for (const list of ["deliveries", "events", "failures", "stats", "stream"]) {
        expect((await api.get(`/v1/webhooks/${list}?${query}`, { key })).status, `${list} ${query}`).toBe(422);
      }
    }
  });

  it("with the cursor of another list find nothing", async () => {
    const { body } = await api.get(`/v1/webhooks/deliveries?tenant=${world.tenant}&limit=1`);
    const { text } = await api.get(`/v1/webhooks/deliveries?cursor=${body.next_cursor}`, { key: await one() });
    for (const hidden of world.hidden) expect(text).not.toContain(hidden);
  });

  it("with a body reach nothing else", async () => {
    const key = await one();
    const { mine, beside, shared } = world;
    const event = `/v1/webhooks/events/${mine.evt}`;
    const refused = async (path: string, body: object) => {
      const { status, text } = await api.post(path, body, { key });
      expect(status, path).toBe(422);
      expect(text).not.toContain(shared.dlv);
    };
    await refused(`${event}/retry`, { endpoint: beside.ep, force: true });
    await refused(`${event}/cancel`, { endpoint: beside.ep });
    await refused("/v1/webhooks/jobs", { action: "replay", filter: { endpoint: beside.ep } });
    const plan = await api.post(
      "/v1/webhooks/jobs",
      { action: "replay", filter: { events: [mine.evt, beside.evt], status: "failed" }, dry_run: true },
      { key },
    );
    expect(plan.body).toMatchObject({ matched: 1, endpoints: [{ endpoint: mine.ep }], left_alone: [] });
  });

  it("with a uid reveal nothing about other endpoints' uids", async () => {
    await api.request("PATCH", `/v1/webhooks/${world.beside.ep}`, { body: JSON.stringify({ uid: "taken" }) });
    const key = await one();
    for (const uid of ["taken", "free"]) {
      expect((await api.get(`/v1/webhooks/uid:${uid}`, { key })).status).toBe(404);
      const whole = { url: "https://example.com/h", events: ["goal.achieved"] };
      const put = (path: string, body: object) => api.request("PUT", path, { key, body: JSON.stringify(body) });
      expect((await put(`/v1/webhooks/uid:${uid}`, whole)).status).toBe(404);
      expect((await put(`/v1/webhooks/${world.mine.ep}`, { ...whole, uid })).status).toBe(403);
      const patched = await api.request("PATCH", `/v1/webhooks/${world.mine.ep}`, {
        key,
        body: JSON.stringify({ uid }),
      });
      expect(patched.status).toBe(403);
      expect(patched.text).not.toContain(world.beside.ep);
    }
  });

  it("with several endpoints need one to be named", async () => {
    const key = await world.link(ALL, [world.mine.ep, world.beside.ep]);
    const { body } = await api.get("/v1/webhooks/deliveries", { key });
    expect(body.errors).toMatchObject([{ pointer: "?endpoint", code: "missing_field" }]);
    const named = await api.get(`/v1/webhooks/deliveries?endpoint=${world.mine.ep}`, { key });
    expect(named.body.data.map(({ endpoint }: { endpoint: string }) => endpoint)).toContain(world.mine.ep);
    const retried = await api.post(`/v1/webhooks/events/${world.mine.evt}/retry`, {}, { key });
    expect(retried.body.errors).toMatchObject([{ pointer: "/endpoint", code: "missing_field" }]);
  });
});
