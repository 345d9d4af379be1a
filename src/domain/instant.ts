/** How instants are written: ISO 8601, UTC, milliseconds. */

let lastInstant = Number.NaN;
let lastText = "";

/** Remembers the last one: what is published together mostly has one instant, and each is written twice. */
export function formatInstant(instant: number): string {
  if (instant !== lastInstant) {
    lastText = new Date(instant).toISOString();
    lastInstant = instant;
  }
  return lastText;
}
