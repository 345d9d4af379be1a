/** Bars over time, of any height and width. */
import { glyph, sparkline, type Look } from "./look.ts";

/** In exactly so many columns: each has its share of the steps that it is over. */
export function spread(steps: readonly number[], columns: number): readonly number[] {
  if (steps.length === 0 || columns <= 0) return [];
  const size = steps.length / columns;
  return Array.from({ length: columns }, (_, column) => {
    const [from, to] = [column * size, (column + 1) * size];
    let sum = 0;
    for (let step = Math.floor(from); step < Math.min(Math.ceil(to), steps.length); step++) {
      sum += steps[step]! * (Math.min(to, step + 1) - Math.max(from, step));
    }
    return sum;
  });
}

/** So many rows from the top. What is more than nothing is always seen, in the lowest row. */
export function chart(look: Look, columns: readonly number[], rows: number): string[] {
  if (rows <= 1) return [sparkline(look, columns)];
  const most = Math.max(...columns);
  const levels = columns.map((value) => (value <= 0 ? 0 : Math.max(1, Math.round((value / most) * 8 * rows))));
  return Array.from({ length: rows }, (_, row) => {
    const below = 8 * (rows - 1 - row);
    // A whole column of the sparkline stands beside them, so that its scale is the same in each row.
    return sparkline(look, [...levels.map((level) => Math.min(8, Math.max(0, level - below))), 8]).slice(0, -1);
  });
}

/** Below a chart: how long ago its columns were. */
export function ageAxis(look: Look, width: number, hours: number): string {
  const labels = width >= 48 ? [1, 0.75, 0.5, 0.25] : [1, 0.5];
  const rule = glyph(look, "rule");
  let line = "";
  for (const part of labels) {
    line = line.padEnd(Math.round(width * (1 - part)), rule) + `-${hours * part}h `;
  }
  return `${line.padEnd(width - 4, rule)} now`.slice(0, width);
}
