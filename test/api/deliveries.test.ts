import { describe, expect, it } from "vitest";
import { aStore, anEvent } from "./sqlite.ts";
import { ApiServer } from "./server.ts";

const DELIVERIES = "/v1/webhooks/deliveries";
const EVENTS = "/v1/webhooks/events";

async function serve() {
  return ApiServer.start(await aStore());
}

async function register(api: ApiServer, more: Record<string, unknown> = {}): Promise<string> {
  const url = "https://example.com/h";
  return (await api.post("/v1/webhooks", { url, events: ["budget.exceeded"], ...more })).body.id;
}

/** Creates an endpoint with a failed and a delivered event, an hour apart. */
async function aScene() {
  const api = await serve();
  const endpoint = await register(api);
  const failed = await anEvent(api.store, api.clock.now(), "failed");
  api.clock.advance("1h");
  const delivered = await anEvent(api.store, api.clock.now(), "delivered");
  const idOf = async (event: string) => (await api.get(`${EVENTS}/${event}`)).body.deliveries[0].id as string;
  return { api, endpoint, failed, delivered, ofFailed: await idOf(failed), ofDelivered: await idOf(delivered) };
}

describe("a delivery", () => {
  it("comes with its event, its status and its last attempt", async () => {
    const { api, endpoint, failed, ofFailed } = await aScene();
    const { status, body } = await api.get(`${DELIVERIES}/${ofFailed}`);
    expect(status).toBe(200);
    const attempts = (await api.get(`${DELIVERIES}/${ofFailed}/attempts`)).body.data;
    expect(body).toEqual({
      id: ofFailed,
      event: failed,
      type: "budget.exceeded",
      received_at: "2026-11-20T09:55:00.000Z",
      tenant: "default",
      test: false,
      endpoint,
      status: "failed",
      attempts: 1,
      round: 1,
      retry: null,
      next_attempt_at: null,
      sequence: null,
      waits_behind: null,
      last_attempt: attempts[0],
    });
    expect(attempts).toHaveLength(1);
    expect((await api.get(`/v1/webhooks/attempts/${attempts[0].id}`)).body).toEqual(attempts[0]);
  });

  it("of another tenant is as if it were not there, and so are its attempts", async () => {
    const { api, endpoint, ofFailed } = await aScene();
    const attempt = (await api.get(`${DELIVERIES}/${ofFailed}`)).body.last_attempt.id;
    const key = await api.addKey(["read"], "globex");
    for (const path of [
      `${DELIVERIES}/${ofFailed}`,
      `${DELIVERIES}/${ofFailed}/attempts`,
      `/v1/webhooks/attempts/${attempt}`,
      `/v1/webhooks/${endpoint}/attempts`,
    ]) {
      expect((await api.get(path)).status, path).toBe(200);
      expect((await api.get(path, { key })).status, path).toBe(404);
    }
    expect((await api.get(DELIVERIES, { key })).body.data).toEqual([]);
  });

  it.each([
    `${DELIVERIES}/dlv_1`,
    `${DELIVERIES}/dlv_00000000000000000000000000`,
    `${DELIVERIES}/dlv_1/attempts`,
    "/v1/webhooks/attempts/att_00000000000000000000000000",
    "/v1/webhooks/ep_00000000000000000000000000/attempts",
    "/v1/webhooks/deliveries/attempts",
  ])("is 404 at %s", async (path) => {
    const api = await serve();
    expect((await api.get(path)).status).toBe(404);
  });
});

