import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { noResponse } from "../../../src/domain/deliveries/attempt.ts";
import type { Claim } from "../../../src/domain/deliveries/delivery.ts";
import { aStore } from "../sqlite.ts";
import { ApiServer } from "../server.ts";

async function anEndpoint(more: object = {}) {
  const api = await ApiServer.start(await aStore());
  const { body } = await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["goal.achieved"], ...more });
  const waited = async () => {
    while (api.watched.size === 0) await new Promise(setImmediate);
    return api.accepted[0]!.fresh[0]!;
  };
  const record = async (claim: Claim, responseBody = new Uint8Array(0)) => {
    const outcome = { ...noResponse("timeout", "no answer", 10_000), responseBody };
    const ended = { claim, url: "https://example.com/h", startedAt: 0, outcome, secretVersion: 1 };
    await api.store.deliveries.record([{ ...ended, verdict: { status: "failed" } }]);
    api.watched.get(claim.delivery)!();
  };
  return { api, path: `/v1/webhooks/${body.id}/test`, waited, record };
}

describe("a test that is waited for", () => {
  it("is answered with its attempt once that is recorded, and leaves nothing behind", async () => {
    const { api, path, waited, record } = await anEndpoint({ enabled: false });
    const answer = api.request("POST", `${path}?wait=true`);
    const claim = await waited();
    await record(claim);
    const { status, body } = await answer;
    expect(status).toBe(200);
    expect(body).toMatchObject({ delivery: claim.delivery, trigger: "test", retry: null, error: "timeout" });
    expect(api.watched.size).toBe(0);
  });

  it("is answered again under its idempotency key, but not with what was erased since", async () => {
    const { api, path, waited, record } = await anEndpoint();
    const again = () => api.request("POST", `${path}?wait=true`, { headers: { "idempotency-key": "k" } });
    const first = again();
    const claim = await waited();
    await record(claim, Buffer.from("no such customer"));
    expect((await first).body).toMatchObject({ delivery: claim.delivery, response_body: "no such customer" });
    const second = await again();
    expect(second).toMatchObject({ status: 200, headers: { "idempotency-replayed": "true" } });
    expect(second.body).toEqual((await first).body);
    expect((await api.request("DELETE", `/v1/webhooks/events/${claim.event}/data`)).status).toBe(204);
    expect((await again()).body).toMatchObject({ delivery: claim.delivery, response_body: "" });
    expect(api.accepted).toHaveLength(1);
  });

  it("is answered with the event when the attempt takes longer than it may", async () => {
    const { api, path, waited } = await anEndpoint();
    const answer = api.request("POST", `${path}?wait=true`);
    const claim = await waited();
    api.clock.advance(14_999);
    expect(api.watched.size).toBe(1);
    api.clock.advance(1);
    const { status, body } = await answer;
    expect(status).toBe(202);
    expect(body).toMatchObject({ id: claim.event, delivery_count: 1 });
    expect(api.watched.size).toBe(0);
  });

  it("is given up when the client goes away", async () => {
    const { api, path, waited } = await anEndpoint();
    const headers = { authorization: `Bearer ${api.adminKey}` };
    const client = request({ port: api.port, method: "POST", path: `${path}?wait=true`, headers });
    client.on("error", () => {});
    client.end();
    await waited();
    client.destroy();
    while (api.watched.size > 0) await new Promise(setImmediate);
  });

  it("takes wait=true alone, and is not waited for without it", async () => {
    const { api, path } = await anEndpoint();
    expect((await api.request("POST", `${path}?wait=1`)).body.code).toBe("invalid_query");
    for (const target of [path, `${path}?wait=false`]) expect((await api.request("POST", target)).status).toBe(202);
    expect(api.watched.size).toBe(0);
  });
});
