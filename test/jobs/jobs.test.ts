import { describe, expect, it } from "vitest";
import type { Job } from "../../src/domain/deliveries/job.ts";
import { addEndpoint, answered, draft } from "../store/fixtures.ts";
import { JobWorld } from "./world.ts";

/** With `JOBS_SCALE=10` the job is as large as after an outage: 40,000 deliveries. */
const SCALE = Number(process.env["JOBS_SCALE"] ?? 1);
const PENDING = 3_700 * SCALE;
const FAILED = 300 * SCALE;
const RATE = 50 * SCALE;

const running = async (world: JobWorld) => (await world.store.jobs.open()).length > 0;

/** Lets seconds pass until no job is open, and returns how many. */
async function untilDone(world: JobWorld): Promise<number> {
  let seconds = 0;
  for (; await running(world); seconds++) await world.second();
  return seconds;
}

/** Returns the largest number of starts within any 1,000 ms. */
function mostInASecond(times: readonly number[]): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length));
}

const timesOf = (world: JobWorld) => {
  const times = new Map<string, number>();
  for (const { delivery } of world.started) times.set(delivery, (times.get(delivery) ?? 0) + 1);
  return times;
};

describe("jobs", () => {
  it("deliver what has failed and what waits on the 6 h rung at their pace, and fresh events wait for none of it", async () => {
    const world = await JobWorld.start();
    const endpoint = await addEndpoint(world.store);
    await world.owe(endpoint, { pending: PENDING, failed: FAILED });
    const attempts = await world.add({ action: "attempt_now", ratePerSecond: RATE });
    const replay = await world.add({ ratePerSecond: RATE });
    expect([attempts.matched, replay.matched]).toEqual([PENDING, FAILED]);

    const beforeFresh: number[] = [];
    let seconds = 0;
    for (; (await world.store.jobs.endpoints(attempts.id, null)).length > 0; seconds++) {
      const before = world.started.length;
      const answers = Promise.withResolvers<void>();
      world.gate = answers.promise;
      await world.second(async () => {
        await world.until(() => world.started.length - before >= 16);
        const [publication] = await world.store.events.publish([draft()], world.now, world.dispatcher.capacity);
        const at = world.started.length;
        world.dispatcher.accept(publication!);
        answers.resolve();
        await world.until(() => world.started.slice(at).some(({ event }) => event === publication!.id));
        beforeFresh.push(world.started.slice(at).findIndex(({ event }) => event === publication!.id));
      });
    }
    await untilDone(world);
    expect(seconds).toBeLessThanOrEqual(PENDING / RATE + 2);
    for (const trigger of ["manual", "replay"] as const) {
      const most = mostInASecond(world.startedAt.filter((_, at) => world.started[at]!.trigger === trigger));
      expect(most, trigger).toBeGreaterThanOrEqual(RATE - 1);
      expect(most, trigger).toBeLessThanOrEqual(RATE + 1);
    }
    // The new event takes the next free slot, or the one after.
    expect(beforeFresh.filter((others) => others < 0 || others > 1)).toEqual([]);
    expect(await world.job(attempts)).toMatchObject({ status: "done", done: PENDING, delivered: PENDING });
    expect(await world.job(replay)).toMatchObject({ status: "done", done: FAILED, delivered: FAILED });
    expect([...timesOf(world).values()].every((times) => times === 1)).toBe(true);
  });

  it("do as many as their plan says", async () => {
    const world = await JobWorld.start();
    const endpoint = await addEndpoint(world.store);
    await world.owe(endpoint, { pending: 10, failed: 1000 * SCALE });
    const filter = { test: false, missing: false };
    const { matched } = await world.store.jobs.plan({ tenant: null, action: "replay", filter });
    const job = await world.add({ ratePerSecond: 500 });
    await untilDone(world);
    expect(await world.job(job)).toMatchObject({ status: "done", done: matched, skipped: 0 });
    expect(matched).toBe(1000 * SCALE);
  });

  it.each<Job["action"]>(["replay", "attempt_now"])(
    "(%s) go on after a pause and a crash, and do none twice but what was on the wire",
    async (action) => {
      const world = await JobWorld.start();
      const endpoint = await addEndpoint(world.store);
      await world.owe(endpoint, action === "replay" ? { pending: 0, failed: 100 } : { pending: 100, failed: 0 });
      const job = await world.add({ action, ratePerSecond: 20 });
      for (let second = 0; second < 2; second++) await world.second();
      await world.store.jobs.steer(null, job.id, "paused", world.now);
      await world.second();
      expect(await world.job(job)).toMatchObject({ status: "paused", done: 40 });
      await world.store.jobs.steer(null, job.id, "running", world.now);

      world.answer = () => "never";
      await world.begin();
      // 16 attempts of the job are in flight after its first 40.
      await world.until(() => world.started.length === 56);
      const onTheWire = new Set(world.started.slice(40).map(({ delivery }) => delivery));
      await world.crash();
      world.answer = () => answered(200);
      await untilDone(world);
      expect(await world.job(job)).toMatchObject({ status: "done", done: 100, delivered: 100, skipped: 0 });
      const times = timesOf(world);
      expect(times.size).toBe(100);
      for (const [delivery, count] of times) expect(count, delivery).toBe(onTheWire.has(delivery) ? 2 : 1);
    },
  );

  it("pause themselves when a canary fails, and do nothing more until they are resumed", async () => {
    const world = await JobWorld.start();
    const endpoint = await addEndpoint(world.store);
    await world.owe(endpoint, { pending: 0, failed: 50 });
    world.answer = () => answered(500);
    const job = await world.add({ canary: true });
    for (let second = 0; second < 5; second++) await world.second();
    expect(world.started).toHaveLength(1);
    expect(await world.job(job)).toMatchObject({
      status: "paused",
      done: 1,
      failed: 1,
      pausedReason: expect.stringMatching(/answered 500/),
    });

    world.answer = () => answered(200);
    await world.store.jobs.steer(null, job.id, "running", world.now, "canary");
    await world.second();
    expect(world.started).toHaveLength(2);
    await untilDone(world);
    expect(await world.job(job)).toMatchObject({ status: "done", delivered: 49, failed: 1 });
  });

  it("have no more waiting for a receiver that is silent than two seconds of their pace", async () => {
    const world = await JobWorld.start();
    const endpoint = await addEndpoint(world.store);
    await world.owe(endpoint, { pending: 200, failed: 0 });
    world.answer = () => "never";
    const job = await world.add({ action: "attempt_now", ratePerSecond: 5 });
    for (let second = 0; second < 8; second++) {
      const end = world.now + 1000;
      await world.begin();
      await world.until(() => world.now >= end);
    }
    expect(await world.store.jobs.endpoints(job.id, null)).toMatchObject([{ planned: 190, released: 10 }]);
  });
});
