/**
 * Durations (`100ms 30s 2m 1h 30d`) in milliseconds, sizes (`256KiB`) in bytes. One number and one unit, no fractions.
 */

const DURATIONS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

const SIZES = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
  ["B", 1],
] as const;

type Units = readonly (readonly [unit: string, factor: number])[];

/** Null if the text is not a duration, or has more milliseconds than an integer holds exactly. */
export function parseDuration(text: string): number | null {
  return parse(text, DURATIONS);
}

/** Prints up to a day in hours, as the specification writes `24h`. */
export function printDuration(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  return print(milliseconds, milliseconds <= 86_400_000 ? DURATIONS.slice(1) : DURATIONS);
}

export function parseSize(text: string): number | null {
  return parse(text, SIZES);
}

export function printSize(bytes: number): string {
  return bytes === 0 ? "0B" : print(bytes, SIZES);
}

function parse(text: string, units: Units): number | null {
  const [, digits, unit] = /^(\d{1,16})([A-Za-z]+)$/.exec(text) ?? [];
  const factor = units.find(([name]) => name === unit)?.[1];
  if (factor === undefined) return null;
  const value = Number(digits) * factor;
  return Number.isSafeInteger(value) ? value : null;
}

function print(value: number, units: Units): string {
  const [unit, factor] = units.find(([, size]) => value % size === 0)!;
  return `${value / factor}${unit}`;
}
