/** Spans of time in words. */
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/** Returns the two largest units: "2 hours 5 minutes", "45 seconds". */
export function spanText(ms: number): string {
  const parts = split(ms).map(([value, unit]) => `${value} ${unit}${value === 1 ? "" : "s"}`);
  return parts.join(" ");
}

/** Returns a short form for narrow places: "2 h 5 min", "45 s". */
export function shortSpan(ms: number): string {
  const short = { day: "d", hour: "h", minute: "min", second: "s" } as const;
  return split(ms)
    .map(([value, unit]) => `${value}\u00a0${short[unit]}`)
    .join(" ");
}

function split(ms: number): (readonly [number, (typeof UNITS)[number][0]])[] {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const at = UNITS.findIndex(([, length]) => seconds >= length);
  if (at < 0) return [[0, "second"]];
  const [unit, length] = UNITS[at]!;
  const first = [Math.floor(seconds / length), unit] as const;
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % length) / next[1]);
  return rest === 0 ? [first] : [first, [rest, next![0]]];
}
