import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { request } from "node:http";
import { RateLimit, TenantRates } from "../../../src/api/pipeline/limits.ts";
import { FakeStore } from "../fake-store.ts";
import { accountOf } from "../../../src/domain/caller.ts";
import { aConfig, ApiServer, type Answer } from "../server.ts";

const EVENT = { type: "budget.exceeded", data: {} };
const EVENTS = "/v1/webhooks/events";

async function statuses(count: number, run: () => Promise<{ status: number }>): Promise<number[]> {
  const answers = [];
  for (let at = 0; at < count; at++) answers.push((await run()).status);
  return answers;
}

it("holds each key to its own rate, and gives it back with time", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "2" }) });
  const other = await api.addKey(["publish"]);
  const publish = (key: string) => () => api.post(EVENTS, EVENT, { key });
  expect(await statuses(3, publish(api.adminKey))).toEqual([202, 202, 429]);
  expect(await statuses(3, publish(other))).toEqual([202, 202, 429]);
  // A request counts before its route is looked up. Requests without a key do not count.
  expect((await api.get("/nope")).status).toBe(429);
  expect((await api.get("/nope", { key: null })).status).toBe(401);
  expect((await api.get("/healthz")).status).toBe(200);
  api.clock.advance("500ms");
  expect(await statuses(2, publish(api.adminKey))).toEqual([202, 429]);
});

it("says on each answer what is left, as draft-ietf-httpapi-ratelimit-headers names it", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "3" }) });
  const key = await api.addKey(["publish"]);
  const said = async (path: string, ask: () => Promise<Answer>) => {
    const { status, headers } = await ask();
    expect(headers["ratelimit-policy"], path).toBe('"key";q=3;w=1');
    return [status, headers.ratelimit];
  };
  expect(await said(EVENTS, () => api.post(EVENTS, EVENT, { key }))).toEqual([202, '"key";r=2;t=1']);
  expect(await said("forbidden", () => api.get("/v1/webhooks", { key }))).toEqual([403, '"key";r=1;t=1']);
  expect(await said("/nope", () => api.get("/nope", { key }))).toEqual([404, '"key";r=0;t=1']);
  const over = await api.get("/nope", { key });
  expect(over).toMatchObject({ status: 429, headers: { ratelimit: '"key";r=0;t=1', "retry-after": "1" } });
  expect(over.headers["ratelimit-policy"]).toBe('"key";q=3;w=1');
  api.clock.advance("400ms");
  expect(await said("later", () => api.get("/nope", { key }))).toEqual([404, '"key";r=0;t=1']);
  api.clock.advance("1s");
  expect(await said("full", () => api.get("/nope", { key }))).toEqual([404, '"key";r=2;t=1']);
});

it("sends no limits to callers that have none", async () => {
  const limited = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "3" }) });
  const free = await ApiServer.start(new FakeStore().asStore());
  for (const answer of [
    await free.get("/nope"),
    await limited.get("/healthz"),
    await limited.get("/nope", { key: null }),
  ]) {
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
  }
});

it("sets no rate unless it is asked for, and none for the unix socket", async () => {
  const free = await ApiServer.start(new FakeStore().asStore());
  expect(new Set(await statuses(50, () => free.post(EVENTS, EVENT)))).toEqual(new Set([202]));
  const dir = mkdtempSync(join(tmpdir(), "webhookd-rate-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const socket = join(dir, "s.sock");
  await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "1" }), socket });
  const get = () =>
    new Promise<{ status: number }>((resolve, reject) => {
      const req = request({ socketPath: socket, path: "/nope" }, (res) => {
        res.resume();
        resolve({ status: res.statusCode! });
      });
      req.on("error", reject).end();
    });
  expect(await statuses(3, get)).toEqual([404, 404, 404]);
});

it("counts the events of a batch, and refuses what comes next before its body is read", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "10" }) });
  const key = await api.addKey(["publish"]);
  const batch = (count: number) =>
    api.post(`${EVENTS}/batch`, { events: Array.from({ length: count }, () => EVENT) }, { key });
  // The batch costs more than a second's requests. It is accepted, and the key must wait until they have come back.
  const large = await batch(40);
  expect([large.status, large.headers.ratelimit]).toEqual([202, '"key";r=0;t=4']);
  const over = await api.post(EVENTS, "x".repeat(100), { key });
  expect([over.status, over.headers["retry-after"], over.headers.ratelimit]).toEqual([429, "4", '"key";r=0;t=4']);
  api.clock.advance("3s");
  expect((await batch(1)).status).toBe(429);
  api.clock.advance("300ms");
  expect([(await batch(3)).status, (await batch(1)).status]).toEqual([202, 429]);
});

