import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const pause = (daemon: TestDaemon, reason = "the receivers asked for it") =>
  daemon.request("POST", "/v1/pause", { reason });
const resume = (daemon: TestDaemon) => daemon.request("POST", "/v1/resume");
const status = async (daemon: TestDaemon) => (await daemon.request("GET", "/v1/status")).body;

describe("the brake", () => {
  it("says when it is let go of whether it was on", async () => {
    const daemon = await TestDaemon.start({});
    await pause(daemon);
    expect((await resume(daemon)).body).toEqual({ paused: null, was_paused: true });
    expect((await resume(daemon)).body).toEqual({ paused: null, was_paused: false });
  });

  it("stops every kind of attempt, through a restart, until somebody resumes; publishes go on", async () => {
    const clock = new ManualClock();
    const receiver = await TestReceiver.start([500]);
    const before = await TestDaemon.start({ clock });
    const { id: endpoint } = await before.register(receiver.url);
    const failed = await before.publish();
    await before.daemon.idle();
    const pausedAt = new Date(clock.now()).toISOString();
    const { status: code, body } = await pause(before);
    expect({ code, ...body.paused }).toEqual({
      code: 200,
      reason: "the receivers asked for it",
      by: expect.stringMatching(/^key_/),
      saved: true,
      at: pausedAt,
    });
    // A second pause does not change the first.
    expect((await pause(before, "me too")).body).toEqual(body);

    // Nothing may start: no retry that falls due, no new event, no test that a caller waits for, and no requested
    // attempt.
    const fresh = await before.publish();
    const test = await before.request("POST", `/v1/webhooks/${endpoint}/test?wait=true`);
    expect(test.status).toBe(202);
    const { deliveries } = await before.event(failed);
    await before.request("POST", `/v1/webhooks/deliveries/${deliveries[0].id}/attempt`);
    clock.advance("10m");
    unawaited(before.daemon.tick());
    expect(await status(before)).toMatchObject({ paused: body.paused, oldest_due_at: pausedAt, state: "ready" });
    expect(await (await fetch(new URL("/readyz", before.url))).text()).toBe("ready");
    await before.stop();

    const daemon = await TestDaemon.start({ clock, dir: before.dir });
    unawaited(daemon.daemon.tick());
    const late = await daemon.publish();
    expect(await status(daemon)).toMatchObject({ paused: body.paused });
    clock.advance("1h");
    const resumedAt = new Date(clock.now()).toISOString();
    expect(await resume(daemon)).toEqual({ status: 200, body: { paused: null, was_paused: true } });
    await daemon.daemon.idle();
    for (const id of [fresh, late, test.body.id, failed]) {
      const attempts = await daemon.attempts(id);
      expect(attempts.at(-1)).toMatchObject({ outcome: "succeeded", started_at: resumedAt });
      expect(attempts).toHaveLength(id === failed ? 2 : 1);
    }
    expect(receiver.requests).toHaveLength(5);
    expect(await status(daemon)).toMatchObject({ paused: null, oldest_due_at: null });
    await receiver.close();
  });

  it("lets what is on the wire come to its end", async () => {
    const receiver = await TestReceiver.start([{ delayMs: 100 }]);
    const daemon = await TestDaemon.start();
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    await receiver.next();
    await pause(daemon);
    await daemon.daemon.idle();
    expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
    await receiver.close();
  });

  it("is on when the answer to it comes, in every thread", async () => {
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start({ clock: systemClock, settings: { DELIVERY_THREADS: "3" } });
    const endpoints = await Promise.all([1, 2, 3, 4, 5].map((at) => daemon.register(`${receiver.url}/${at}`)));
    await daemon.publish();
    await daemon.daemon.idle();
    await pause(daemon);
    const id = await daemon.publish();
    // Each thread handles messages in order, so all of them have handled the pause once these are answered.
    for (const each of endpoints) await daemon.request("PATCH", `/v1/webhooks/${each.id}`, { description: "b" });
    const resumedAt = Date.now();
    await resume(daemon);
    await daemon.daemon.idle();
    const attempts = await daemon.attempts(id);
    expect(attempts).toHaveLength(5);
    for (const { started_at } of attempts) expect(Date.parse(started_at)).toBeGreaterThanOrEqual(resumedAt);
    await receiver.close();
  });

  it("is put on by serve --paused, and stays on without the flag", async () => {
    const receiver = await TestReceiver.start();
    const first = await TestDaemon.start({ paused: true });
    await first.register(receiver.url);
    const id = await first.publish();
    await first.stop();
    const daemon = await TestDaemon.start({ dir: first.dir });
    expect((await status(daemon)).paused).toMatchObject({ by: "serve --paused" });
    expect(await daemon.event(id)).toMatchObject({ status: "pending", deliveries: [{ attempts: 0 }] });
    await resume(daemon);
    await daemon.daemon.idle();
    expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
    await receiver.close();
  });
});
