import { describe, expect, it, vi } from "vitest";
import { addEndpoint, again, publishOne } from "../../store/fixtures.ts";
import { aConfig, ApiServer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const departures = ["Retry delays are 1s; the specification says others."];
const config = aConfig({ DELIVERY_THREADS: "2" });
const api = await ApiServer.start(await aStore(), { config, departures: () => departures });

describe("GET /v1/status", () => {
  it("says how the daemon is, with nothing in it that a key opens", async () => {
    const before = (await api.get("/v1/status")).body;
    api.clock.advance("90s");
    api.oldestDueAt = Date.parse("2026-11-20T09:55:00.000Z");
    const { status, body } = await api.get("/v1/status");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      version: "0.0.0",
      schema: expect.any(Number),
      state: "ready",
      started_at: "2026-11-20T09:55:00.000Z",
      uptime_seconds: 90,
      paused: null,
      oldest_due_at: "2026-11-20T09:55:00.000Z",
      disk: { floor_bytes: 0 },
      departures,
      sender_threads: 2,
      careful: false,
    });
    expect(before).toMatchObject({ uptime_seconds: 0, oldest_due_at: null });
    for (const bytes of [body.disk.free_bytes, body.database.bytes, body.database.wal_bytes]) {
      expect(bytes).toBeGreaterThan(0);
    }
    api.phase = "draining";
    expect((await api.get("/v1/status")).body.state).toBe("draining");
    api.phase = "serving";
  });
});

describe("what waits for its turn", () => {
  it("is shown with the endpoints that it waits for, once it has waited for ten seconds", async () => {
    const store = await aStore();
    const own = await ApiServer.start(store);
    const endpoint = await addEndpoint(store);
    own.queues = [{ endpoint, atOnce: 1, oldestDueAt: own.clock.now() }];
    const overdue = async () => (await own.get("/v1/status")).body.overdue;
    expect((await overdue()).behind).toEqual([]);
    own.clock.advance("10s");
    const { url } = (await store.endpoints.get(null, endpoint))!;
    const waiting = { tenant: "default", url, oldest_due_at: "2026-11-20T09:55:00.000Z", at_once: 1 };
    expect((await overdue()).behind).toEqual([{ endpoint, ...waiting }]);
  });

  it("is nothing while no move of the store is open", async () => {
    expect((await api.get("/v1/status")).body.open_move).toBe(null);
  });
});

describe("its counts", () => {
  it("say how many attempts are due in which minute of the next hour, overdue ones now", async () => {
    const store = await aStore();
    const own = await ApiServer.start(store);
    await addEndpoint(store);
    const { fresh } = await publishOne(store);
    await store.deliveries.record([again(fresh[0]!, own.clock.now() + 2 * 60_000)]);
    const due = async () => (await own.get("/v1/status")).body.due_by_minute;
    const rest = Array<number>(57).fill(0);
    expect(await due()).toEqual([0, 0, 1, ...rest]);
    own.clock.advance("3m");
    expect(await due()).toEqual([1, 0, 0, ...rest]);
    expect((await own.get("/v1/status")).body.overdue.deliveries).toBe(1);
  });

  it("are of what is failed, held and pending now, and follow what changes at once", async () => {
    const store = await aStore();
    const own = await ApiServer.start(store);
    const counts = async () => (await own.get("/v1/status")).body;
    expect(await counts()).toMatchObject({ deliveries: { pending: 0, held: 0, failed: 0 } });
    await addEndpoint(store);
    await anEvent(store, own.clock.now(), "failed");
    const counted_at = new Date(own.clock.now()).toISOString();
    expect(await counts()).toMatchObject({ deliveries: { pending: 0, held: 0, failed: 1 }, counted_at });
  });

  it("are not taken all the time where taking them is slow, and say when they were", async () => {
    const store = await aStore();
    const own = await ApiServer.start(store);
    await addEndpoint(store);
    const counts = async () => (await own.get("/v1/status")).body;
    const { census } = store.statistics;
    vi.spyOn(store.statistics, "census").mockImplementation((from) => {
      // The count takes four such steps, and its result is reused for twenty times as long.
      own.clock.advance(20);
      return census.call(store.statistics, from);
    });
    const counted_at = new Date(own.clock.now()).toISOString();
    expect(await counts()).toMatchObject({ deliveries: { failed: 0 }, counted_at });
    await anEvent(store, own.clock.now(), "failed");
    own.clock.advance(1550);
    expect(await counts()).toMatchObject({ deliveries: { failed: 0 }, counted_at });
    own.clock.advance(50);
    expect(await counts()).toMatchObject({ deliveries: { failed: 1 } });
  });
});

