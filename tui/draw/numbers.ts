/** Formats ages, durations and counts for people, in ASCII. */

const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
] as const;

/** Returns only the largest unit, so that an age of over a minute is redrawn once a minute rather than each second. */
export function age(ms: number): string {
  for (const [size, unit] of UNITS) if (ms >= size) return `${Math.floor(ms / size)}${unit}`;
  return "0s";
}

/** Returns two units: `2h10m`. */
export function longAge(ms: number): string {
  for (const [index, [size, unit]] of UNITS.entries()) {
    if (ms < size) continue;
    const [next, nextUnit] = UNITS[index + 1] ?? [1, ""];
    const rest = nextUnit === "" ? 0 : Math.floor((ms % size) / next);
    return `${Math.floor(ms / size)}${unit}${rest > 0 ? `${String(rest).padStart(2, "0")}${nextUnit}` : ""}`;
  }
  return "0s";
}

/** Formats a duration. */
export function tookText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : longAge(ms);
}

export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

/** Formats a count in at most six columns: `99,999`, `1,234k`, `99.9M`. */
export function shortCount(count: number): string {
  if (count < 100_000) return countText(count);
  return count < 10_000_000
    ? `${countText(Math.floor(count / 1000))}k`
    : `${countText(Math.floor(count / 100_000) / 10)}M`;
}

/** Returns `11-20 09:55:00` for an instant of the API, in UTC. */
export function shortInstant(instant: string): string {
  return instant.slice(5, 19).replace("T", " ");
}

/** Returns `evt_…14y5rmma`. */
export function shortId(id: string): string {
  const [prefix, body] = id.split("_", 2);
  return body === undefined || body.length <= 8 ? id : `${prefix}_…${body.slice(-8)}`;
}
