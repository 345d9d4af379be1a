import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EvenPace, TokenBucket } from "../../src/domain/time/token-bucket.ts";

/** Takes all tokens that are available now and returns their number. */
function takeAll(bucket: TokenBucket, burst: number, now: number): number {
  let taken = 0;
  for (; bucket.readyAt(burst) <= now; taken++) bucket.take(now);
  return taken;
}

describe("a token bucket", () => {
  it("is full at first, and fills up again to its burst at the given pace", () => {
    const bucket = new TokenBucket(10);
    expect(takeAll(bucket, 10, 0)).toBe(10);
    expect(bucket.readyAt(10)).toBe(100);
    expect(takeAll(bucket, 10, 99)).toBe(0);
    expect(takeAll(bucket, 10, 350)).toBe(3);
    expect(takeAll(bucket, 10, 60_000)).toBe(10);
  });

  it("gives one token in five seconds at a rate of 0.2", () => {
    const bucket = new TokenBucket(0.2);
    expect(takeAll(bucket, 1, 1000)).toBe(1);
    expect(bucket.readyAt(1)).toBe(6000);
    expect(takeAll(bucket, 1, 5999)).toBe(0);
    expect(takeAll(bucket, 1, 6000)).toBe(1);
  });

  it("carries what is missing over to a new rate, at most as much as that would save up", () => {
    const faster = new TokenBucket(0.001);
    faster.take(0);
    faster.setRate(10, 0);
    expect(faster.readyAt(1)).toBe(100);
    const slower = new TokenBucket(100);
    expect(takeAll(slower, 100, 0)).toBe(100);
    slower.setRate(0.5, 0);
    expect(slower.readyAt(1)).toBe(2000);
  });

  it("takes the smallest rate there is for one token and no more", () => {
    const bucket = new TokenBucket(Number.MIN_VALUE);
    bucket.take(0);
    expect(bucket.readyAt(1)).toBeGreaterThan(1e15);
    bucket.setRate(1, 0);
    expect(bucket.readyAt(1)).toBe(1000);
  });

  it("never gives more in any window of time than the rate and one burst, and no less when asked all the time", () => {
    const rate = fc.oneof(fc.double({ min: 0.01, max: 2, noNaN: true }), fc.double({ min: 1, max: 500, noNaN: true }));
    const pauses = fc.array(fc.double({ min: 0, max: 3000, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(rate, pauses, (perSecond, pauses) => {
        const bucket = new TokenBucket(perSecond);
        const burst = Math.max(1, perSecond);
        let now = 0;
        // The model is the usual bucket, to which tokens are added as time passes.
        let tokens = burst;
        for (const pause of pauses) {
          now += pause;
          tokens = Math.min(burst, tokens + (pause * perSecond) / 1000);
          const taken = takeAll(bucket, burst, now);
          expect(taken).toBeLessThanOrEqual(tokens + 1e-6);
          expect(taken).toBeGreaterThan(tokens - 1 - 1e-6);
          tokens -= taken;
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("an even pace", () => {
  const rates = fc.oneof(
    fc.double({ min: 0.01, max: 3, noNaN: true }),
    fc.double({ min: 1, max: 1000, noNaN: true }),
    fc.integer({ min: 1, max: 1000 }),
  );
  /**
   * Returns the times of starts from `from` to `until` for a timer that fires late, with as many starts each time as
   * the pace allows.
   */
  function startsOf(pace: EvenPace, from: number, until: number, late: () => number): number[] {
    const starts: number[] = [];
    for (let now = from; now < until; now = Math.max(now, Math.ceil(pace.readyAt)) + late()) {
      for (; pace.readyAt <= now; starts.push(now)) pace.take(now);
    }
    return starts;
  }
  /** Returns the largest number of starts in any second. */
  function mostIn(starts: readonly number[]): number {
    let [most, first] = [0, 0];
    starts.forEach((at, last) => {
      while (starts[first]! <= at - 1000) first++;
      most = Math.max(most, last - first + 1);
    });
    return most;
  }

  it("gives no second more than its allowance and one, however late each timer is and whenever nothing waits", () => {
    const pauses = fc.array(fc.tuple(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 100, max: 3000 })), {
      maxLength: 4,
    });
    const lateness = fc.infiniteStream(fc.oneof({ arbitrary: fc.nat({ max: 5 }), weight: 9 }, fc.nat({ max: 400 })));
    fc.assert(
      fc.property(rates, pauses, lateness, (perSecond, pauses, lateness) => {
        const pace = new EvenPace(perSecond);
        const late = () => lateness.next().value as number;
        let now = 0;
        const starts: number[] = [];
        for (const [pause, run] of [[0, 1500] as const, ...pauses]) {
          now += pause;
          starts.push(...startsOf(pace, now, now + run, late));
          now += run + 400;
        }
        expect(mostIn(starts)).toBeLessThanOrEqual(perSecond + 1);
      }),
      { numRuns: 300 },
    );
  });

  it("keeps to that bound when the pace is changed to a lower one and back", () => {
    const pace = new EvenPace(100);
    startsOf(pace, 0, 1000, () => 0);
    pace.setRate(2, 1000);
    expect(startsOf(pace, 1000, 3000, () => 0).length).toBeLessThanOrEqual(5);
    pace.setRate(100, 3000);
    expect(mostIn(startsOf(pace, 3000, 6000, () => 0))).toBeLessThanOrEqual(101);
  });

  it.each([0.2, 1, 2.5, 10, 50, 124, 200, 500])(
    "comes to its rate (%d) though each timer is 3 ms late",
    (perSecond) => {
      const seconds = 60;
      const starts = startsOf(new EvenPace(perSecond), 0, seconds * 1000, () => 3);
      expect(starts.length / seconds).toBeGreaterThan(0.985 * perSecond);
      const gaps = starts.slice(2).map((at, place) => at - starts[place + 1]!);
      // Starts are spread evenly: no gap is as long as two intervals.
      expect(Math.max(...gaps)).toBeLessThan(2000 / perSecond + 8);
    },
  );
});
