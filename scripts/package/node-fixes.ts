/** The first version of each line that has all fixes known when this was written: raise it with each Node release. */
const FIXED: Readonly<Record<number, readonly [minor: number, patch: number]>> = { 24: [22, 1], 26: [12, 1] };

/** What is wrong with releasing this version of Node, as the end of a sentence; null when nothing is. */
export function missingFixes(version: string): string | null {
  const [major, minor, patch] = version.split(".").map(Number) as [number, number, number];
  const fixed = FIXED[major];
  if (fixed === undefined) return "is of a line that webhookd is not released with";
  if (minor > fixed[0] || (minor === fixed[0] && patch >= fixed[1])) return null;
  return `lacks the security fixes of ${major}.${fixed.join(".")}`;
}
