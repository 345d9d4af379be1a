/** The windows of statistics: how far back they look, and the parts of their series. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The length of each window and of the parts of its series, in milliseconds. */
export const WINDOWS = {
  "5m": { length: 5 * MINUTE, step: MINUTE },
  "1h": { length: HOUR, step: MINUTE },
  "6h": { length: 6 * HOUR, step: 5 * MINUTE },
  "24h": { length: 24 * HOUR, step: 15 * MINUTE },
  "7d": { length: 168 * HOUR, step: 2 * HOUR },
} as const;

export type WindowName = keyof typeof WINDOWS;

/** Lists show many endpoints, so each gets fewer parts: a day, by hours. */
export const BRIEF = { length: 24 * HOUR, step: HOUR } as const;

/**
 * Returns the parts of a window that end with the one that is not over. They begin at whole steps, so the same moment is
 * in the same part whenever somebody asks.
 */
export function periodOf({ length, step }: { readonly length: number; readonly step: number }, now: number) {
  return {
    since: Math.floor(now / step + 1) * step - length,
    until: Math.floor(now / MINUTE + 1) * MINUTE,
    stepMs: step,
  };
}
