/**
 * Waits while the daemon asks for fewer requests. All requests of the page wait together, and the page says so, because
 * otherwise each would only be refused again.
 */
import { after, now } from "./clock.ts";

/** The pause if the daemon does not say how long. */
const UNSAID_MS = 2000;
const LONGEST_MS = 60_000;

let endsAt = 0;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** The time at which requests go on, in epoch milliseconds. 0 if nothing waits. */
export function waitsUntil(): number {
  return endsAt;
}

export function onWait(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Called when a request was refused because there were too many. */
export function slowDown(askedMs: number | undefined): void {
  const wait = Math.min(askedMs ?? UNSAID_MS, LONGEST_MS);
  const until = now() + wait;
  if (until <= endsAt) return;
  endsAt = until;
  after(wait, () => {
    if (endsAt !== until) return;
    endsAt = 0;
    tell();
  });
  tell();
}

/** Resolves once requests may be sent. */
export function clear(signal: AbortSignal | undefined): Promise<void> {
  if (endsAt === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = onWait(() => {
      if (endsAt !== 0) return;
      stop();
      resolve();
    });
    signal?.addEventListener("abort", () => (stop(), resolve()), { once: true });
  });
}
