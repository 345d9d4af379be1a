import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

describe("the ladder", () => {
  it("makes seven attempts, each its rung after the one before, then fails; a replay delivers the same bytes", async () => {
    const clock = new ManualClock();
    const receiver = await TestReceiver.start([500, 500, 500, 500, 500, 500, 500]);
    const daemon = await TestDaemon.start({ clock });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    await daemon.daemon.idle();
    for (const [at, delay] of SPECIFIED_LADDER.entries()) {
      expect(receiver.requests).toHaveLength(at + 1);
      clock.advance(delay - 1);
      unawaited(daemon.daemon.tick());
      await daemon.daemon.idle();
      expect(receiver.requests, `nothing comes before ${delay} ms`).toHaveLength(at + 1);
      expect(await daemon.event(id)).toMatchObject({ status: "pending", deliveries: [{ attempts: at + 1 }] });
      clock.advance(1);
      unawaited(daemon.daemon.tick());
      await daemon.daemon.idle();
    }
    expect(receiver.requests).toHaveLength(7);
    expect(await daemon.event(id)).toMatchObject({
      status: "failed",
      deliveries: [{ attempts: 7, next_attempt_at: null }],
    });
    clock.advance("200h");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(7);

    const { status } = await daemon.request("POST", `/v1/webhooks/events/${id}/retry`);
    expect(status).toBe(202);
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(8);
    const [first, last] = [receiver.requests[0]!, receiver.requests[7]!];
    expect(last.body.equals(first.body)).toBe(true);
    expect(last.headers["webhook-id"]).toBe(id);
    expect(last.headers["x-webhookd-attempt"]).toBe("8");
    expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
    const attempts = await daemon.attempts(id);
    expect(attempts.map(({ number, round, retry, trigger }) => [number, round, retry, trigger])).toEqual([
      [1, 1, 0, "ladder"],
      [2, 1, 1, "ladder"],
      [3, 1, 2, "ladder"],
      [4, 1, 3, "ladder"],
      [5, 1, 4, "ladder"],
      [6, 1, 5, "ladder"],
      [7, 1, 6, "ladder"],
      [8, 2, 0, "replay"],
    ]);
    await receiver.close();
  });

  it("keeps its gaps in real time too: never shorter than configured", async () => {
    const delays = [40, 80, 120, 160, 200, 240];
    const receiver = await TestReceiver.start([500, 500, 500, 500, 500, 500, 500]);
    const daemon = await TestDaemon.start({
      clock: systemClock,
      settings: { RETRY_DELAYS: delays.map((delay) => `${delay}ms`).join(",") },
    });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    for (let attempt = 0; attempt < 7; attempt++) await receiver.next();
    await daemon.daemon.idle();
    expect(await daemon.event(id)).toMatchObject({ status: "failed", deliveries: [{ attempts: 7 }] });
    const attempts = await daemon.attempts(id);
    for (const [at, delay] of delays.entries()) {
      const ended = Date.parse(attempts[at].started_at) + attempts[at].duration_ms;
      // Times and durations are rounded to the millisecond, each separately.
      expect(Date.parse(attempts[at + 1].started_at) - ended).toBeGreaterThanOrEqual(delay - 1);
    }
    await receiver.close();
  });

  it.each(["-1h", "1h"])(
    "keeps its rungs when the wall clock is set by %s: no retry early, none late",
    async (step) => {
      const clock = new ManualClock();
      const receiver = await TestReceiver.start([500, 500, 500, 500, 500, 500, 500]);
      const daemon = await TestDaemon.start({ clock });
      await daemon.register(receiver.url);
      await daemon.publish();
      await daemon.daemon.idle();
      for (const [at, rung] of SPECIFIED_LADDER.entries()) {
        clock.advance(rung / 2);
        clock.step(step);
        unawaited(daemon.daemon.tick());
        await daemon.daemon.idle();
        clock.advance(rung / 2 - 1);
        unawaited(daemon.daemon.tick());
        await daemon.daemon.idle();
        expect(receiver.requests, `nothing comes before rung ${at + 1}`).toHaveLength(at + 1);
        clock.advance(1);
        unawaited(daemon.daemon.tick());
        await daemon.daemon.idle();
        expect(receiver.requests, `rung ${at + 1} is not late`).toHaveLength(at + 2);
      }
      await receiver.close();
    },
  );

  it("waits as long as Retry-After asks, within max_retry_after, and no longer than the ladder without it", async () => {
    const busy = { status: 503, headers: { "retry-after": "300" } };
    const seconds = async (limit: string) => {
      const clock = new ManualClock();
      const receiver = await TestReceiver.start([busy]);
      const daemon = await TestDaemon.start({
        clock,
        settings: { RETRY_MAX_RETRY_AFTER: limit, DELIVERY_THREADS: "1" },
      });
      await daemon.register(receiver.url);
      const id = await daemon.publish();
      await daemon.daemon.idle();
      const [{ next_attempt_at }] = (await daemon.event(id)).deliveries;
      await receiver.close();
      return (Date.parse(next_attempt_at) - clock.now()) / 1000;
    };
    expect(await seconds("0s")).toBe(30);
    expect(await seconds("1m")).toBe(60);
    expect(await seconds("1h")).toBe(300);
  });

  it("goes on after a restart with the clock set back meanwhile", async () => {
    const clock = new ManualClock();
    const receiver = await TestReceiver.start([500]);
    const before = await TestDaemon.start({ clock });
    await before.register(receiver.url);
    await before.publish();
    await before.daemon.idle();
    await before.daemon.stop();
    clock.step("-5h");
    const after = await TestDaemon.start({ clock, dir: before.dir });
    clock.advance("30s");
    unawaited(after.daemon.tick());
    await after.daemon.idle();
    expect(receiver.requests).toHaveLength(2);
    await receiver.close();
  });
});

