import { describe, expect, it, vi } from "vitest";
import { dueNow } from "../store/fixtures.ts";
import { ApiServer } from "./server.ts";
import { anEnd, anEvent, aStore } from "./sqlite.ts";

const JOBS = "/v1/webhooks/jobs";

/** Creates two endpoints and four events that failed at both of them. */
async function aScene() {
  const api = await ApiServer.start(await aStore());
  const endpoint = { url: "https://example.com/h", events: ["budget.exceeded"] };
  const ids = [await api.post("/v1/webhooks", endpoint), await api.post("/v1/webhooks", endpoint)];
  const [a, b] = ids.map(({ body }) => body.id as string);
  for (let n = 0; n < 4; n++) await anEvent(api.store, api.clock.now(), "failed");
  return { api, a: a!, b: b! };
}

/** Starts one delivery of the job, as the daemon does, and lets it fail. */
async function failCanary({ store, clock }: ApiServer, job: string, endpoint: string): Promise<void> {
  await store.jobs.step(job, [{ endpoint, limit: 1, check: false }], clock.now());
  const [first] = await dueNow(store, endpoint);
  await store.deliveries.record([anEnd(first!, clock.now(), "failed")]);
}

describe("a job", () => {
  it("is planned by a dry run, which changes nothing", async () => {
    const { api, a, b } = await aScene();
    const body = { action: "replay", filter: { status_code: "5xx" }, dry_run: true, rate_per_second: 2 };
    const plan = await api.post(JOBS, body);
    expect(plan).toMatchObject({
      status: 200,
      body: {
        action: "replay",
        matched: 8,
        timed_out: 0,
        eta_seconds: 1,
        endpoints: [a, b].toSorted().map((endpoint) => ({ endpoint, matched: 4 })),
        left_alone: [],
      },
    });
    expect((await api.get(JOBS)).body).toEqual({ data: [], next_cursor: null });
  });

  it("is planned with the largest endpoint first, and the oldest of those that are as large", async () => {
    const { api, a, b } = await aScene();
    api.clock.advance(1);
    const { body } = await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
    await anEvent(api.store, api.clock.now(), "failed");
    const c = body.id as string;
    const found = [c, b, a].map((endpoint) => ({ endpoint, matched: endpoint === c ? 1 : 5, timedOut: 0 }));
    const left = found.map(({ endpoint, matched }) => ({
      endpoint,
      deliveries: matched,
      reason: "endpoint_disabled" as const,
    }));
    vi.spyOn(api.store.jobs, "plan").mockResolvedValue({ matched: 11, endpoints: found, left });
    const plan = await api.post(JOBS, { action: "replay", filter: {}, dry_run: true });
    const named = (of: readonly { endpoint: string }[]) => of.map(({ endpoint }) => endpoint);
    const inOrder = [...[a, b].toSorted(), c];
    expect([named(plan.body.endpoints), named(plan.body.left_alone)]).toEqual([inOrder, inOrder]);
  });

  it("runs over what was expected, or is refused with 409 plan_changed", async () => {
    const { api, a } = await aScene();
    const body = { action: "replay", filter: { endpoint: a, since: "2026-11-20T09:00:00+01:00" }, expect: 4 };
    await anEvent(api.store, api.clock.now(), "failed");
    const refused = await api.post(JOBS, body);
    expect(refused).toMatchObject({ status: 409, body: { code: "plan_changed" } });
    expect(refused.body.detail).toContain("now contains 5 deliveries, not 4");
    const made = await api.post(JOBS, { ...body, expect: 5, reason: "back", canary: true });
    expect(made.status).toBe(202);
    expect(made.headers.location).toBe(`${JOBS}/${made.body.id}`);
    expect((await api.get(made.headers.location!)).body).toEqual({
      id: made.body.id,
      tenant: "*",
      action: "replay",
      status: "running",
      filter: { endpoint: a, since: "2026-11-20T08:00:00.000Z" },
      matched: 5,
      done: 0,
      delivered: 0,
      failed: 0,
      skipped: 0,
      rate_per_second: 20,
      canary: true,
      reason: "back",
      paused_reason: null,
      created_at: "2026-11-20T09:55:00.000Z",
      ended_at: null,
      endpoints: [{ endpoint: a, matched: 5, done: 0, delivered: 0, failed: 0, skipped: 0 }],
    });
  });

  it("is paused, resumed and cancelled, and then it is over", async () => {
    const { api } = await aScene();
    const { id } = (await api.post(JOBS, { action: "replay", filter: {} })).body;
    const steer = async (verb: string) => (await api.request("POST", `${JOBS}/${id}/${verb}`)).body;
    expect(await steer("pause")).toMatchObject({ status: "paused" });
    expect(await steer("pause")).toMatchObject({ status: "paused" });
    expect(await steer("resume")).toMatchObject({ status: "running" });
    expect(await steer("cancel")).toMatchObject({ status: "cancelled", ended_at: "2026-11-20T09:55:00.000Z" });
    expect(await steer("cancel")).toMatchObject({ status: "cancelled" });
    expect(await steer("resume")).toMatchObject({ status: 409, code: "job_ended" });
    const { data } = (await api.get("/v1/audit?order=oldest")).body;
    expect(data.slice(2).map(({ action, object, outcome }: any) => [action, object, outcome])).toEqual([
      ["job.create", id, "ok"],
      ["job.pause", id, "ok"],
      ["job.pause", id, "ok"],
      ["job.resume", id, "ok"],
      ["job.cancel", id, "ok"],
      ["job.cancel", id, "ok"],
      ["job.resume", id, "job_ended"],
    ]);
  });

  it("asks again when its canary failed: another one, or all that is left", async () => {
    for (const [body, canary] of [
      [{ canary: true }, true],
      [{ send_all: true }, false],
    ] as const) {
      const { api, a } = await aScene();
      const { id } = (await api.post(JOBS, { action: "replay", filter: { endpoint: a }, canary: true })).body;
      await failCanary(api, id, a);
      const refused = await api.request("POST", `${JOBS}/${id}/resume`);
      expect(refused).toMatchObject({ status: 409, body: { code: "canary_failed" } });
      expect(refused.body.detail).toMatch(/^the canary to ep_\w+ failed: .*; .*"canary": true.*"send_all": true/);
      const both = { canary: true, send_all: true };
      expect((await api.post(`${JOBS}/${id}/resume`, both)).body.errors).toMatchObject([{ pointer: "/send_all" }]);
      expect((await api.post(`${JOBS}/${id}/resume`, { canary: false })).status).toBe(422);
      expect((await api.get(`${JOBS}/${id}`)).body).toMatchObject({ status: "paused" });
      expect(await api.post(`${JOBS}/${id}/resume`, body)).toMatchObject({
        status: 200,
        body: { status: "running", canary, paused_reason: null },
      });
      const { data } = (await api.get("/v1/audit?action=job.resume&order=oldest")).body;
      expect(data.map(({ outcome }: any) => outcome)).toEqual([
        "canary_failed",
        "validation_failed",
        "validation_failed",
        "ok",
      ]);
    }
  });

  it("is not in the audit log as long as it is only planned", async () => {
    const { api } = await aScene();
    await api.post(JOBS, { action: "replay", filter: {}, dry_run: true });
    expect((await api.get("/v1/audit?action=job.create")).body.data).toEqual([]);
    const { id } = (await api.post(JOBS, { action: "replay", filter: {} })).body;
    expect((await api.get("/v1/audit?action=job.create")).body.data).toMatchObject([{ object: id, outcome: "ok" }]);
  });

  it("that cancels all there is, or of several tenants, says how many it expects", async () => {
    const { api, a } = await aScene();
    for (const tenant of ["acme", "default"]) {
      const endpoint = { url: "https://example.com/h", events: ["budget.exceeded"] };
      await api.post(`/v1/webhooks?tenant=${tenant}`, endpoint);
    }
    const cancel = (filter: object, more: object = {}, query = "") =>
      api.post(`${JOBS}${query}`, { action: "cancel", filter, ...more });
    const wide = [
      await cancel({}),
      await cancel({ test: false, missing: false }),
      await cancel({ status: "pending" }),
      await cancel({ type: "budget.exceeded" }),
      await cancel({}, {}, "?tenant=acme"),
    ];
    for (const { status, body } of wide) {
      expect([status, body.errors]).toEqual([
        422,
        [{ pointer: "/expect", code: "missing_field", detail: expect.stringContaining("dry_run") }],
      ]);
    }
    expect((await api.get(JOBS)).body.data).toEqual([]);
    const narrow = [
      await cancel({}, { dry_run: true }),
      await cancel({}, { expect: 0 }),
      await cancel({ endpoint: a }),
      await cancel({ type: "budget.exceeded" }, {}, "?tenant=acme"),
    ];
    expect(narrow.map(({ status }) => status)).toEqual([200, 202, 202, 202]);
  });

  it("is made once under an Idempotency-Key, and answered again as it is by now", async () => {
    const { api } = await aScene();
    const make = () =>
      api.post(JOBS, { action: "replay", filter: {}, expect: 8 }, { headers: { "idempotency-key": "one" } });
    const [first, second] = await Promise.all([make(), make()]);
    expect(second.body).toEqual(first.body);
    await api.request("POST", `${JOBS}/${first.body.id}/pause`);
    const third = await make();
    expect(third.body).toEqual({ ...first.body, status: "paused" });
    expect(third.headers["idempotency-replayed"]).toBe("true");
    expect((await api.get(JOBS)).body.data).toHaveLength(1);
  });

  it("is one tenant's, unless a key of every tenant made it for all", async () => {
    const { api } = await aScene();
    const key = await api.addKey(["manage"], "acme");
    const own = await api.post(JOBS, { action: "replay", filter: {} }, { key });
    expect(own.body).toMatchObject({ tenant: "acme", matched: 0 });
    await api.request("POST", `${JOBS}/${own.body.id}/pause`);
    expect((await api.get("/v1/audit?action=job.pause")).body.data).toMatchObject([{ tenant: "acme" }]);
    const all = await api.post(JOBS, { action: "replay", filter: {} });
    expect(all.body).toMatchObject({ tenant: "*", matched: 8 });
    expect((await api.get(JOBS, { key })).body.data.map(({ id }: any) => id)).toEqual([own.body.id]);
    expect((await api.get(`${JOBS}/${all.body.id}`, { key })).status).toBe(404);
    expect((await api.request("POST", `${JOBS}/${all.body.id}/cancel`, { key })).status).toBe(404);
  });

  it("back-fills an endpoint from its own tenant's events", async () => {
    const { api } = await aScene();
    const late = { url: "https://example.com/h", events: ["budget.exceeded"] };
    const { id } = (await api.post("/v1/webhooks", late)).body;
    const body = { action: "replay", filter: { missing: true, endpoint: id } };
    expect((await api.post(JOBS, body)).body).toMatchObject({ tenant: "default", matched: 4, filter: body.filter });
    const unknown = { ...body, filter: { missing: true, endpoint: "ep_00000000000000000000000000" } };
    expect((await api.post(JOBS, unknown)).body.errors).toMatchObject([{ pointer: "/filter/endpoint" }]);
  });

  it.each<[string, object]>([
    ["/action", { action: "resend" }],
    ["/filter", { filter: undefined }],
    ["/filter/status", { filter: { status: "pending" } }],
    ["/filter/status", { action: "cancel", filter: { status: "failed" } }],
    ["/filter/status_code", { filter: { status_code: "x" } }],
    ["/filter/since", { filter: { since: "yesterday" } }],
    ["/filter/endpoint", { filter: { endpoint: "ep_1" } }],
    ["/filter/events", { filter: { events: [] } }],
    ["/filter/endpoint", { filter: { missing: true } }],
    ["/filter/missing", { filter: { missing: true, endpoint: `ep_${"0".repeat(26)}`, error: "timeout" } }],
    ["/filter/missing", { filter: { missing: true, endpoint: `ep_${"0".repeat(26)}`, test: true } }],
    ["/filter/missing", { action: "attempt_now", filter: { missing: true, endpoint: `ep_${"0".repeat(26)}` } }],
    ["/filter/nope", { filter: { nope: 1 } }],
    ["/rate_per_second", { rate_per_second: 0 }],
    ["/rate_per_second", { rate_per_second: 501 }],
    ["/expect", { expect: -1 }],
    ["/canary", { action: "cancel", canary: true }],
    ["/reason", { reason: "a\nb" }],
  ])("is refused for its %s: %j", async (pointer, more) => {
    const { api } = (scene ??= await aScene());
    const { status, body } = await api.post(JOBS, { action: "replay", filter: {}, ...more });
    expect({ status, pointers: body.errors?.map((error: any) => error.pointer) }).toEqual({
      status: 422,
      pointers: [pointer],
    });
  });
});

let scene: Awaited<ReturnType<typeof aScene>> | undefined;
