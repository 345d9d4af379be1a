import { describe, expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks/stats";
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };

describe("statistics", () => {
  it("say what was counted in a window, in all and by its parts", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    const { body: endpoint } = await api.post("/v1/webhooks", ENDPOINT);
    const now = api.clock.now();
    await anEvent(store, now, "failed");
    for (let count = 0; count < 3; count++) await anEvent(store, now, "delivered");
    const { body } = await api.get(PATH);
    const { series, ...totals } = body;
    expect(totals).toEqual({
      window: "1h",
      since: "2026-11-20T08:56:00.000Z",
      until: "2026-11-20T09:55:00.000Z",
      step_seconds: 60,
      endpoint: null,
      published: { total: 4, per_second: 0.001, by_type: { "budget.exceeded": 4 } },
      attempts: {
        total: 4,
        per_second: 0.001,
        succeeded: 3,
        failed: 1,
        interrupted: 0,
        by_error: { http_status: 1 },
      },
      deliveries: { delivered: 3, failed: 1 },
      duration_ms: { p50: 12.5, p95: 14.8, p99: 15 },
      first_attempt_delay_ms: { p50: 1, p95: 1.9, p99: 2 },
    });
    expect(series).toHaveLength(60);
    const last = {
      at: "2026-11-20T09:55:00.000Z",
      published: 4,
      succeeded: 3,
      failed: 1,
      duration_p50_ms: 12.5,
      duration_p95_ms: 14.8,
    };
    expect(series.at(-1)).toEqual(last);
    expect(series[0]).toEqual({
      at: "2026-11-20T08:56:00.000Z",
      published: 0,
      succeeded: 0,
      failed: 0,
      duration_p50_ms: null,
      duration_p95_ms: null,
    });
    const { body: ofOne } = await api.get(`${PATH}?window=7d&endpoint=${endpoint.id}`);
    expect([ofOne.endpoint, ofOne.published, ofOne.attempts.total]).toEqual([endpoint.id, null, 4]);
    expect([ofOne.series.length, ofOne.step_seconds, ofOne.series.at(-1).succeeded]).toEqual([84, 7200, 3]);
  });

  it("show a tenant its own alone", async () => {
    const store = await aStore();
    const api = await ApiServer.start(store);
    await api.post("/v1/webhooks", ENDPOINT);
    await anEvent(store, api.clock.now(), "delivered");
    const key = await api.addKey(["read"], "acme");
    expect((await api.get(PATH, { key })).body.attempts.total).toBe(0);
    expect((await api.get(`${PATH}?window=2h`)).body.code).toBe("invalid_query");
  });
});