it("every reason why nothing is sent is there, and the names of them all are beside /readyz, which stays one word", async () => {
  const since = Date.parse("2026-11-20T09:55:00.000Z");
  await api.store.operations.pause({ reason: "a flood", by: "socket", at: since });
  api.halts = [
    { reason: "operator", since: since + 1, detail: "all sending is paused" },
    { reason: "unreachable", since, detail: "no DNS resolver could be reached" },
  ];
  const at = "2026-11-20T09:55:00.000Z";
  expect((await api.get("/v1/status")).body).toMatchObject({
    state: "ready",
    not_sending: [
      { reason: "operator", since: at, detail: "all sending was paused by socket: a flood" },
      { reason: "unreachable", since: at, detail: "no DNS resolver could be reached" },
    ],
  });
  const ready = await api.get("/readyz", { key: null });
  expect([ready.status, ready.text]).toEqual([200, "ready"]);
  expect(ready.headers["x-webhookd-not-sending"]).toBe("operator, unreachable");
  const metrics = (await api.get("/metrics")).text;
  expect(metrics).toContain('webhookd_not_sending{reason="unreachable"} 1\n');
  expect(metrics).toContain('webhookd_not_sending{reason="shortage"} 0\n');
  api.halts = [];
  await api.store.operations.resume();
  expect((await api.get("/readyz")).headers).not.toHaveProperty("x-webhookd-not-sending");
  expect((await api.get("/v1/status")).body.not_sending).toEqual([]);
});

describe("the brake", () => {
  it.each([{}, { reason: "" }, { reason: " " }, { reason: "a\u0007b" }, { reason: "x".repeat(257) }, { reason: 1 }])(
    "is not put on by %j: it says why",
    async (body) => {
      const { status, body: problem } = await api.post("/v1/pause", body);
      expect([status, problem.errors[0].pointer]).toEqual([422, "/reason"]);
      expect(api.paused).toBe(false);
    },
  );

  it("is on the disk before attempts stop, with who put it on, and audited", async () => {
    await api.post("/v1/pause", { reason: "a flood" });
    expect(api.paused).toBe(true);
    expect(await api.store.operations.getPause()).toMatchObject({
      reason: "a flood",
      by: expect.stringMatching(/^key_/),
    });
    await api.request("POST", "/v1/resume", { body: "{}" });
    expect([api.paused, await api.store.operations.getPause()]).toEqual([false, null]);
    const { data } = (await api.get("/v1/audit?limit=2")).body;
    expect(data.map(({ action, outcome }: any) => [action, outcome])).toEqual([
      ["daemon.resume", "ok"],
      ["daemon.pause", "ok"],
    ]);
  });
});

it("an admin of one tenant sees that tenant, and neither the daemon nor its brake", async () => {
  for (const tenant of ["acme", "other"]) {
    await api.post(`/v1/webhooks?tenant=${tenant}`, { url: "https://example.com/h", events: ["goal.achieved"] });
  }
  const key = await api.addKey(["admin"], "acme");
  expect((await api.get("/v1/tenants", { key })).body.data).toEqual([
    { name: "acme", endpoints: 1, published_last_hour: 0 },
  ]);
  expect((await api.get("/v1/status", { key })).status).toBe(403);
  expect((await api.post("/v1/pause", { reason: "mine" }, { key })).status).toBe(403);
  expect((await api.request("POST", "/v1/resume", { key })).status).toBe(403);
  expect(api.paused).toBe(false);
});
