import { describe, expect, it } from "vitest";
import { Deadlines, Timed } from "../../../src/delivery/http/egress.ts";
import { ManualClock } from "../../harness/clock.ts";

class Entry extends Timed {
  expiredAt: number | null = null;
  readonly #clock: ManualClock;

  constructor(clock: ManualClock) {
    super();
    this.#clock = clock;
  }

  override expire(): void {
    this.expiredAt = this.#clock.monotonic();
  }
}

/** Adds entries, 10 ms apart, to a list with a limit of 100 ms. */
function entriesOf(count: number) {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock, 100);
  const entries = Array.from({ length: count }, () => {
    const entry = new Entry(clock);
    deadlines.add(entry);
    clock.advance(10);
    return entry;
  });
  return { clock, deadlines, entries };
}

describe("a list of deadlines", () => {
  it("expires each entry once, when its own limit has passed", () => {
    const { clock, entries } = entriesOf(3);
    clock.advance("1m");
    expect(entries.map((entry) => entry.expiredAt)).toEqual([100, 110, 120]);
  });

  it.each([0, 1, 2])("forgets an entry that was removed from place %i", (place) => {
    const { clock, deadlines, entries } = entriesOf(3);
    deadlines.remove(entries[place]!);
    deadlines.remove(entries[place]!);
    clock.advance("1m");
    expect(entries.map((entry) => entry.expiredAt)).toEqual([100, 110, 120].with(place, null as never));
  });

  it("starts again after it was empty", () => {
    const { clock, deadlines } = entriesOf(1);
    clock.advance("1m");
    const late = new Entry(clock);
    deadlines.add(late);
    clock.advance(100);
    expect(late.expiredAt).toBe(clock.monotonic());
  });

  it("lets answers that came while the process stood still be read first", () => {
    const timers: (() => void)[] = [];
    let now = 0;
    const clock = Object.assign(new ManualClock(), {
      monotonic: () => now,
      after: (_delayMs: number, run: () => void) => {
        timers.push(run);
        return () => {};
      },
    });
    const deadlines = new Deadlines(clock, 100);
    const [answered, silent] = [new Entry(clock), new Entry(clock)];
    deadlines.add(answered);
    deadlines.add(silent);
    now = 5000;
    timers.shift()!();
    expect(answered.expiredAt).toBe(null);
    deadlines.remove(answered);
    timers.shift()!();
    expect([answered.expiredAt, silent.expiredAt]).toEqual([null, 5000]);
  });
});
