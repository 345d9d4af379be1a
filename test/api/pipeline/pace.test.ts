import { expect, it } from "vitest";
import { type PaceRule, costOf, OF_REFUSALS, Pace } from "../../../src/api/pipeline/limits.ts";
import { ManualClock } from "../../harness/clock.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

/** `ask` and `loop` return lists of the times, in milliseconds, at which requests were answered. */
function aPace(allowance: Partial<PaceRule> = {}) {
  const clock = new ManualClock();
  const pace = new Pace(clock, { ...OF_REFUSALS, ...allowance });
  const ask = (who: string, count: number, cost = 1) => {
    const at: number[] = [];
    for (let each = 0; each < count; each++) {
      const turn = pace.turn(who, cost);
      if (turn === null) at.push(clock.monotonic());
      else unawaited(turn.then(() => at.push(clock.monotonic())));
    }
    return at;
  };
  /** Asks again as soon as it is answered, on this many connections. */
  const loop = (who: string, connections: number) => {
    const at: number[] = [];
    const again = async () => {
      for (;;) {
        await (pace.turn(who) ?? new Promise<void>((resolve) => clock.after(10, resolve)));
        at.push(clock.monotonic());
      }
    };
    for (let each = 0; each < connections; each++) unawaited(again());
    return at;
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
  };
  return { pace, clock, ask, loop, pass };
}

const within = (at: readonly number[], from: number, to: number) => at.filter((ms) => ms > from && ms <= to).length;

it("answers who repeats refused requests in a loop one after the other, and nobody else later", async () => {
  const { ask, pass } = aPace();
  expect(ask("loop", 128)).toHaveLength(128);
  const later = ask("loop", 3);
  expect(later).toEqual([]);
  expect(ask("other", 10)).toHaveLength(10);
  await pass(1000);
  expect(later).toEqual([40, 80, 120]);
  // The requests that may be answered at once come back at the same pace.
  await pass(6000);
  expect(ask("loop", 128)).toHaveLength(128);
});

it("lets nobody wait for their own pace for long", async () => {
  const { ask, pass } = aPace();
  const answered = ask("loop", 400);
  expect(answered).toHaveLength(128);
  await pass(1500);
  expect(answered).toHaveLength(400);
});

it("answers 500 a second, however many addresses ask", async () => {
  const { loop, pass } = aPace();
  const all = Array.from({ length: 300 }, (_, address) => loop(`address ${address}`, 1));
  await pass(10_000);
  const seconds = [5, 6, 7, 8, 9].map((second) =>
    all.reduce((sum, at) => sum + within(at, second * 1000, second * 1000 + 1000), 0),
  );
  for (const count of seconds) expect(count).toBeLessThanOrEqual(505);
  // Nor is the rate lower, and each address has its share.
  for (const count of seconds) expect(count).toBeGreaterThan(480);
  const shares = all.map((at) => within(at, 5000, 10_000));
  expect(Math.min(...shares)).toBeGreaterThan((0.5 * 2500) / 300);
  expect(Math.max(...shares)).toBeLessThan((2 * 2500) / 300);
});

it("lets no address with few requests wait for those of one with many", async () => {
  const { loop, ask, pass } = aPace();
  for (let address = 0; address < 20; address++) loop(`flood ${address}`, 50);
  await pass(8000);
  const began = 8000;
  const one = ask("one", 1);
  await pass(200);
  expect(one).toHaveLength(1);
  expect(one[0]! - began).toBeLessThanOrEqual(100);
});

it("counts a long answer as many short ones", async () => {
  expect(costOf(null)).toBe(1);
  expect(costOf("ok")).toBe(1);
  expect(costOf(new Uint8Array(160 * 1024))).toBe(10);
  const { ask, pass } = aPace({ atOnce: 100, perSecond: 20 });
  expect(ask("one", 12, costOf(new Uint8Array(160 * 1024)))).toHaveLength(10);
  expect(ask("other", 12)).toHaveLength(12);
  await pass(600);
});

it("lets nobody wait for long beside long answers", async () => {
  const { clock, ask, pass } = aPace();
  for (let address = 0; address < 20; address++) ask(`flood ${address}`, 20, costOf(new Uint8Array(4 << 20)));
  await pass(2000);
  const from = clock.monotonic();
  const one = ask("one", 1);
  await pass(1000);
  expect(one[0]! - from).toBeLessThanOrEqual(300);
});
