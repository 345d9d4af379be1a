import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../../src/config/schema.ts";
import { nextDelay } from "../../src/domain/deliveries/due-time.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";

describe("the ladder", () => {
  it("is by default as specified", () => {
    expect(DEFAULTS["retry.delays"]).toEqual(SPECIFIED_LADDER);
  });

  it("gives six retries and then nothing", () => {
    const delays = [0, 1, 2, 3, 4, 5, 6, 7].map((retry) => nextDelay(SPECIFIED_LADDER, retry));
    expect(delays).toEqual([...SPECIFIED_LADDER, null, null]);
  });

  it("may be empty: one attempt and no retry", () => {
    expect(nextDelay([], 0)).toBeNull();
  });
});
