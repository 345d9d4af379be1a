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
  return aligned([[...COLUMNS], ...rows], "  ");
}

/**
 * Formats the same measures of several scenarios, whose names share a prefix, as a Markdown table with a column for
 * each: the median, and the range if there is one.
 */
export function sideBySide(measures: readonly Measure[], prefix: string): string {
  const scenarios = [...new Set(measures.map(({ scenario }) => scenario))];
  const names = [...new Set(measures.map(({ name }) => name))];
  const rows = names.map((name) => {
    const own = scenarios.map((scenario) => measures.find((one) => one.scenario === scenario && one.name === name));
    const unit = own.find((one) => one !== undefined)!.unit;
    return [unit === "" ? name : `${name}, ${unit}`, ...own.map((one) => (one === undefined ? "" : range(one.values)))];
  });
  const rule = ["---", ...scenarios.map(() => "---")];
  return aligned([["", ...scenarios.map((name) => name.slice(prefix.length))], rule, ...rows], " | ").replaceAll(
    /^(.*)$/gm,
    "| $1 |",
  );
}

function range(values: readonly number[]): string {
  const [least, middle, most] = [Math.min(...values), median(values), Math.max(...values)].map(shown);
  return least === most ? middle! : `${middle} (${least}–${most})`;
}

function aligned(rows: readonly (readonly string[])[], between: string): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join(between)
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

/** On a noisy machine more than three digits mean nothing. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(value).toLocaleString("en-US").replaceAll(",", " ");
}
