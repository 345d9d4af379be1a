/** Returns the known name that a mistyped one most likely meant, or null if none is close enough. */
export function nearest(typed: string, names: Iterable<string>): string | null {
  // None of our names is this long, and the cost of the comparison is the product of both lengths.
  if (typed.length > 64) return null;
  let best: string | null = null;
  let least = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const name of names) {
    const steps = distance(typed.toLowerCase(), name.toLowerCase());
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}

/** Counts the insertions, deletions, substitutions and swaps of neighbours between two short texts. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let steps = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) steps = Math.min(steps, before[column - 2]! + 1);
      current.push(steps);
    }
    [before, last] = [last, current];
  }
  return last[to.length]!;
}
