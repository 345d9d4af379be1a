import { holds, median, type Measure } from "./measure.ts";

const COLUMNS = ["scenario", "measure", "median", "min – max", "goal", ""] as const;

export function table(measures: readonly Measure[]): string {
  const rows = measures.map((measure) => {
    const { scenario, name, unit, values, goal } = measure;
    const range = values.length > 1 ? `${shown(Math.min(...values))} – ${shown(Math.max(...values))}` : "";
    const verdict = { true: "pass", false: "FAIL", null: "" }[String(holds(measure)) as "true" | "false" | "null"];
    const asked = goal === null ? "" : `${goal.id} ${goal.text}`.trim();
    return [scenario, name, `${shown(median(values))}${unit === "" ? "" : ` ${unit}`}`, range, asked, verdict];
  });
  const all = [[...COLUMNS], ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

export function json(measures: readonly Measure[]): object[] {
  return measures.map((measure) => ({
    scenario: measure.scenario,
    measure: measure.name,
    unit: measure.unit,
    median: median(measure.values),
    values: measure.values,
    goal: measure.goal === null ? null : { id: measure.goal.id, text: measure.goal.text, pass: holds(measure) },
  }));
}

/** Three digits are more than a noisy machine can tell. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString("en-US").replaceAll(",", " ");
}
