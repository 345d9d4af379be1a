import { expect, it } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { Waker } from "../../src/delivery/due-reader.ts";
import { VirtualClock } from "../sim/clock.ts";

/** A delivery is due at once, and no pass takes it. */
function world(pass: (clock: Clock) => Promise<void>) {
  const virtual = new VirtualClock();
  const clock = virtual.forProcess(() => true);
  const due = { at: clock.now(), passes: 0 };
  const waker = new Waker({
    clock,
    pass: () => {
      due.passes++;
      return pass(clock);
    },
    nextDueAt: () => due.at,
    onRest: () => {},
    onError: () => {},
  });
  const timePasses = async (ms: number) => {
    await new Promise(setImmediate);
    for (const end = virtual.monotonic + ms; virtual.runNext(end);) await new Promise(setImmediate);
  };
  return { due, waker, timePasses };
}

it.each([
  ["failed", () => Promise.reject(new Error("the disk"))],
  ["did nothing, because deliveries are on trial", () => Promise.resolve()],
])("deliveries left by a pass that %s wait for the next tick", async (_, pass) => {
  const { due, waker, timePasses } = world(pass);
  waker.wake();
  await timePasses(900);
  expect(due.passes).toBe(1);
  waker.wake();
  await timePasses(0);
  expect(due.passes).toBe(2);
});

it("deliveries that fall due during a pass are read once it is over", async () => {
  const { due, waker, timePasses } = world((clock) => new Promise((resolve) => void clock.after(5, resolve)));
  waker.wake();
  due.at += 3;
  await timePasses(5);
  expect(due.passes).toBe(1);
  await timePasses(1);
  expect(due.passes).toBe(2);
});
