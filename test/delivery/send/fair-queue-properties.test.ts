import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue } from "../../../src/delivery/send/fair-queue.ts";
import type { Speed } from "../../../src/delivery/send/endpoint-queue.ts";
import { aSend, Model, takeAll } from "./fair-queue-model.ts";

type Step = (model: Model) => void;

const names = ["a", "b", "c", "d", "e"];
const name = fc.constantFrom(...names);
const speed: fc.Arbitrary<Speed> = fc.constantFrom("fast", "slow", "silent", "silent", "silent", "unknown");

const addStep = fc
  .record({ name, fresh: fc.boolean(), count: fc.integer({ min: 1, max: 12 }) })
  .map(({ name, fresh, count }): Step => (model) => {
    for (let i = 0; i < count; i++) model.add(name, fresh);
  });
const startStep = fc.integer({ min: 1, max: 30 }).map(
  (limit): Step =>
    (model) =>
      void model.start(limit),
);
const endStep = fc
  .record({ at: fc.nat(1000), count: fc.integer({ min: 1, max: 10 }), speed })
  .map(({ at, count, speed }): Step => (model) => {
    for (let i = 0; i < count; i++) model.end(at, speed);
  });
const forgetStep = name.map(
  (name): Step =>
    (model) =>
      model.forget(name),
);
const ceilingStep = fc.record({ name, ceiling: fc.option(fc.integer({ min: 1, max: 20 })) }).map(
  ({ name, ceiling }): Step =>
    (model) =>
      model.setCeiling(name, ceiling),
);
const rateStep = fc
  .record({ name, rate: fc.option(fc.oneof(fc.constantFrom(0.2, 1, 2.5, 1000), fc.double({ min: 0.001, max: 50 }))) })
  .map(
    ({ name, rate }): Step =>
      (model) =>
        model.setRate(name, rate),
  );
const timeStep = fc.oneof(fc.nat(20), fc.nat(10_000), fc.double({ min: 0, max: 2000, noNaN: true })).map(
  (ms): Step =>
    (model) =>
      void (model.now += ms),
);

const limits = fc.record({ ceiling: fc.integer({ min: 1, max: 32 }), maxInFlight: fc.integer({ min: 1, max: 64 }) });
const common = [
  { arbitrary: addStep, weight: 5 },
  { arbitrary: startStep, weight: 5 },
  { arbitrary: endStep, weight: 5 },
  { arbitrary: forgetStep, weight: 1 },
  { arbitrary: ceilingStep, weight: 2 },
];
const unlimited = fc.oneof(...common);
const anyStep = fc.oneof(...common, { arbitrary: rateStep, weight: 2 }, { arbitrary: timeStep, weight: 3 });

/** The model checks each step itself. In the end it must be able to start and end everything that is left. */
function holds(step: fc.Arbitrary<Step>, numRuns: number): void {
  fc.assert(
    fc.property(limits, fc.array(step, { maxLength: 60 }), speed, ({ ceiling, maxInFlight }, steps, last) => {
      const model = new Model(ceiling, maxInFlight);
      for (const take of steps) take(model);
      model.drain(last);
    }),
    { numRuns },
  );
}

describe("a fair queue, whatever happens in whatever order", () => {
  it("keeps to every cap, the dead receivers' share and the lanes' halves, goes round fairly and leaves nobody waiting", () => {
    holds(unlimited, 400);
  });

  it("keeps to every rate in any window of time, and says when the next may start", () => {
    holds(anyStep, 400);
  });

  it("forgets no more of idle endpoints than fits, and counts on rightly for those who come back", () => {
    const queue = new FairQueue(8, 1000);
    queue.setCeiling("limited", 2);
    const busy = Array.from({ length: 8 }, () => aSend("busy"));
    for (const send of busy) queue.add(send);
    expect(takeAll(queue)).toHaveLength(8);
    for (let i = 0; i < 40_000; i++) {
      queue.add(aSend(`ep_${i}`));
      queue.ended(queue.next(0)!, "fast");
    }
    expect(queue.endpoints).toBeLessThan(20_000);
    expect(queue.cap("limited")).toBe(2);
    queue.add(aSend("busy"));
    expect(queue.next(0)).toBeUndefined();
    queue.ended(busy[0]!, "slow");
    expect(queue.next(0)?.endpoint).toBe("busy");
    for (let i = 0; i < 9; i++) queue.add(aSend("ep_0"));
    expect(takeAll(queue)).toHaveLength(8);
  });
});
