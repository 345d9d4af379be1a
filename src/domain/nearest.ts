/** No more letters than these are mistyped in one name. It also bounds what a comparison costs. */
const MOST_STEPS = 4;
/** None of our names that people type is longer. */
const MOST_LETTERS = 64;

/** The known name that a mistyped one most likely meant; null if none is close enough. */
export function nearest(typed: string, names: Iterable<string>): string | null {
  if (typed.length > MOST_LETTERS) return null;
  const letters = typed.toLowerCase();
  let best: string | null = null;
  let least = Math.min(MOST_STEPS, Math.max(1, Math.floor(typed.length / 3))) + 1;
  for (const name of names) {
    if (Math.abs(name.length - typed.length) >= least) continue;
    const steps = distance(letters, name.toLowerCase(), least - 1);
    if (steps < least) [best, least] = [name, steps];
  }
  return best;
}

/**
 * Counts the insertions, deletions, substitutions and swaps of neighbours between two texts. Returns more than `most` if
 * there are more: only columns are looked at that so many steps can reach.
 */
function distance(from: string, to: string, most: number): number {
  const width = to.length + 2;
  let [before, last, current] = [new Uint8Array(width), new Uint8Array(width), new Uint8Array(width)];
  for (let column = 0; column < width; column++) last[column] = column;
  for (let row = 1; row <= from.length; row++) {
    const [first, end] = [Math.max(1, row - most), Math.min(to.length, row + most)];
    current[first - 1] = first === 1 ? row : most + 1;
    let least = current[first - 1]!;
    for (let column = first; column <= end; column++) {
      const same = from[row - 1] === to[column - 1];
      let steps = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + (same ? 0 : 1));
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && swapped) steps = Math.min(steps, before[column - 2]! + 1);
      current[column] = steps;
      least = Math.min(least, steps);
    }
    current[end + 1] = most + 1;
    if (least > most) return least;
    [before, last, current] = [last, current, before];
  }
  return last[to.length]!;
}