describe("the lists of deliveries and attempts", () => {
  it("are filtered", async () => {
    const { api, endpoint, failed, ofFailed, ofDelivered } = await aScene();
    const list = async (query: string) =>
      (await api.get(`${DELIVERIES}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await list("")).toEqual([ofDelivered, ofFailed]);
    expect(await list("order=oldest")).toEqual([ofFailed, ofDelivered]);
    expect(await list("status=failed")).toEqual([ofFailed]);
    expect(await list(`endpoint=${endpoint}&type=budget.exceeded`)).toEqual([ofDelivered, ofFailed]);
    expect(await list(`event=${failed}`)).toEqual([ofFailed]);
    expect(await list("error=http_status")).toEqual([ofFailed]);
    expect(await list("status_code=503")).toEqual([ofFailed]);
    expect(await list("status_code=5xx")).toEqual([ofFailed]);
    expect(await list("status_code=2xx")).toEqual([ofDelivered]);
    expect(await list("status_code=500")).toEqual([]);
    expect(await list("since=2026-11-20T10:00:00Z")).toEqual([ofDelivered]);
    expect(await list("until=2026-11-20T10:00:00Z")).toEqual([ofFailed]);
    expect(await list("test=true")).toEqual([]);
    const attempts = async (query: string) =>
      (await api.get(`/v1/webhooks/${endpoint}/attempts?${query}`)).body.data.map(
        ({ delivery }: { delivery: string }) => delivery,
      );
    expect(await attempts("")).toEqual([ofDelivered, ofFailed]);
    expect(await attempts("outcome=failed&error=http_status&status_code=5xx")).toEqual([ofFailed]);
    expect(await attempts("outcome=succeeded&since=2026-11-20T10:00:00Z")).toEqual([ofDelivered]);
    const events = async (query: string) =>
      (await api.get(`${EVENTS}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await events("error=http_status")).toEqual([failed]);
    expect(await events("status_code=4xx")).toEqual([]);
  });

  it("leave test events out", async () => {
    const { api, endpoint } = await aScene();
    const { id } = (await api.post(`/v1/webhooks/${endpoint}/test`, {})).body;
    expect((await api.get(`${DELIVERIES}?test=true`)).body.data).toMatchObject([{ event: id, test: true }]);
    expect((await api.get(DELIVERIES)).body.data).toHaveLength(2);
  });

  it.each(["", "/ENDPOINT/attempts", "/DELIVERY/attempts"])(
    "are walked to their end by the Link header: %s",
    async (suffix) => {
      const { api, endpoint, ofFailed } = await aScene();
      const path = suffix.startsWith("/ENDPOINT")
        ? `/v1/webhooks/${endpoint}/attempts`
        : `${DELIVERIES}${suffix.replace("DELIVERY", ofFailed)}`;
      const all = (await api.get(path)).body.data;
      const walked: unknown[] = [];
      for (let next: string | undefined = `${path}?limit=1&order=newest`; next !== undefined;) {
        const { body, headers } = await api.get(next);
        walked.push(...body.data);
        next = /^<(.*)>; rel="next"$/.exec((headers.link as string | undefined) ?? "")?.[1];
        expect(next === undefined).toBe(body.next_cursor === null);
      }
      expect(walked).toEqual(all);
    },
  );

  it.each([
    `${DELIVERIES}?status=unmatched`,
    `${DELIVERIES}?error=nope`,
    `${DELIVERIES}?status_code=5x`,
    `${DELIVERIES}?status_code=099`,
    `${DELIVERIES}?status_code=5XX`,
    `${DELIVERIES}?status_code=503&status_code=504`,
    `${DELIVERIES}?endpoint=ep_1`,
    `${DELIVERIES}?event=ep_00000000000000000000000000`,
    `${DELIVERIES}?outcome=failed`,
    `${DELIVERIES}?cursor=AAAA`,
    `${DELIVERIES}?cursor=${Buffer.from("events:newest:5").toString("base64url")}`,
    `${DELIVERIES}?cursor=${Buffer.from("deliveries:newest:5").toString("base64url")}`,
    `${DELIVERIES}?cursor=${Buffer.from("deliveries:newest:5:1e3").toString("base64url")}`,
    `${DELIVERIES}?cursor=${Buffer.from("deliveries:newest:-5:1").toString("base64url")}`,
    `${EVENTS}?status_code=abc`,
    `${EVENTS}?error=`,
  ])("refuse %s", async (path) => {
    const api = await serve();
    const { status, body } = await api.get(path);
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_query" });
  });

  it("refuse an endpoint's attempts with a status or another endpoint's cursor", async () => {
    const { api, endpoint } = await aScene();
    const other = await register(api);
    const { body } = await api.get(`/v1/webhooks/${endpoint}/attempts?limit=1`);
    const refused = await api.get(`/v1/webhooks/${other}/attempts?limit=1&cursor=${body.next_cursor}`);
    expect(refused.body.code).toBe("invalid_query");
    expect((await api.get(`/v1/webhooks/${endpoint}/attempts?status=failed`)).body.code).toBe("invalid_query");
  });
});

describe("an attempt now", () => {
  const attempt = (api: ApiServer, id: string, options = {}) =>
    api.request("POST", `${DELIVERIES}/${id}/attempt`, options);

  it("is stored, handed over, and answered with the delivery", async () => {
    const { api, endpoint, ofFailed } = await aScene();
    const { status, body } = await attempt(api, ofFailed);
    expect({ status, id: body.id, of: body.status }).toEqual({ status: 202, id: ofFailed, of: "failed" });
    expect(api.requested).toMatchObject([{ delivery: ofFailed, endpoint }]);
    expect(await api.store.deliveries.requestedAttempts(null, 10)).toEqual([{ delivery: ofFailed, endpoint }]);
  });

  it("is asked for once under an idempotency key, and answered as the delivery is by then", async () => {
    const { api, ofFailed } = await aScene();
    const options = { headers: { "idempotency-key": "once" } };
    await attempt(api, ofFailed, options);
    await api.store.events.cancel(null, (await api.get(`${DELIVERIES}/${ofFailed}`)).body.event, null);
    const again = await attempt(api, ofFailed, options);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    expect(again.body.id).toBe(ofFailed);
    expect(api.requested).toHaveLength(1);
    expect(await api.store.deliveries.requestedAttempts(null, 10)).toEqual([]);
  });

  it("needs scope manage, and leaves its trace in the audit log", async () => {
    const { api, ofFailed } = await aScene();
    expect((await attempt(api, ofFailed, { key: await api.addKey(["read"]) })).status).toBe(403);
    await attempt(api, ofFailed);
    const { data } = (await api.get("/v1/audit?action=delivery.attempt")).body;
    expect(data[0]).toMatchObject({ object: ofFailed, tenant: "default", outcome: "ok" });
  });
});

describe("taking an event back", () => {
  it("cancels open deliveries, notifies the delivery side, and returns their number", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const { id } = (await api.post(EVENTS, { type: "budget.exceeded", data: {} })).body;
    const { status, body } = await api.post(`${EVENTS}/${id}/cancel`, { endpoint });
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        id,
        type: "budget.exceeded",
        created_at: "2026-11-20T09:55:00.000Z",
        received_at: "2026-11-20T09:55:00.000Z",
        tenant: "default",
        test: false,
        publisher_id: null,
        tags: [],
        ordering_key: null,
        erased_at: null,
        status: "cancelled",
        cancelled: 1,
      },
    });
    expect(api.withdrawn).toMatchObject([{ endpoint }]);
    expect((await api.request("POST", `${EVENTS}/${id}/cancel`)).body).toMatchObject({ cancelled: 0 });
    expect((await api.post(`${EVENTS}/${id}/cancel`, { endpiont: endpoint })).body.code).toBe("validation_failed");
  });

  it("erases its data, and answers 410 to a request to send it again", async () => {
    const { api, failed } = await aScene();
    const key = await api.addKey(["publish", "read"]);
    expect((await api.request("DELETE", `${EVENTS}/${failed}/data`, { key })).status).toBe(403);
    const { status, text } = await api.request("DELETE", `${EVENTS}/${failed}/data`);
    expect({ status, text }).toEqual({ status: 204, text: "" });
    const erasedAt = expect.stringMatching(/^\d{4}-.*Z$/);
    expect((await api.get(`${EVENTS}/${failed}`)).body).toMatchObject({ data: null, erased_at: erasedAt });
    expect((await api.request("POST", `${EVENTS}/${failed}/retry`)).body.code).toBe("gone");
  });
});
