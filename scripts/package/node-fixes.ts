/** The first version of each line with all security fixes known so far. Raise it with each security release of Node. */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 24: [22, 1], 26: [12, 1] };

/** Returns why this version of Node must not be released, as the end of a sentence, or null if it may be. */
export function missingFixes(version: string): string | null {
  const [major, minor, patch] = version.split(".").map(Number) as [number, number, number];
  const fixed = FIXED[major];
  if (fixed === undefined) return "is of a line that webhookd is not released with";
  if (minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])) return null;
  return `lacks the security fixes of ${major}.${fixed.join(".")}`;
}
