/** Parses Prometheus's text format and throws if the text is invalid. */
export interface Exposed {
  readonly type: string;
  readonly help: string;
  /** Values by series, spelled as in the text. */
  readonly series: Map<string, number>;
}

const NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const SERIES = new RegExp(`^((${NAME})(?:\\{${LABEL}(?:,${LABEL})*\\})?) (-?[0-9.e+-]+|[+-]Inf|NaN)$`);
const SUFFIXES: Record<string, string[]> = {
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

export function parseExposition(text: string): Map<string, Exposed> {
  const families = new Map<string, Exposed>();
  let help: [name: string, text: string] | null = null;
  let current: [name: string, family: Exposed] | null = null;
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  for (const line of text.split("\n")) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (line === "") continue;
    if (kind === "HELP") {
      help = [name!, rest!];
    } else if (kind === "TYPE") {
      if (help?.[0] !== name) throw new Error(`${name} has no HELP before its TYPE`);
      if (families.has(name!)) throw new Error(`${name} comes twice`);
      current = [name!, { type: rest!, help: help![1], series: new Map() }];
      families.set(...current);
    } else {
      const [, series, metric, value] = SERIES.exec(line) ?? [];
      if (series === undefined || current === null) throw new Error(`not a series: ${line}`);
      const names = (SUFFIXES[current[1].type] ?? [""]).map((suffix) => current![0] + suffix);
      if (!names.includes(metric!)) throw new Error(`${metric} is not of ${current[0]}`);
      if (current[1].series.has(series)) throw new Error(`${series} comes twice`);
      current[1].series.set(series, Number(value!.replace("Inf", "Infinity")));
    }
  }
  return families;
}
