/** The daemon's time, because a countdown that follows a wrong clock in the browser would be wrong too. */

let aheadMs = 0;

/** A smaller difference is due to the response's duration, and to headers that count in seconds. */
export const NEGLIGIBLE_MS = 3000;

export function setByDaemon(date: string | null): void {
  const serverNow = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(serverNow)) return;
  const off = serverNow - Date.now();
  aheadMs = Math.abs(off) < NEGLIGIBLE_MS ? 0 : off;
}

export function now(): number {
  return Date.now() + aheadMs;
}

/** Calls once; the returned function cancels it. */
export function after(delayMs: number, run: () => void): () => void {
  // Browsers treat a longer delay as zero.
  const timer = setTimeout(run, Math.min(delayMs, 2 ** 31 - 1));
  return () => clearTimeout(timer);
}

export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(delayMs, resolve);
    signal.addEventListener("abort", () => (cancel(), resolve()), { once: true });
  });
}
