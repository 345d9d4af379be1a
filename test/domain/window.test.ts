import { describe, expect, it } from "vitest";
import { BRIEF, periodOf, WINDOWS } from "../../src/domain/time/window.ts";

const at = (text: string) => Date.parse(text);
const [HOUR, DAY] = [3_600_000, 86_400_000];

describe("the period of a window", () => {
  it("begins at whole steps, and ends with the minute that is not over", () => {
    const { since, until, stepMs } = periodOf(BRIEF, at("2026-11-20T09:55:30.123Z"));
    expect([since, until, stepMs]).toEqual([at("2026-11-19T10:00Z"), at("2026-11-20T09:56Z"), HOUR]);
  });

  it.each(Object.entries(WINDOWS))("of %s has the same parts for each moment within a step", (_, { length, step }) => {
    const start = at("2026-11-20T08:00Z");
    for (const now of [start, start + 1, start + step - 1])
      expect(periodOf({ length, step }, now).since).toBe(start + step - length);
    expect(length % step).toBe(0);
    expect(length).toBeLessThanOrEqual(7 * DAY);
  });
});
