import { describe, expect, it } from "vitest";
import { FairQueue } from "../../../src/delivery/send/fair-queue.ts";
import { aSend, takeAll } from "./fair-queue-model.ts";

describe("a fair queue", () => {
  it("goes round the endpoints, so that the first delivery of a newcomer is next but one", () => {
    const queue = new FairQueue(256, 1000);
    for (let i = 0; i < 100; i++) queue.add(aSend("ep_busy"));
    queue.next(0);
    queue.add(aSend("ep_new"));
    expect([queue.next(0)?.endpoint, queue.next(0)?.endpoint]).toContain("ep_new");
  });

  it("stops at the endpoint's cap and goes on when an attempt ends", () => {
    const queue = new FairQueue(4, 1000);
    for (let i = 0; i < 10; i++) queue.add(aSend("ep_a"));
    const first = takeAll(queue);
    expect(first).toHaveLength(4);
    queue.ended(first[0]!, "slow");
    expect(takeAll(queue)).toHaveLength(1);
  });

  it("starts in the order of arrival", () => {
    const queue = new FairQueue(4, 1000);
    const sends = [aSend("ep_a"), aSend("ep_a"), aSend("ep_a")];
    for (const send of sends) queue.add(send);
    expect(takeAll(queue)).toEqual(sends);
  });

  it("grows an endpoint's cap with fast answers up to its ceiling, and halves it with time-outs down to one", () => {
    const queue = new FairQueue(20, 1000);
    for (let i = 0; i < 200; i++) queue.add(aSend("ep_a"));
    const inFlight = takeAll(queue);
    expect(inFlight).toHaveLength(16);
    for (let i = 0; i < 30; i++) {
      queue.ended(inFlight.shift()!, "fast");
      inFlight.push(...takeAll(queue));
    }
    expect(queue.cap("ep_a")).toBe(20);
    for (let i = 0; i < 5; i++) queue.ended(inFlight.shift()!, "silent");
    expect(queue.cap("ep_a")).toBe(1);
  });

  it("gives the backlog and the fresh deliveries at least half each while both wait", () => {
    const queue = new FairQueue(8, 1000);
    for (let i = 0; i < 50; i++) queue.add(aSend("ep_a", false));
    for (let i = 0; i < 50; i++) queue.add(aSend("ep_a", true));
    const first = takeAll(queue);
    expect(first.filter((send) => send.fresh)).toHaveLength(4);
    for (const send of first.filter((one) => one.fresh)) queue.ended(send, "slow");
    expect(takeAll(queue).every((send) => send.fresh)).toBe(true);
  });

  it("gives back what an endpoint had waiting, and keeps counting what is in flight", () => {
    const queue = new FairQueue(2, 1000);
    for (let i = 0; i < 5; i++) queue.add(aSend("ep_a"));
    const inFlight = takeAll(queue);
    expect(queue.forget("ep_a")).toHaveLength(3);
    expect(queue.waiting).toBe(0);
    queue.add(aSend("ep_a"));
    expect(queue.next(0)).toBeUndefined();
    queue.ended(inFlight[0]!, "slow");
    expect(queue.next(0)).toBeDefined();
  });

  it("alternates between fresh and backlog while only one may be in flight", () => {
    const queue = new FairQueue(1, 1000);
    for (let i = 0; i < 4; i++) queue.add(aSend("ep_a", false));
    for (let i = 0; i < 4; i++) queue.add(aSend("ep_a", true));
    const order: boolean[] = [];
    for (let send = queue.next(0); send !== undefined; send = queue.next(0)) {
      order.push(send.fresh);
      queue.ended(send, "slow");
    }
    expect(order).toEqual([true, false, true, false, true, false, true, false]);
  });

  it("brings the cap back to the initial one within a few answers, slow ones too, and takes no fault of ours into account", () => {
    const queue = new FairQueue(256, 1000);
    for (let i = 0; i < 100; i++) queue.add(aSend("ep_a"));
    const inFlight = takeAll(queue);
    for (const send of inFlight.splice(0, 15)) queue.ended(send, "silent");
    const caps = (["fast", "slow", "fast", "unknown", "fast", "fast", "slow", "fast"] as const).map((speed) => {
      queue.ended(inFlight.shift()!, speed);
      inFlight.push(...takeAll(queue));
      return queue.cap("ep_a");
    });
    expect(caps).toEqual([2, 3, 6, 6, 12, 16, 16, 17]);
  });

  it("lets dead receivers hold a quarter of all that is in flight between them, until they answer", () => {
    const queue = new FairQueue(16, 40);
    const dead = Array.from({ length: 20 }, (_, i) => `ep_dead_${i}`);
    for (const endpoint of dead) {
      for (let i = 0; i < 3; i++) {
        queue.add(aSend(endpoint));
        queue.ended(queue.next(0)!, "silent");
      }
    }
    for (const endpoint of dead) for (let i = 0; i < 5; i++) queue.add(aSend(endpoint));
    const hanging = takeAll(queue);
    expect(hanging).toHaveLength(10);
    for (let i = 0; i < 20; i++) queue.add(aSend(`ep_live_${i}`));
    expect(takeAll(queue)).toHaveLength(20);
    queue.ended(hanging[0]!, "silent");
    expect(takeAll(queue)).toHaveLength(1);
    queue.ended(hanging[1]!, "fast");
    expect(takeAll(queue).map(({ endpoint }) => endpoint)).toContain(hanging[1]!.endpoint);
  });

  it("starts 500 attempts a second to dead receivers at most, however soon those end, and says when to go on", () => {
    const queue = new FairQueue(16, 1000);
    for (let i = 0; i < 2000; i++) queue.add(aSend("ep_refusing"));
    const startAll = (now: number): number => {
      let started = 0;
      for (let send = queue.next(now); send !== undefined; send = queue.next(now), started++)
        queue.ended(send, "silent");
      return started;
    };
    expect(startAll(0)).toBe(3 + 500);
    expect(queue.nextAt()).toBe(2);
    queue.add(aSend("ep_live"));
    expect(queue.next(0)?.endpoint).toBe("ep_live");
    expect(startAll(100)).toBe(50);
    queue.forget("ep_refusing");
    expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
  });

  it("holds an endpoint to its rate from the first start on, and says when it may go on", () => {
    const queue = new FairQueue(256, 1000);
    queue.setRate("ep_a", 4, 0);
    for (let i = 0; i < 20; i++) queue.add(aSend("ep_a"));
    for (let i = 0; i < 3; i++) queue.add(aSend("ep_b"));
    expect(takeAll(queue, 0)).toHaveLength(4);
    // The timer is set a little early, so that firing late costs no start.
    expect(queue.nextAt()).toBe(240);
    expect(takeAll(queue, 239)).toEqual([]);
    expect(takeAll(queue, 240)).toHaveLength(1);
    expect(queue.nextAt()).toBe(490);
    expect(takeAll(queue, 10_000)).toHaveLength(1);
    queue.forget("ep_a");
    expect(queue.nextAt()).toBe(Number.POSITIVE_INFINITY);
  });

  it("starts what is made for a job at its pace, and none sooner for having waited for a slot", () => {
    const queue = new FairQueue(256, 1000);
    queue.setCeiling("ep_a", 1);
    const busy = aSend("ep_a");
    queue.add(busy);
    expect(queue.next(0)).toBe(busy);
    const pace = { job: "job_1", perSecond: 10 };
    for (let i = 0; i < 5; i++) queue.add({ ...aSend("ep_a", false), pace });
    for (let i = 0; i < 2; i++) queue.add({ ...aSend("ep_b", false), pace });
    // Each endpoint has its own pace.
    expect(takeAll(queue, 0).map(({ endpoint }) => endpoint)).toEqual(["ep_b"]);
    expect(queue.next(3000)?.endpoint).toBe("ep_b");
    expect([queue.waiting, queue.next(3000)]).toEqual([5, undefined]);
    queue.ended(busy, "fast");
    const first = queue.next(3000)!;
    expect([first.pace, queue.next(3000)]).toEqual([pace, undefined]);
    queue.ended(first, "fast");
    expect([queue.next(3000), queue.nextAt()]).toEqual([undefined, 3090]);
    const fresh = aSend("ep_a");
    queue.add(fresh);
    expect(queue.next(3000)).toBe(fresh);
    queue.ended(fresh, "fast");
    expect(queue.next(3090)?.pace).toBe(pace);
    expect(queue.forget("ep_a")).toHaveLength(3);
    expect(queue.waiting).toBe(0);
  });

  it("goes on with what is made for a job when it comes again, taken back while it waited for a slot", () => {
    const queue = new FairQueue(256, 1000);
    queue.setCeiling("ep_a", 1);
    const busy = aSend("ep_a");
    queue.add(busy);
    expect(queue.next(0)).toBe(busy);
    const sends = [1, 2, 3].map(() => ({ ...aSend("ep_a", false), pace: { job: "job_1", perSecond: 10 } }));
    for (const send of sends) queue.add(send);
    expect(queue.next(0)).toBeUndefined();
    expect(queue.forget("ep_a")).toHaveLength(3);
    for (const send of sends) queue.add(send);
    queue.ended(busy, "fast");
    for (let now = 0; now <= 1000; now += 100) takeAll(queue, now).forEach((send) => queue.ended(send, "fast"));
    expect(queue.waiting).toBe(0);
  });

  it("stops at a ceiling that comes down while deliveries wait", () => {
    const queue = new FairQueue(256, 1000);
    for (let i = 0; i < 9; i++) queue.add(aSend("ep_a"));
    const first = queue.next(0)!;
    queue.setCeiling("ep_a", 1);
    expect(queue.next(0)).toBeUndefined();
    queue.ended(first, "fast");
    expect(takeAll(queue)).toHaveLength(1);
  });

  it("goes by a new rate at once, and by none when it is taken away", () => {
    const queue = new FairQueue(256, 1000);
    queue.setRate("ep_a", 0.001, 0);
    for (let i = 0; i < 10; i++) queue.add(aSend("ep_a"));
    expect(takeAll(queue, 0)).toHaveLength(1);
    expect(queue.nextAt()).toBeCloseTo(999_990);
    queue.setRate("ep_a", 10, 1000);
    expect(queue.next(1000)).toBeUndefined();
    expect(queue.nextAt()).toBeCloseTo(1090, 0);
    for (let now = 1000; now <= 2000; now++) takeAll(queue, now);
    expect(queue.waiting).toBe(0);
    for (let i = 0; i < 3; i++) queue.add(aSend("ep_a"));
    queue.setRate("ep_a", null, 1000);
    expect(takeAll(queue, 1000)).toHaveLength(3);
  });
});
