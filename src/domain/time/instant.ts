/** Converts instants from and to text: reads RFC 3339, and writes ISO 8601 in UTC with milliseconds. */

let lastInstant = Number.NaN;
let lastText = "";

/** Remembers the last one: events that are published together usually share an instant, and each is written twice. */
export function formatInstant(instant: number): string {
  if (instant !== lastInstant) {
    lastText = new Date(instant).toISOString();
    lastInstant = instant;
  }
  return lastText;
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/**
 * Returns epoch milliseconds, cutting off finer digits. Null for anything except an existing instant of the years 0000
 * to 9999 UTC.
 */
export function parseInstant(text: string): number | null {
  const match = RFC3339.exec(text);
  if (match === null || !isDay(Number(match[1]), Number(match[2]), Number(match[3]))) return null;
  const instant = Date.parse(text.toUpperCase());
  // An offset may move the instant out of the years that ISO 8601 writes with four digits, but the envelope's
  // created_at has a fixed width.
  return new Date(instant).toISOString().length === 24 ? instant : null;
}

export function formatInstantOrNull(instant: number | null): string | null {
  return instant === null ? null : formatInstant(instant);
}

/** Date.parse takes 2026-02-30 for the second of March. */
export function isDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
