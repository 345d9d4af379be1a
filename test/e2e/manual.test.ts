import { describe, expect, it } from "vitest";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

interface Scene {
  readonly clock: ManualClock;
  readonly receiver: TestReceiver;
  readonly daemon: TestDaemon;
  readonly event: string;
  readonly delivery: string;
}

/**
 * Publishes an event whose first attempt gets the first of these answers. If that answer takes time, this returns
 * before it.
 */
async function aScene(answers: readonly Answer[], registration = {}, settings = {}): Promise<Scene> {
  const clock = new ManualClock();
  const receiver = await TestReceiver.start(answers);
  const daemon = await TestDaemon.start({ clock, settings });
  await daemon.register(receiver.url, registration);
  const event = await daemon.publish();
  if (typeof answers[0] === "object") await receiver.next();
  else await daemon.daemon.idle();
  const delivery = (await daemon.event(event)).deliveries[0].id;
  return { clock, receiver, daemon, event, delivery };
}

const attemptNow = ({ daemon, delivery }: Scene) =>
  daemon.request("POST", `/v1/webhooks/deliveries/${delivery}/attempt`);
const deliveryOf = async ({ daemon, delivery }: Scene) =>
  (await daemon.request("GET", `/v1/webhooks/deliveries/${delivery}`)).body;
const triggersOf = async ({ daemon, event }: Scene) =>
  (await daemon.attempts(event)).map(({ number, trigger, retry, outcome }) => [number, trigger, retry, outcome]);

/** Lets time pass, and everything that falls due happen. */
async function after({ clock, daemon }: Scene, duration: string | number): Promise<void> {
  clock.advance(duration);
  unawaited(daemon.daemon.tick());
  await daemon.daemon.idle();
}

/** Adds another endpoint of the same sender, which gets its own events. */
async function aWitness({ daemon }: Scene) {
  const receiver = await TestReceiver.start();
  await daemon.register(receiver.url, { events: ["goal.achieved"] });
  return {
    async seen() {
      await daemon.publish({}, "goal.achieved");
      await receiver.next();
    },
    close: () => receiver.close(),
  };
}

