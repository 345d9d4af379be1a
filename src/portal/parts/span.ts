/** Spans of time in words. */
import { localeNow, t } from "../language/text.ts";

const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;
type Unit = (typeof UNITS)[number][0];

/** Returns the two largest units: "2 hours 5 minutes", "45 seconds". */
export function spanText(ms: number): string {
  return split(ms)
    .map(([value, unit]) => unitText(value, unit))
    .join(" ");
}

/** Returns the number with its unit, as in "3 days". */
export function unitText(value: number, unit: Unit): string {
  return new Intl.NumberFormat(localeNow(), { style: "unit", unit, unitDisplay: "long" }).format(value);
}

const SHORT = {
  day: "span.days",
  hour: "span.hours",
  minute: "span.minutes",
  second: "span.seconds",
} as const;

/** Returns a short form for narrow places: "2 h 5 min", "45 s". */
export function shortSpan(ms: number): string {
  return split(ms)
    .map(([count, unit]) => t(SHORT[unit], { count }))
    .join(" ");
}

function split(ms: number): (readonly [number, Unit])[] {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const at = UNITS.findIndex(([, length]) => seconds >= length);
  if (at < 0) return [[0, "second"]];
  const [unit, length] = UNITS[at]!;
  const first = [Math.floor(seconds / length), unit] as const;
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % length) / next[1]);
  return rest === 0 ? [first] : [first, [rest, next![0]]];
}
