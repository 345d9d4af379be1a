/** Describes how far a host's clock differs from the clock that webhookd uses. */

/** Synchronised clocks differ by less than this. */
const TOLERATED_MS = 1000;

/** Returns the difference in words, such as "3.2 s ahead of". Null if it does not matter, or is unknown. */
export function skewText(aheadMs: number | null): string | null {
  if (aheadMs === null || Math.abs(aheadMs) <= TOLERATED_MS) return null;
  return `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? "ahead of" : "behind"}`;
}
