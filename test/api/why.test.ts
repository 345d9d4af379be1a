import { describe, expect, it } from "vitest";
import { ApiServer } from "./server.ts";
import { aStore, anEvent } from "./sqlite.ts";

const DAY = 86_400_000;
const EVENTS = "/v1/webhooks/events";
const LARGE = { data: { amount: { $gt: 1000 }, currency: "EUR" } };

async function serve() {
  const api = await ApiServer.start(await aStore());
  const register = async (more: object = {}, tenant = "default"): Promise<string> => {
    const body = { url: "https://example.com/h", events: ["budget.exceeded"], ...more };
    return (await api.post(`/v1/webhooks?tenant=${tenant}`, body)).body.id;
  };
  const publish = async (data: object = {}, more: object = {}): Promise<string> =>
    (await api.post(EVENTS, { type: "budget.exceeded", data, ...more })).body.id;
  const why = (event: string, endpoint: string, key?: string) =>
    api.get(`${EVENTS}/${event}/why?endpoint=${endpoint}`, key === undefined ? {} : { key });
  const change = (endpoint: string, body: object) =>
    api.request("PATCH", `/v1/webhooks/${endpoint}`, { body: JSON.stringify(body) });
  return { api, register, publish, why, change };
}

describe("why an event did not arrive", () => {
  it("names the condition of the filter that decided, with the value found, whatever was chosen since", async () => {
    const { api, register, publish, why, change } = await serve();
    const endpoint = await register({ filter: LARGE });
    const event = await publish({ amount: 2000, currency: "USD" });
    await change(endpoint, { filter: null, events: ["goal.achieved"] });
    const { status, body } = await why(event, endpoint);
    expect(status).toBe(200);
    expect(body).toEqual({
      event,
      endpoint,
      reason: "filtered",
      sentence: 'The endpoint\'s filter did not take it: /data/currency fails, because /data/currency is "USD".',
      at: null,
      delivery: null,
      decided: [{ pointer: "/data/currency", path: "/data/currency", found: '"USD"', holds: false }],
      choice: {
        since: "2026-11-20T09:55:00.000Z",
        events: ["budget.exceeded"],
        filter: LARGE,
        enabled: true,
        when_disabled: "hold",
      },
    });
    await api.request("DELETE", `${EVENTS}/${event}/data`);
    const erased = (await why(event, endpoint)).body;
    expect(erased).toMatchObject({ reason: "filtered", decided: [], choice: { filter: LARGE } });
    expect(erased.sentence).toMatch(
      /data was erased at 2026-\S+, so it cannot be known any more which condition decided\.$/,
    );
  });

  it("says what became of its delivery, also at an endpoint that was deleted", async () => {
    const { api, register, why } = await serve();
    const endpoint = await register();
    const [event, failed] = [
      await anEvent(api.store, api.clock.now(), "delivered"),
      await anEvent(api.store, api.clock.now(), "failed"),
    ];
    await api.request("DELETE", `/v1/webhooks/${endpoint}`);
    expect((await why(event, endpoint)).body).toMatchObject({
      reason: "delivered",
      at: "2026-11-20T09:55:00.012Z",
      sentence: "It was delivered at 2026-11-20T09:55:00.012Z after 1 attempt, and the receiver answered 204.",
      delivery: expect.stringMatching(/^dlv_/),
      decided: [],
      choice: null,
    });
    expect((await why(failed, endpoint)).body).toMatchObject({
      reason: "failed",
      sentence:
        "It failed at 2026-11-20T09:55:00.012Z after 1 attempt; the last one: 503 from the receiver; it can be replayed.",
    });
  });

  it("says that nothing is sent, and only to operators why", async () => {
    const { api, register, publish, why } = await serve();
    const [endpoint, event] = [await register(), await publish()];
    expect((await why(event, endpoint)).body).toMatchObject({ reason: "waiting", at: "2026-11-20T09:55:00.000Z" });
    api.halts = [{ reason: "operator", since: 0, detail: "all sending is paused" }];
    const key = await api.addKey(["read"], "default");
    expect((await why(event, endpoint)).body.sentence).toMatch(/nothing is being sent now: all sending is paused\.$/);
    expect((await why(event, endpoint, key)).body.sentence).toMatch(/now: sending has stopped\.$/);
  });

  it("says that the tenants differ to a key that sees both, and hides the rest from others", async () => {
    const { api, register, publish, why } = await serve();
    const [own, other] = [await register(), await register({}, "acme")];
    const event = await publish();
    expect((await why(event, other)).body).toMatchObject({
      reason: "tenant_differs",
      sentence: "The event belongs to the tenant default, and the endpoint to acme.",
    });
    const key = await api.addKey(["read"], "acme");
    expect((await why(event, other, key)).status).toBe(404);
    const theirs = await api.addKey(["read"], "default");
    const { status, body } = await why(event, other, theirs);
    expect([status, body.errors[0].code]).toEqual([422, "unknown_endpoint"]);
    expect((await why(event, own, theirs)).body.reason).toBe("waiting");
    expect((await api.get(`${EVENTS}/${event}/why`)).body.errors[0].code).toBe("missing_field");
  });

  it("does not show the tags that decided to a customer", async () => {
    const { api, register, publish, why } = await serve();
    const endpoint = await register({ filter: { tags: "vip" } });
    const event = await publish({}, { tags: ["secret"] });
    expect((await why(event, endpoint)).body.sentence).toMatch(
      /\/tags fails, because \/tags\/0 is "secret"\.$|is "secret"\.$/,
    );
    const { body } = await api.post("/v1/portal-links", { tenant: "default", can: ["read"] });
    const { text } = await why(event, endpoint, body.url.split("#")[1]);
    expect(text).toContain('"reason":"filtered"');
    expect(text).not.toContain("secret");
  });

  it("says of an event whose id is old that it cannot be known any more, to any tenant alike", async () => {
    const { api, register, publish, why } = await serve();
    const [endpoint, event] = [await register(), await publish()];
    const other = await register({}, "acme");
    api.clock.advance(31 * DAY);
    const key = await api.addKey(["read"], "acme");
    // The event is still there, because it is pending.
    expect((await why(event, endpoint)).body.reason).toBe("waiting");
    for (const id of [event, `${event.slice(0, -1)}${event.endsWith("0") ? "1" : "0"}`]) {
      const { status, body } = await why(id, other, key);
      expect([status, body.reason]).toEqual([200, "unknown"]);
      expect(body.sentence).toBe(
        "It cannot be known any more: if there was such an event, it has been removed, as old events are.",
      );
    }
    expect((await why(`evt_${"z".repeat(26)}`, endpoint)).status).toBe(404);
  });
});
