/** Long work in steps that nobody notices. */
import type { Clock } from "../clock.ts";

export interface Pace {
  readonly clock: Clock;
  /** Aborted when the daemon stops. */
  readonly signal: AbortSignal;
}

/** For each millisecond of work, so many of rest: most commits then have none of the work in them. */
const REST = 8;
const MIN_REST_MS = 1;
/** After a step that hit upon a stall, the work must not fall behind what comes in. */
const MAX_REST_MS = 250;

/** Takes steps until one answers that there are no more, with a rest after each. */
export async function inSteps({ clock, signal }: Pace, step: () => Promise<boolean>): Promise<void> {
  while (!signal.aborted) {
    const begun = clock.monotonic();
    if (!(await step())) return;
    const rest = Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, (clock.monotonic() - begun) * REST));
    await new Promise<void>((resolve) => void clock.after(rest, resolve));
  }
}
