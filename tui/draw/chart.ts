/** Draws bars over time, of any height and width. */
import { glyph, sparkline, type Look } from "./look.ts";

/** Spreads the steps over exactly `columns` columns. Each column gets its share of the steps that it covers. */
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

/** Returns `rows` lines from the top. A value above zero always shows, at least in the lowest row. */
export function chart(look: Look, columns: readonly number[], rows: number): string[] {
  if (rows <= 1) return [sparkline(look, columns)];
  const most = Math.max(...columns);
  const levels = columns.map((value) => (value <= 0 ? 0 : Math.max(1, Math.round((value / most) * 8 * rows))));
  return Array.from({ length: rows }, (_, row) => {
    const below = 8 * (rows - 1 - row);
    // Draw a full column beside them, so that every row has the same scale, and cut it off.
    return sparkline(look, [...levels.map((level) => Math.min(8, Math.max(0, level - below))), 8]).slice(0, -1);
  });
}

/** Draws the axis below a chart, with the age of its columns. */
export function ageAxis(look: Look, width: number, hours: number): string {
  const labels = width >= 48 ? [1, 0.75, 0.5, 0.25] : [1, 0.5];
  const rule = glyph(look, "rule");
  let line = "";
  for (const part of labels) {
    line = line.padEnd(Math.round(width * (1 - part)), rule) + `-${hours * part}h `;
  }
  return `${line.padEnd(width - 4, rule)} now`.slice(0, width);
}