it("an attempt that timed out before it connected is recorded once it is known whose fault it was", async () => {
  const clock = new ManualClock();
  const receiver = await TestReceiver.start();
  const dialled = Promise.withResolvers<void>();
  const dial = () => {
    dialled.resolve();
    return new Socket();
  };
  const daemon = await TestDaemon.start({ clock, network: { dial }, settings: { RETRY_DELAYS: "1h" } });
  await daemon.register(receiver.url);
  const id = await daemon.publish();
  await dialled.promise;
  // The whole minute passes at one instant, so the receiver has been silent only since its end.
  clock.advance("61s");
  expect(await daemon.attempts(id)).toEqual([]);
  await daemon.settle(clock);
  expect(await daemon.attempts(id)).toMatchObject([{ outcome: "failed", error: "timeout" }]);
  await receiver.close();
});

describe("two endpoints on one event", () => {
  it("one failed and one pending: the event is failed, and a retry reaches the failed one only", async () => {
    const clock = new ManualClock();
    const [dead, flaky] = [await TestReceiver.start([500, 500]), await TestReceiver.start([500, 500, 500])];
    const daemon = await TestDaemon.start({ clock, settings: { RETRY_DELAYS: "30s" } });
    await daemon.register(dead.url);
    const { id: second } = await daemon.register(flaky.url);
    const id = await daemon.publish();
    await daemon.daemon.idle();
    clock.advance("30s");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    expect((await daemon.request("POST", `/v1/webhooks/events/${id}/retry`, { endpoint: second })).status).toBe(202);
    await daemon.daemon.idle();
    const event = await daemon.event(id);
    expect(event.status).toBe("failed");
    expect(event.deliveries.map((delivery: any) => delivery.status).sort()).toEqual(["failed", "pending"]);

    expect((await daemon.request("POST", `/v1/webhooks/events/${id}/retry`)).status).toBe(202);
    await daemon.daemon.idle();
    expect([dead.requests.length, flaky.requests.length]).toEqual([3, 3]);
    expect(await daemon.event(id)).toMatchObject({ status: "pending" });
    expect((await daemon.request("POST", `/v1/webhooks/events/${id}/retry`)).status).toBe(409);
    await dead.close();
    await flaky.close();
  });

  it("twenty retries at once make one new round", async () => {
    const clock = new ManualClock();
    const receiver = await TestReceiver.start([500, 500]);
    const daemon = await TestDaemon.start({ clock, settings: { RETRY_DELAYS: "30s" } });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    await daemon.daemon.idle();
    clock.advance("30s");
    unawaited(daemon.daemon.tick());
    await daemon.daemon.idle();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => daemon.request("POST", `/v1/webhooks/events/${id}/retry`)),
    );
    await daemon.daemon.idle();
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 19 }, () => 409)]);
    expect(receiver.requests).toHaveLength(3);
    await receiver.close();
  });
});