it("counts the events of a batch, also where the memory of keys starts anew before it is read", () => {
  const limit = new RateLimit(10);
  const account = (keyId: string) => accountOf({ keyId, tenant: "a", isPortal: false, madeBy: null })!;
  expect(limit.take(account("batch"), 0).refusal).toBeNull();
  for (let other = 0; other < 10_000; other++) limit.take(account(`key_${other}`), 0);
  limit.takeMore(account("batch"), 20, 0);
  expect(limit.take(account("batch"), 0).refusal).not.toBeNull();
});

it("counts a batch that is refused as one request", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_RATE_LIMIT: "10" }) });
  const key = await api.addKey(["publish"]);
  const bad = { events: [...Array.from({ length: 30 }, () => EVENT), { type: "nope", data: {} }] };
  expect((await api.post(`${EVENTS}/batch`, bad, { key })).headers.ratelimit).toBe('"key";r=9;t=1');
});

describe("the rate of a tenant", () => {
  const serve = () => {
    const config = aConfig({}, undefined, "[tenants.acme]\nrate_per_second = 10");
    return ApiServer.start(new FakeStore().asStore(), { config });
  };
  const batch = (count: number, tenant?: string) => ({
    events: Array.from({ length: count }, () => ({ ...EVENT, ...(tenant && { tenant }) })),
  });

  it("counts events of all its keys, and leaves other tenants and other calls alone", async () => {
    const api = await serve();
    const [key, second, other] = await Promise.all([
      api.addKey(["publish", "read"], "acme"),
      api.addKey(["publish"], "acme"),
      api.addKey(["publish"], "other"),
    ]);
    expect((await api.post(`${EVENTS}/batch`, batch(9), { key })).status).toBe(202);
    expect((await api.post(EVENTS, EVENT, { key: second })).status).toBe(202);
    const refused = await api.post(EVENTS, EVENT, { key });
    expect(refused).toMatchObject({ status: 429, headers: { "retry-after": "1" }, body: { code: "rate_limited" } });
    expect(refused.body.detail).toBe(
      "the tenant acme may publish 10 events a second; see [tenants.NAME] rate_per_second",
    );
    expect((await api.get("/v1/webhooks/event-types", { key })).status).toBe(200);
    expect((await api.post(`${EVENTS}/batch`, batch(50), { key: other })).status).toBe(202);
    api.clock.advance("100ms");
    expect(await statuses(2, () => api.post(EVENTS, EVENT, { key: second }))).toEqual([202, 429]);
  });

  it("takes a batch of more than a second's worth, and then refuses before a body is read", async () => {
    const api = await serve();
    const key = await api.addKey(["publish"], "acme");
    expect((await api.post(`${EVENTS}/batch`, batch(40), { key })).status).toBe(202);
    expect(await api.post(EVENTS, "{", { key })).toMatchObject({ status: 429, headers: { "retry-after": "4" } });
    api.clock.advance("4s");
    expect((await api.post(EVENTS, EVENT, { key })).status).toBe(202);
  });

  it("is the new one once the configuration was read again, for a tenant that has published before too", async () => {
    const shares = new Map([["acme", { weight: 1, ratePerSecond: 1000, maxPending: null }]]);
    const rates = new TenantRates(shares);
    const publish = (now: number) => rates.take([{ tenant: "acme" }], now);
    publish(0);
    shares.set("acme", { weight: 1, ratePerSecond: 2, maxPending: null });
    publish(1000);
    publish(1000);
    expect(() => publish(1400)).toThrow("may publish 2 events a second");
    publish(1500);
    shares.set("acme", { weight: 1, ratePerSecond: 1000, maxPending: null });
    for (let event = 0; event < 900; event++) publish(1600);
  });

  it("holds for a key of every tenant that names it, in the body or the query", async () => {
    const api = await serve();
    expect((await api.post(`${EVENTS}/batch`, batch(10, "acme"))).status).toBe(202);
    expect((await api.post(`${EVENTS}/batch`, batch(1, "acme"))).status).toBe(429);
    expect((await api.post(`${EVENTS}?tenant=acme`, EVENT)).status).toBe(429);
    expect((await api.post(`${EVENTS}/batch`, batch(10, "other"))).status).toBe(202);
  });
});
