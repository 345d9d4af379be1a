/** The events that a filter is tried on, by the reader's calendar. */

export const PERIODS = {
  newest: "period.newest",
  today: "period.today",
  yesterday: "period.yesterday",
  week: "period.week",
} as const;
export type Period = keyof typeof PERIODS;

/** Returns the bounds as the parameters of a list. `now` is epoch milliseconds. */
export function boundsOf(period: Period, now: number): { readonly since?: string; readonly until?: string } {
  const midnight = (daysAgo: number) => {
    const day = new Date(now);
    // Not a multiple of 24 hours: a day may have 23 or 25.
    return new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysAgo).toISOString();
  };
  switch (period) {
    case "newest":
      return {};
    case "today":
      return { since: midnight(0) };
    case "yesterday":
      return { since: midnight(1), until: midnight(0) };
    case "week":
      return { since: midnight(7) };
  }
}
