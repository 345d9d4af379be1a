import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { receiverOf } from "../harness/exchange.ts";

describe("a test event that is waited for", () => {
  it.each(["0", "1"])("shows all that the receiver said, on a disabled endpoint, with %s threads", async (threads) => {
    const answer = "x".repeat(10_000);
    const receiver = await receiverOf({ body: answer, headers: { server: "mine" } }, { status: 503, body: answer });
    const daemon = await TestDaemon.start({ settings: { DELIVERY_THREADS: threads } });
    const { id } = await daemon.register(receiver.url, { enabled: false });
    const test = () => daemon.request("POST", `/v1/webhooks/${id}/test?wait=true`, { type: "goal.achieved" });
    const first = await test();
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      endpoint: id,
      trigger: "test",
      number: 1,
      outcome: "succeeded",
      status_code: 200,
      response_headers: { server: "mine" },
      response_body: answer,
      response_truncated: false,
    });
    expect((await receiver.next()).headers["x-webhookd-test"]).toBe("1");
    expect(await test()).toMatchObject({ status: 200, body: { outcome: "failed", status_code: 503 } });
    expect((await daemon.attempts(first.body.event))[0]).toEqual(first.body);
    expect(await daemon.event(first.body.event)).toMatchObject({ test: true, status: "delivered" });
  });

  it("is over with the daemon", async () => {
    const receiver = await receiverOf("hang");
    const daemon = await TestDaemon.start({ clock: systemClock });
    const { id } = await daemon.register(receiver.url);
    const answer = daemon.request("POST", `/v1/webhooks/${id}/test?wait=true`);
    await receiver.next();
    const stopped = daemon.stop();
    daemon.daemon.abort();
    expect(await answer).toMatchObject({ status: 200, body: { outcome: "interrupted" } });
    await stopped;
  });
});
