import { describe, expect, it } from "vitest";
import {
  afterAttempt,
  afterEnabling,
  FAILING_MS,
  FAILURES_IN_A_ROW,
  isFailing,
  NO_STREAK,
  type Streak,
} from "../../src/domain/endpoints/streak.ts";

type Attempt = Parameters<typeof afterAttempt>[1];

const attempt = (outcome: "succeeded" | "failed" | "interrupted", startedAt: number, trigger = "ladder"): Attempt => ({
  claim: { trigger: trigger as Attempt["claim"]["trigger"] },
  startedAt,
  outcome: { outcome, durationMs: 12.4 },
});

const after = (attempts: readonly Attempt[], streak: Streak = NO_STREAK) => attempts.reduce(afterAttempt, streak);

describe("the streak of an endpoint", () => {
  it("counts failures in a row from the end of the first, and ends with a success", () => {
    const failed = after([attempt("failed", 1000), attempt("failed", 2000, "manual")]);
    expect(failed).toEqual({ lastSuccessAt: null, lastFailureAt: 2012, consecutiveFailures: 2, failingSince: 1012 });
    const succeeded = after([attempt("succeeded", 3000, "replay")], failed);
    expect(succeeded).toEqual({ ...NO_STREAK, lastSuccessAt: 3012, lastFailureAt: 2012 });
    const again = after([attempt("failed", 4000)], succeeded);
    expect(again).toMatchObject({ lastSuccessAt: 3012, consecutiveFailures: 1, failingSince: 4012 });
  });

  it("is the same object after a test or an interruption, whatever they came to", () => {
    const failed = after([attempt("failed", 1000)]);
    for (const one of [
      attempt("succeeded", 2000, "test"),
      attempt("failed", 2000, "test"),
      attempt("interrupted", 1),
    ]) {
      expect(afterAttempt(failed, one)).toBe(failed);
    }
  });

  it("begins anew when the endpoint is enabled, and remembers when it last succeeded and failed", () => {
    const streak = after([attempt("succeeded", 0), attempt("failed", 1000)]);
    expect(afterEnabling(streak)).toEqual({ ...NO_STREAK, lastSuccessAt: 12, lastFailureAt: 1012 });
  });
});

describe("an endpoint is failing", () => {
  it.each([
    ["after twenty failures in a row", FAILURES_IN_A_ROW, 0, true],
    ["not after nineteen", FAILURES_IN_A_ROW - 1, 0, false],
    ["once its failures have lasted five minutes", 1, FAILING_MS, true],
    ["not a millisecond before", 1, FAILING_MS - 1, false],
    ["not without a failure, however long ago something was", 0, FAILING_MS, false],
  ])("%s", (_, failures, lastsMs, expected) => {
    expect(isFailing(failures, 1000, 1000 + lastsMs)).toBe(expected);
  });

  it("not if there is no first failure", () => {
    expect(isFailing(FAILURES_IN_A_ROW, null, 1000)).toBe(false);
  });

  it("by the thresholds that the documentation names", () => {
    expect([FAILURES_IN_A_ROW, FAILING_MS]).toEqual([20, 300_000]);
  });
});
