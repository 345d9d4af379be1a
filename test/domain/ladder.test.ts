import { describe, expect, it } from "vitest";
import { nextDelay, SPECIFIED_LADDER } from "../../src/domain/deliveries/due-time.ts";

describe("the ladder", () => {
  it("is 30 s, 2 min, 10 min, 1 h, 6 h, 24 h, as specified", () => {
    expect(SPECIFIED_LADDER).toEqual([30_000, 120_000, 600_000, 3_600_000, 21_600_000, 86_400_000]);
  });

  it("gives six retries and then nothing", () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7].map((retry) => nextDelay(SPECIFIED_LADDER, retry));
    expect(delays).toEqual([...SPECIFIED_LADDER, null, null]);
  });

  it("may be empty: one attempt and no retry", () => {
    expect(nextDelay([], 0)).toBeNull();
  });
});
