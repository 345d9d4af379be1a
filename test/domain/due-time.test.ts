import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { delayBefore, movedDue, staysUntil, type ClockChange } from "../../src/domain/deliveries/due-time.ts";

const LADDER = [30_000, 600_000];
const steps = fc.array(fc.integer({ min: -4_000_000, max: 4_000_000 }), { minLength: 1, maxLength: 4 });

/** Moves a due time as the store moves later ones: by one change of the clock after another. */
function moved(changes: readonly ClockChange[], dueAt: number, retry: number): number {
  return changes.reduce((due, change) => (due > staysUntil(change) ? movedDue(change, due, retry) : due), dueAt);
}

/** Returns changes of the clock, a second apart, and the time that the clock shows a second after the last of them. */
function set(by: readonly number[]): { readonly changes: readonly ClockChange[]; readonly now: number } {
  let now = 10_000_000_000;
  const changes = by.map((each): ClockChange => {
    now += 1000 + each;
    return { by: each, at: now, ladder: LADDER };
  });
  return { changes, now: now + 1000 };
}

describe("a due time, when the clock was set before it could be moved", () => {
  it("is now for what is published meanwhile, whatever the clock was set to", () => {
    fc.assert(
      fc.property(steps, (by) => {
        const { changes, now } = set(by);
        expect(moved(changes, now, 0)).toBeLessThanOrEqual(now);
      }),
    );
  });

  it.each([0, 1, 2])("comes its rung after the attempt, if that ended before: rung %i", (retry) => {
    fc.assert(
      fc.property(steps, (by) => {
        const { changes } = set(by);
        const endedAt = 10_000_000_000;
        const delay = delayBefore(LADDER, retry);
        // A delivery that was due before a change of the clock stays due.
        const left = delay - 1000 * by.length;
        const due = moved(changes, endedAt + delay, retry);
        const { at } = changes.at(-1)!;
        if (left > 0) expect(due).toBe(at + left);
        else expect(due).toBeLessThanOrEqual(at);
      }),
    );
  });
});
