import { describe, expect, it } from "vitest";
import { Turns } from "../../src/delivery/send/fair-queue.ts";
import { aJob, takeAll } from "./turns-model.ts";

describe("turns", () => {
  it("go round the endpoints, so that the first delivery of a newcomer is next but one", () => {
    const turns = new Turns(256, 1000);
    for (let i = 0; i < 100; i++) turns.add(aJob("ep_busy"));
    turns.next(0);
    turns.add(aJob("ep_new"));
    expect([turns.next(0)?.endpoint, turns.next(0)?.endpoint]).toContain("ep_new");
  });

  it("stop at the endpoint's cap and go on when an attempt ends", () => {
    const turns = new Turns(4, 1000);
    for (let i = 0; i < 10; i++) turns.add(aJob("ep_a"));
    const first = takeAll(turns);
    expect(first).toHaveLength(4);
    turns.ended(first[0]!, "slow");
    expect(takeAll(turns)).toHaveLength(1);
  });

  it("start in the order of arrival", () => {
    const turns = new Turns(4, 1000);
    const jobs = [aJob("ep_a"), aJob("ep_a"), aJob("ep_a")];
    for (const job of jobs) turns.add(job);
    expect(takeAll(turns)).toEqual(jobs);
  });

  it("grow an endpoint's cap with fast answers up to its ceiling, and halve it with time-outs down to one", () => {
    const turns = new Turns(20, 1000);
    for (let i = 0; i < 200; i++) turns.add(aJob("ep_a"));
    const inFlight = takeAll(turns);
    expect(inFlight).toHaveLength(16);
    for (let i = 0; i < 30; i++) {
      turns.ended(inFlight.shift()!, "fast");
      inFlight.push(...takeAll(turns));
    }
    expect(turns.cap("ep_a")).toBe(20);
    for (let i = 0; i < 5; i++) turns.ended(inFlight.shift()!, "silent");
    expect(turns.cap("ep_a")).toBe(1);
  });

  it("give the backlog and the fresh deliveries at least half each while both wait", () => {
    const turns = new Turns(8, 1000);
    for (let i = 0; i < 50; i++) turns.add(aJob("ep_a", false));
    for (let i = 0; i < 50; i++) turns.add(aJob("ep_a", true));
    const first = takeAll(turns);
    expect(first.filter((job) => job.fresh)).toHaveLength(4);
    for (const job of first.filter((one) => one.fresh)) turns.ended(job, "slow");
    expect(takeAll(turns).every((job) => job.fresh)).toBe(true);
  });

  it("give back what an endpoint had waiting, and keep counting what is in flight", () => {
    const turns = new Turns(2, 1000);
    for (let i = 0; i < 5; i++) turns.add(aJob("ep_a"));
    const inFlight = takeAll(turns);
    expect(turns.forget("ep_a")).toHaveLength(3);
    expect(turns.waiting).toBe(0);
    turns.add(aJob("ep_a"));
    expect(turns.next(0)).toBeUndefined();
    turns.ended(inFlight[0]!, "slow");
    expect(turns.next(0)).toBeDefined();
  });

  it("alternate between fresh and backlog while only one may be in flight", () => {
    const turns = new Turns(1, 1000);
    for (let i = 0; i < 4; i++) turns.add(aJob("ep_a", false));
    for (let i = 0; i < 4; i++) turns.add(aJob("ep_a", true));
    const order: boolean[] = [];
    for (let job = turns.next(0); job !== undefined; job = turns.next(0)) {
      order.push(job.fresh);
      turns.ended(job, "slow");
    }
    expect(order).toEqual([true, false, true, false, true, false, true, false]);
  });

  it("bring the cap back to the initial one within a few answers, slow ones too, and take no fault of ours into account", () => {
    const turns = new Turns(256, 1000);
    for (let i = 0; i < 100; i++) turns.add(aJob("ep_a"));
    const inFlight = takeAll(turns);
    for (const job of inFlight.splice(0, 15)) turns.ended(job, "silent");
    const caps = (["fast", "slow", "fast", "unknown", "fast", "fast", "slow", "fast"] as const).map((speed) => {
      turns.ended(inFlight.shift()!, speed);
      inFlight.push(...takeAll(turns));
      return turns.cap("ep_a");
    });
    expect(caps).toEqual([2, 3, 6, 6, 12, 16, 16, 17]);
  });

  it("let dead receivers hold a quarter of all that is in flight between them, until they answer", () => {
    const turns = new Turns(16, 40);
    const dead = Array.from({ length: 20 }, (_, i) => `ep_dead_${i}`);
    for (const endpoint of dead) {
      for (let i = 0; i < 3; i++) {
        turns.add(aJob(endpoint));
        turns.ended(turns.next(0)!, "silent");
      }
    }
    for (const endpoint of dead) for (let i = 0; i < 5; i++) turns.add(aJob(endpoint));
    const hanging = takeAll(turns);
    expect(hanging).toHaveLength(10);
    for (let i = 0; i < 20; i++) turns.add(aJob(`ep_live_${i}`));
    expect(takeAll(turns)).toHaveLength(20);
    turns.ended(hanging[0]!, "silent");
    expect(takeAll(turns)).toHaveLength(1);
    turns.ended(hanging[1]!, "fast");
    expect(takeAll(turns).map(({ endpoint }) => endpoint)).toContain(hanging[1]!.endpoint);
  });

  it("start 500 attempts a second to dead receivers at most, however soon those end, and say when to go on", () => {
    const turns = new Turns(16, 1000);
    for (let i = 0; i < 2000; i++) turns.add(aJob("ep_refusing"));
    const startAll = (now: number): number => {
      let started = 0;
      for (let job = turns.next(now); job !== undefined; job = turns.next(now), started++) turns.ended(job, "silent");
      return started;
    };
    expect(startAll(0)).toBe(3 + 500);
    expect(turns.nextAt()).toBe(2);
    turns.add(aJob("ep_live"));
    expect(turns.next(0)?.endpoint).toBe("ep_live");
    expect(startAll(100)).toBe(50);
    turns.forget("ep_refusing");
    expect(turns.nextAt()).toBe(Number.POSITIVE_INFINITY);
  });

  it("hold an endpoint to its rate from the first start on, and say when it may go on", () => {
    const turns = new Turns(256, 1000);
    turns.setRate("ep_a", 4, 0);
    for (let i = 0; i < 20; i++) turns.add(aJob("ep_a"));
    for (let i = 0; i < 3; i++) turns.add(aJob("ep_b"));
    expect(takeAll(turns, 0)).toHaveLength(4);
    // A little early, so that a late timer costs none.
    expect(turns.nextAt()).toBe(240);
    expect(takeAll(turns, 239)).toEqual([]);
    expect(takeAll(turns, 240)).toHaveLength(1);
    expect(turns.nextAt()).toBe(490);
    expect(takeAll(turns, 10_000)).toHaveLength(1);
    turns.forget("ep_a");
    expect(turns.nextAt()).toBe(Number.POSITIVE_INFINITY);
  });

  it("start what is made for a job at its pace, and none sooner for having waited for a slot", () => {
    const turns = new Turns(256, 1000);
    turns.setCeiling("ep_a", 1);
    const busy = aJob("ep_a");
    turns.add(busy);
    expect(turns.next(0)).toBe(busy);
    const pace = { job: "job_1", perSecond: 10 };
    for (let i = 0; i < 5; i++) turns.add({ ...aJob("ep_a", false), pace });
    for (let i = 0; i < 2; i++) turns.add({ ...aJob("ep_b", false), pace });
    // Each endpoint has the pace for itself.
    expect(takeAll(turns, 0).map(({ endpoint }) => endpoint)).toEqual(["ep_b"]);
    expect(turns.next(3000)?.endpoint).toBe("ep_b");
    expect([turns.waiting, turns.next(3000)]).toEqual([5, undefined]);
    turns.ended(busy, "fast");
    const first = turns.next(3000)!;
    expect([first.pace, turns.next(3000)]).toEqual([pace, undefined]);
    turns.ended(first, "fast");
    expect([turns.next(3000), turns.nextAt()]).toEqual([undefined, 3090]);
    const fresh = aJob("ep_a");
    turns.add(fresh);
    expect(turns.next(3000)).toBe(fresh);
    turns.ended(fresh, "fast");
    expect(turns.next(3090)?.pace).toBe(pace);
    expect(turns.forget("ep_a")).toHaveLength(3);
    expect(turns.waiting).toBe(0);
  });

  it("stop at a ceiling that comes down while deliveries wait", () => {
    const turns = new Turns(256, 1000);
    for (let i = 0; i < 9; i++) turns.add(aJob("ep_a"));
    const first = turns.next(0)!;
    turns.setCeiling("ep_a", 1);
    expect(turns.next(0)).toBeUndefined();
    turns.ended(first, "fast");
    expect(takeAll(turns)).toHaveLength(1);
  });

  it("go by a new rate at once, and by none when it is taken away", () => {
    const turns = new Turns(256, 1000);
    turns.setRate("ep_a", 0.001, 0);
    for (let i = 0; i < 10; i++) turns.add(aJob("ep_a"));
    expect(takeAll(turns, 0)).toHaveLength(1);
    expect(turns.nextAt()).toBeCloseTo(999_990);
    turns.setRate("ep_a", 10, 1000);
    expect(turns.next(1000)).toBeUndefined();
    expect(turns.nextAt()).toBeCloseTo(1090, 0);
    for (let now = 1000; now <= 2000; now++) takeAll(turns, now);
    expect(turns.waiting).toBe(0);
    for (let i = 0; i < 3; i++) turns.add(aJob("ep_a"));
    turns.setRate("ep_a", null, 1000);
    expect(takeAll(turns, 1000)).toHaveLength(3);
  });
});