describe("a manual attempt", () => {
  it("delivers what waits on a late rung", async () => {
    const scene = await aScene([500]);
    const { status, body } = await attemptNow(scene);
    expect({ status, id: body.id, pending: body.status }).toEqual({
      status: 202,
      id: scene.delivery,
      pending: "pending",
    });
    await scene.daemon.daemon.idle();
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered", attempts: 2, next_attempt_at: null });
    expect(scene.receiver.requests[1]!.body.equals(scene.receiver.requests[0]!.body)).toBe(true);
    expect(scene.receiver.requests[1]!.headers["x-webhookd-attempt"]).toBe("2");
    expect(await triggersOf(scene)).toEqual([
      [1, "ladder", 0, "failed"],
      [2, "manual", null, "succeeded"],
    ]);
    await after(scene, "48h");
    expect(scene.receiver.requests).toHaveLength(2);
    await scene.receiver.close();
  });

  it("that fails leaves rung and due time exactly as they were", async () => {
    const scene = await aScene([500, 500, 500, 500]);
    const { next_attempt_at: due, retry } = await deliveryOf(scene);
    await after(scene, "10s");
    await attemptNow(scene);
    await scene.daemon.daemon.idle();
    expect(scene.receiver.requests).toHaveLength(2);
    expect(await deliveryOf(scene)).toMatchObject({ status: "pending", attempts: 2, retry, next_attempt_at: due });
    await after(scene, 19_999);
    expect(scene.receiver.requests).toHaveLength(2);
    await after(scene, 1);
    expect(scene.receiver.requests).toHaveLength(3);
    await after(scene, "2m");
    expect(await triggersOf(scene)).toEqual([
      [1, "ladder", 0, "failed"],
      [2, "manual", null, "failed"],
      [3, "ladder", 1, "failed"],
      [4, "ladder", 2, "failed"],
    ]);
    await scene.receiver.close();
  });

  it.each(["0", "1"])("never meets another attempt of its delivery (%s sender threads)", async (threads) => {
    const answers = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const settings = { DELIVERY_THREADS: threads, RETRY_DELAYS: "100ms,200ms,300ms" };
    const slow = answers.map(({ promise: until }) => ({ status: 500, until }));
    const scene = await aScene(slow, {}, settings);
    const witness = await aWitness(scene);
    const happened = ["start"];
    scene.receiver.onRequest = () => void happened.push("start");
    const answer = async (at: number) => {
      // The witness's delivery was started later, so once it has arrived any other attempt would have started too.
      await witness.seen();
      happened.push("end");
      answers[at]!.resolve();
    };
    await attemptNow(scene);
    await answer(0);
    await scene.receiver.next();
    // Another attempt is requested while that one is in flight, and the ladder's own falls due as well.
    await attemptNow(scene);
    scene.clock.advance(100);
    unawaited(scene.daemon.daemon.tick());
    await answer(1);
    await scene.receiver.next();
    await answer(2);
    await scene.daemon.daemon.idle();
    await after(scene, 200);
    expect(happened.slice(0, 7)).toEqual(["start", "end", "start", "end", "start", "end", "start"]);
    const starts = scene.receiver.requests;
    expect(new Set(scene.receiver.requests.map(({ headers }) => headers["x-webhookd-attempt"])).size).toBe(
      starts.length,
    );
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered", attempts: starts.length });
    await witness.close();
    await scene.receiver.close();
  });

  it.each([
    [500, ["ladder", "manual"]],
    [200, ["ladder"]],
  ] as const)("that is asked for five times beside an attempt that gets %i", async (first, expected) => {
    const answered = Promise.withResolvers<void>();
    const scene = await aScene([{ status: first, until: answered.promise }]);
    const asked = await Promise.all(Array.from({ length: 5 }, () => attemptNow(scene)));
    expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect(scene.receiver.requests).toHaveLength(1);
    answered.resolve();
    await scene.daemon.daemon.idle();
    expect((await scene.daemon.attempts(scene.event)).map(({ trigger }) => trigger)).toEqual(expected);
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered" });
    await scene.receiver.close();
  });

  it("of a failed delivery delivers it, or leaves it failed", async () => {
    const scene = await aScene([500, 500, 500, 500, 500, 500, 500, 503]);
    for (const rung of SPECIFIED_LADDER) await after(scene, rung);
    expect(await deliveryOf(scene)).toMatchObject({ status: "failed", attempts: 7 });
    await attemptNow(scene);
    await scene.daemon.daemon.idle();
    expect(await deliveryOf(scene)).toMatchObject({
      status: "failed",
      attempts: 8,
      last_attempt: { status_code: 503 },
    });
    await after(scene, "48h");
    expect(scene.receiver.requests).toHaveLength(8);
    await attemptNow(scene);
    await scene.daemon.daemon.idle();
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered", attempts: 9, round: 1 });
    await scene.receiver.close();
  });

  it("of a held delivery shows whether its receiver is back", async () => {
    const scene = await aScene([500], { enabled: false });
    expect(scene.receiver.requests).toHaveLength(0);
    expect((await attemptNow(scene)).body.status).toBe("held");
    await scene.daemon.daemon.idle();
    expect(await deliveryOf(scene)).toMatchObject({ status: "held", attempts: 1, retry: 0 });
    await attemptNow(scene);
    await scene.daemon.daemon.idle();
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered", attempts: 2 });
    await scene.receiver.close();
  });

  it("that waits for its turn is not started once its endpoint is disabled, and one asked for then is", async () => {
    const answered = Promise.withResolvers<void>();
    const scene = await aScene([500, { status: 500, until: answered.promise }], { max_in_flight: 1 });
    const { endpoint } = await deliveryOf(scene);
    await scene.daemon.publish();
    await scene.receiver.next();
    await scene.receiver.next();
    await attemptNow(scene);
    const disabled = await scene.daemon.request("PATCH", `/v1/webhooks/${endpoint}`, { enabled: false });
    expect(disabled.status).toBe(200);
    answered.resolve();
    await scene.daemon.daemon.idle();
    expect(scene.receiver.requests).toHaveLength(2);
    await attemptNow(scene);
    await scene.daemon.daemon.idle();
    expect(scene.receiver.requests).toHaveLength(3);
    expect(await deliveryOf(scene)).toMatchObject({ status: "delivered" });
    await scene.receiver.close();
  });

  it("is refused where nothing can come of it", async () => {
    const scene = await aScene([200]);
    const { status, body } = await attemptNow(scene);
    expect({ status, code: body.code }).toEqual({ status: 409, code: "delivery_settled" });
    const erased = await aScene([500]);
    await erased.daemon.request("DELETE", `/v1/webhooks/events/${erased.event}/data`);
    expect((await attemptNow(erased)).body.code).toBe("gone");
    const orphan = await aScene([500]);
    const { endpoint } = await deliveryOf(orphan);
    await orphan.daemon.request("DELETE", `/v1/webhooks/${endpoint}`);
    expect((await attemptNow(orphan)).body.code).toBe("delivery_settled");
    for (const { receiver } of [scene, erased, orphan]) await receiver.close();
  });

  it("that was asked for while another was in flight is made after a restart", async () => {
    const scene = await aScene([500, "hang"]);
    scene.clock.advance("30s");
    unawaited(scene.daemon.daemon.tick());
    await scene.receiver.next();
    await scene.receiver.next();
    expect((await attemptNow(scene)).status).toBe(202);
    scene.daemon.daemon.abort();
    // The attempt is recorded although no stop was requested, as after a fault.
    await expect.poll(async () => (await deliveryOf(scene)).last_attempt.outcome).toBe("interrupted");
    await scene.daemon.stop();
    const again = await TestDaemon.start({ clock: scene.clock, dir: scene.daemon.dir });
    await again.daemon.idle();
    expect(await deliveryOf({ ...scene, daemon: again })).toMatchObject({ status: "delivered" });
    const attempts = await again.attempts(scene.event);
    expect(attempts.map(({ outcome }) => outcome).slice(0, 2)).toEqual(["failed", "interrupted"]);
    await scene.receiver.close();
  });
});
