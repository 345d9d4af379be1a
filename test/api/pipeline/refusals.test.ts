import { expect, it } from "vitest";
import { Refusals } from "../../../src/api/pipeline/limits.ts";
import { ManualClock } from "../../harness/clock.ts";

/** When each of so many refusals was answered, in milliseconds. */
function aLoop() {
  const clock = new ManualClock();
  const refusals = new Refusals(clock);
  const refuse = (who: string, count: number) => {
    const at: number[] = [];
    for (let each = 0; each < count; each++) {
      const turn = refusals.turn(who);
      if (turn === null) at.push(clock.monotonic());
      else void turn.then(() => at.push(clock.monotonic()));
    }
    return at;
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await new Promise(setImmediate);
    }
  };
  return { refuse, pass };
}

it("answers who repeats refused requests in a loop one after the other, and nobody else later", async () => {
  const { refuse, pass } = aLoop();
  expect(refuse("loop", 128)).toHaveLength(128);
  const later = refuse("loop", 3);
  expect(later).toEqual([]);
  expect(refuse("other", 10)).toHaveLength(10);
  await pass(1000);
  expect(later).toEqual([40, 80, 120]);
  // What may be answered at once comes back at the same pace.
  await pass(6000);
  expect(refuse("loop", 128)).toHaveLength(128);
});

it("lets nobody wait for long, and only so many at once", async () => {
  const { refuse, pass } = aLoop();
  const answered = refuse("loop", 1000);
  expect(answered).toHaveLength(1000 - 128);
  await pass(1500);
  expect(answered).toHaveLength(1000);
});
