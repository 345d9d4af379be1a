/** Tests of an outbox that pass in either database. */
import { describe, expect, it, vi } from "vitest";
import { eventsOf, onPostgres, onSqlite, reading } from "./outbox.ts";

const WAIT = { timeout: 20_000, interval: 10 };

describe.each([
  ["PostgreSQL", onPostgres],
  ["SQLite", onSqlite],
] as const)("an outbox in %s", (_name, open) => {
  it("gives each row to the receivers as it was inserted, and is empty afterwards", async () => {
    const application = await open();
    const { daemon, receiver } = await reading(application);
    await application.insert(
      {
        data: '{"budget_id": "bud_1", "total": 12.50, "note": "ä€😀"}',
        createdAt: "2026-01-02T03:04:05.678Z",
        publisherId: "order-1",
        tags: ["b", "a"],
      },
      { data: '{"budget_id":"bud_2"}' },
    );
    await vi.waitFor(() => expect(receiver.requests.length).toBe(2), WAIT);
    const [first, second] = receiver.requests.map(({ body }) => body.toString()).toSorted();
    expect([first, second].filter((body) => body!.includes("2026-01-02T03:04:05.678Z"))[0]).toMatch(
      /^\{"id":"evt_\w+","type":"budget\.exceeded","created_at":"2026-01-02T03:04:05\.678Z","data":\{"budget_id": "bud_1", "total": 12\.50, "note": "ä€😀"\}\}$/,
    );
    await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
    const { body } = await daemon.request("GET", "/v1/webhooks/events?publisher_id=order-1");
    expect(body.data).toEqual([expect.objectContaining({ publisher_id: "order-1", tags: ["a", "b"] })]);
  });

  it("sets aside each row that cannot be an event, with the reason, and publishes the rest", async () => {
    const application = await open({ tenantColumn: "tenant" });
    await application.insert(
      { tenant: "acme", type: "no.such" },
      { tenant: "acme", data: "[1]" },
      { tenant: "acme", data: '{"big":"' + "x".repeat(2000) + '"}' },
      { tenant: "a b" },
      { tenant: "webhookd:alerts" },
      { tenant: "acme", createdAt: "9026-01-02T03:04:05Z" },
      { tenant: "acme", tags: ["a,b"] },
      { tenant: "acme", publisherId: "a b" },
      { tenant: "acme", data: '{"good":1}' },
    );
    const { daemon } = await reading(application, { settings: { SERVER_MAX_EVENT_BYTES: "1KiB" } });
    await vi.waitFor(
      async () =>
        expect((await application.rows()).map(({ problem }) => problem)).toEqual([
          expect.stringContaining("/type is not a known event type"),
          "data is not a JSON object",
          expect.stringMatching(/^the event is larger than 1024 bytes/),
          "tenant is not the name of a tenant",
          "tenant is not the name of a tenant",
          expect.stringContaining("/created_at"),
          expect.stringContaining("/tags/0"),
          expect.stringContaining("/publisher_id"),
        ]),
      WAIT,
    );
    const events = await eventsOf(daemon);
    expect(events.map(({ tenant, type }) => [tenant, type])).toEqual([["acme", "budget.exceeded"]]);
  });

  it("publishes or deletes rows that were set aside, once somebody says so", async () => {
    const application = await open();
    await application.insert({ type: "order.placed" }, { type: "order.placed" });
    const { daemon } = await reading(application);
    const rows = async () => (await daemon.request("GET", "/v1/outboxes/shop/set-aside")).body.data;
    const problem: unknown = expect.stringContaining("/type is not a known event type");
    const one = (id: string) => ({ id, type: "order.placed", problem });
    await vi.waitFor(async () => expect(await rows()).toEqual([one("1"), one("2")]), WAIT);
    await daemon.request("POST", "/v1/webhooks/event-types", { name: "order.placed" });
    const retried = await daemon.request("POST", "/v1/outboxes/shop/retry", { ids: ["1"] });
    expect(retried).toMatchObject({ status: 200, body: { rows: 1 } });
    await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(1), WAIT);
    expect((await daemon.request("POST", "/v1/outboxes/shop/drop")).body).toEqual({ rows: 1 });
    expect(await application.rows()).toEqual([]);
    expect((await daemon.request("POST", "/v1/outboxes/other/drop")).status).toBe(404);
  });

  it("publishes nothing of a transaction that was rolled back", async () => {
    const application = await open();
    const { daemon } = await reading(application);
    await expect(application.insert({ data: '{"n":1}' }, { data: "no JSON" })).rejects.toThrow();
    await application.insert({ data: '{"n":2}' });
    await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(1), WAIT);
    const [{ id }] = (await eventsOf(daemon)) as [{ id: string }];
    expect((await daemon.event(id)).data).toEqual({ n: 2 });
  });

  it("publishes a row once that comes again after its event was stored", async () => {
    const application = await open();
    const { daemon } = await reading(application);
    await application.insert({ data: '{"n":1}', createdAt: "2026-01-02T03:04:05.678Z" });
    await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
    const columns = "id, type, data, created_at";
    const again = (data: string) =>
      application.sql(
        `INSERT INTO webhookd_outbox (${columns}) ${open === (onPostgres as unknown) ? "OVERRIDING SYSTEM VALUE" : ""}
         VALUES (1, 'budget.exceeded', '${data}', '2026-01-02T03:04:05.678Z')`,
      );
    await again('{"n":1}');
    await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
    expect(await eventsOf(daemon)).toHaveLength(1);
    // A table that was made anew gives the same id to another row.
    await again('{"n":2}');
    await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(2), WAIT);
  });

  it("keeps the rows of a tenant that has too much pending, and publishes those of others", async () => {
    const application = await open({ tenantColumn: "tenant" });
    const { daemon, receiver } = await reading(application, {
      paused: true,
      settings: { LIMITS_MAX_PENDING_PER_TENANT: "3" },
    });
    for (const tenant of ["acme", "other"]) {
      const endpoint = { url: `http://localhost:${receiver.port}/`, events: ["budget.exceeded"] };
      await daemon.request("POST", `/v1/webhooks?tenant=${tenant}`, endpoint);
    }
    await application.insert(...Array.from({ length: 5 }, (_, n) => ({ tenant: "acme", data: `{"n":${n}}` })));
    await application.insert({ tenant: "other" });
    await vi.waitFor(async () => {
      const events = await eventsOf(daemon);
      expect(events.map(({ tenant }) => tenant).toSorted()).toEqual(["acme", "acme", "acme", "other"]);
    }, WAIT);
    expect((await application.rows()).map(({ problem }) => problem)).toEqual([null, null]);
  });

  it("publishes rows in the order in which they were inserted, several batches of them", async () => {
    const application = await open();
    await application.insert(...Array.from({ length: 2500 }, (_, n) => ({ data: `{"n":${n}}` })));
    const { daemon } = await reading(application, { paused: true });
    await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
    const { body } = await daemon.request("GET", "/v1/webhooks/events?order=oldest&limit=3");
    const texts = await Promise.all(body.data.map(({ id }: { id: string }) => daemon.event(id)));
    expect(texts.map(({ data }) => data.n)).toEqual([0, 1, 2]);
  });
});
