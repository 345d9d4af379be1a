import { describe, expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const EVENTS = "/v1/webhooks/events";

async function aScene(answers: readonly Answer[], registration = {}, settings = {}) {
  const clock = new ManualClock();
  const receiver = await TestReceiver.start(answers);
  const daemon = await TestDaemon.start({ clock, settings });
  await daemon.register(receiver.url, registration);
  const cancel = (event: string, body?: unknown) => daemon.request("POST", `${EVENTS}/${event}/cancel`, body);
  const erase = (event: string) => daemon.request("DELETE", `${EVENTS}/${event}/data`);
  return { clock, receiver, daemon, cancel, erase };
}

describe("a cancelled event", () => {
  it.each([
    [500, { status: "cancelled", deliveries: [{ status: "cancelled", attempts: 1 }] }],
    [200, { status: "delivered", deliveries: [{ status: "delivered", attempts: 1 }] }],
  ] as const)("records what was on the wire: a %i", async (status, expected) => {
    const { promise: until, resolve: answered } = Promise.withResolvers<void>();
    const { clock, receiver, daemon, cancel } = await aScene([{ status, until }]);
    const event = await daemon.publish();
    await receiver.next();
    const answer = await cancel(event);
    expect(answer).toMatchObject({ status: 200, body: { id: event, status: "cancelled", cancelled: 1 } });
    answered();
    await daemon.daemon.idle();
    expect(await daemon.event(event)).toMatchObject(expected);
    expect(await daemon.attempts(event)).toMatchObject([{ number: 1, status_code: status }]);
    clock.advance("48h");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(1);
    await receiver.close();
  });

  it.each(["0", "1"])(
    "that waits for its turn is not started, and the others are (%s sender threads)",
    async (threads) => {
      const settings = { DELIVERY_THREADS: threads };
      const { promise: until, resolve: answered } = Promise.withResolvers<void>();
      const { receiver, daemon, cancel } = await aScene([{ status: 200, until }], { max_in_flight: 1 }, settings);
      const [first, second, third] = [await daemon.publish(), await daemon.publish(), await daemon.publish()];
      await receiver.next();
      expect((await cancel(second)).body.cancelled).toBe(1);
      answered();
      await daemon.daemon.idle();
      expect(receiver.requests.map(({ headers }) => headers["webhook-id"])).toEqual([first, third]);
      expect((await daemon.event(second)).status).toBe("cancelled");
      await receiver.close();
    },
  );

  it("that waits for its retry is never sent again", async () => {
    const { clock, receiver, daemon, cancel } = await aScene([500]);
    const event = await daemon.publish();
    await daemon.daemon.idle();
    await cancel(event);
    expect((await cancel(event)).body).toMatchObject({ status: "cancelled", cancelled: 0 });
    clock.advance("48h");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(1);
    expect((await daemon.request("POST", `${EVENTS}/${event}/retry`)).status).toBe(409);
    await receiver.close();
  });

  it("makes no manual attempt that was asked for before", async () => {
    const { promise: until, resolve: answered } = Promise.withResolvers<void>();
    const { receiver, daemon, cancel } = await aScene([{ status: 500, until }]);
    const event = await daemon.publish();
    await receiver.next();
    const { id } = (await daemon.event(event)).deliveries[0];
    expect((await daemon.request("POST", `/v1/webhooks/deliveries/${id}/attempt`)).status).toBe(202);
    await cancel(event);
    answered();
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(1);
    expect((await daemon.event(event)).status).toBe("cancelled");
    await receiver.close();
  });
});

describe("an erased event", () => {
  it("has no data any more, and cannot be sent again", async () => {
    const { clock, receiver, daemon, erase } = await aScene([{ status: 500, body: "what the receiver said" }]);
    const event = await daemon.publish({ budget_id: "what we said" });
    await daemon.daemon.idle();
    expect((await daemon.attempts(event))[0].response_body).toBe("what the receiver said");
    expect((await erase(event)).status).toBe(204);
    expect((await erase(event)).status).toBe(204);
    const shown = JSON.stringify([await daemon.event(event), await daemon.attempts(event)]);
    expect(shown).not.toMatch(/said/);
    expect(await daemon.event(event)).toMatchObject({ data: null, status: "cancelled" });
    expect(await daemon.attempts(event)).toMatchObject([{ number: 1, status_code: 500, response_headers: {} }]);
    for (const body of [undefined, { force: true }]) {
      const { status, body: problem } = await daemon.request("POST", `${EVENTS}/${event}/retry`, body);
      expect({ status, code: problem.code }).toEqual({ status: 410, code: "gone" });
    }
    clock.advance("48h");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(1);
    await receiver.close();
  });

  it("keeps no answer to what was on the wire, and starts nothing that waited for its turn", async () => {
    const { promise: until, resolve: answered } = Promise.withResolvers<void>();
    const { receiver, daemon, erase } = await aScene([{ status: 200, body: "thanks", until }], { max_in_flight: 1 });
    const [first, second] = [await daemon.publish(), await daemon.publish()];
    await receiver.next();
    await erase(first);
    await erase(second);
    answered();
    await daemon.daemon.idle();
    expect(await daemon.attempts(first)).toMatchObject([{ outcome: "succeeded", response_body: "" }]);
    expect((await daemon.event(first)).status).toBe("delivered");
    expect((await daemon.event(second)).status).toBe("cancelled");
    expect(receiver.requests).toHaveLength(1);
    await receiver.close();
  });
});
