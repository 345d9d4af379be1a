/** A CSV file (RFC 4180) with a line for each endpoint, for a sender of one's own. */
import { BODY_FORMATS, type BodyFormat, formatNamed } from "../../src/domain/endpoints/body-format.ts";
import { DEFAULT_TENANT, isTenant } from "../../src/domain/id.ts";
import { usage } from "../failure.ts";
import { oneLine } from "../output/one-line.ts";
import { hostOf } from "../output/words.ts";
import {
  type Described,
  describedEndpoint,
  type DescribedEndpoint,
  isAddress,
  NotImportable,
  signingSecretOf,
} from "./described.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";

const REQUIRED = ["url", "events", "secret"] as const;
const OPTIONAL = [
  "tenant",
  "id",
  "uid",
  "description",
  "enabled",
  "rate_per_second",
  "headers",
  "metadata",
  "filter",
  "format",
] as const;
type Column = (typeof REQUIRED)[number] | (typeof OPTIONAL)[number];

/** `name` is the file in messages, which repeat no secret. */
export function csvIn(text: string, name: string): Described {
  const endpoints = rowsIn(text, name, { required: REQUIRED, optional: OPTIONAL }).map(({ cells, line }) =>
    endpointOf(cells, line),
  );
  return { types: [], endpoints, notes: [], signatures: [] };
}

export interface Columns<C extends string> {
  readonly required: readonly C[];
  readonly optional: readonly C[];
}

export interface Row<C extends string> {
  readonly cells: { readonly [K in C]?: string };
  /** The number of its first line, counted from 1. */
  readonly line: number;
}

/** Returns the lines below the first one, which names the columns. */
export function rowsIn<C extends string>(text: string, name: string, { required, optional }: Columns<C>): Row<C>[] {
  const [head, ...lines] = linesOf(text, name);
  const columns = head?.cells.map((cell) => cell.trim()) ?? [];
  const known: readonly string[] = [...required, ...optional];
  const unknown = columns.find((column) => !known.includes(column));
  const missing = required.find((column) => !columns.includes(column));
  const hint = `The first line names the columns: ${required.join(", ")}, and if you like ${optional.join(", ")}.`;
  if (missing !== undefined) throw usage(`${name} has no column ${missing}`, hint);
  if (unknown !== undefined) throw usage(`${name} has a column that is not known: ${unknown.slice(0, 40)}`, hint);
  if (new Set(columns).size < columns.length) throw usage(`${name} names a column twice`, hint);
  return lines.map(({ cells, line }) => {
    if (cells.length !== columns.length)
      throw usage(`${name}:${line} has ${cells.length} cells, and the first line has ${columns.length}`);
    return { cells: Object.fromEntries(columns.map((column, at) => [column, cells[at]!])) as Row<C>["cells"], line };
  });
}

type Cells = Row<Column>["cells"];

/**
 * Without an id, its uid or its host and path tell it from the others of its tenant. The rest of a URL may be secret,
 * and an id is shown.
 */
function endpointOf(cells: Cells, line: number): DescribedEndpoint {
  const given = (column: Column) => cells[column]?.trim() ?? "";
  const id = given("id") || given("uid") || (isAddress(given("url")) ? hostOf(given("url")) : `line ${line}`);
  const tenant = given("tenant") || DEFAULT_TENANT;
  return describedEndpoint({ id, tenant, url: given("url") }, () => {
    if (!isTenant(tenant)) throw new NotImportable("belongs to a tenant whose name cannot be one here");
    const events = given("events")
      .split(/[\s,;]+/)
      .filter((event) => event !== "");
    if (events.length === 0) throw new NotImportable("names no event types; * stands for all");
    return {
      uid: given("uid") || null,
      url: given("url"),
      events,
      filter: jsonOf("filter", given("filter")),
      description: oneLine(cells.description, 256),
      headers: headersOf(jsonOf("headers", given("headers"))),
      byHand: [],
      rate_per_second: rateOf(given("rate_per_second")),
      metadata: jsonOf("metadata", given("metadata")) ?? {},
      format: formatOf(given("format")),
      secrets: { current: signingSecretOf(given("secret")), next: null, fitsTwo: false },
      enabled: isEnabled(given("enabled")),
    };
  });
}

function jsonOf(column: Column, text: string): JsonRecord | null {
  if (text === "") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isRecord(value)) return value;
  throw new NotImportable(`has ${column} that are no JSON object`);
}

function headersOf(record: JsonRecord | null): Record<string, string> {
  const headers = Object.entries(record ?? {});
  const odd = headers.find(([, value]) => typeof value !== "string");
  if (odd !== undefined) throw new NotImportable("has headers of which one is no text");
  return Object.fromEntries(headers) as Record<string, string>;
}

function rateOf(text: string): number | null {
  if (text === "") return null;
  if (/^\d{1,6}(?:\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new NotImportable("has a rate_per_second that is no number above 0");
}

function formatOf(text: string): BodyFormat {
  const format = formatNamed(text || "envelope");
  if (format !== null) return format;
  throw new NotImportable(`has a format that is none of ${BODY_FORMATS.join(", ")}`);
}

function isEnabled(text: string): boolean {
  if (text === "" || /^(?:true|yes|1)$/i.test(text)) return true;
  if (/^(?:false|no|0)$/i.test(text)) return false;
  throw new NotImportable("has something else than true or false in enabled");
}

interface Line {
  readonly cells: readonly string[];
  /** The number of its first line, counted from 1. */
  readonly line: number;
}

const PLAIN = /[^",\r\n]*/y;
const END = /,|\r?\n|$/y;

function linesOf(text: string, name: string): Line[] {
  const source = text.replace(/^\ufeff/, "");
  const lines: Line[] = [];
  let [cells, line, first, at]: [string[], number, number, number] = [[], 1, 1, 0];
  while (at < source.length || cells.length > 0) {
    const cell = cellAt(source, at);
    if (cell === null) throw usage(`${name}:${line} begins a cell with a quote, and no quote ends it`);
    const end = foundAt(END, source, cell.to);
    if (end === null) throw usage(`${name}:${line} has a quote inside a cell that does not begin with one`);
    cells.push(cell.value);
    line += source.slice(at, cell.to + end.length).split("\n").length - 1;
    at = cell.to + end.length;
    if (end === ",") continue;
    if (cells.some((value) => value.trim() !== "")) lines.push({ cells, line: first });
    [cells, first] = [[], line];
  }
  return lines;
}

/**
 * Reads the cell that begins there: plain, or in quotes, in which two stand for one. Null if no quote ends it. A
 * regular expression for all of it would run out of stack in a long cell.
 */
function cellAt(source: string, at: number): { readonly value: string; readonly to: number } | null {
  if (source[at] !== '"') {
    const value = foundAt(PLAIN, source, at)!;
    return { value, to: at + value.length };
  }
  for (let quote = source.indexOf('"', at + 1); quote !== -1; quote = source.indexOf('"', quote + 2))
    if (source[quote + 1] !== '"') return { value: source.slice(at + 1, quote).replaceAll('""', '"'), to: quote + 1 };
  return null;
}

function foundAt(sticky: RegExp, source: string, at: number): string | null {
  sticky.lastIndex = at;
  return sticky.exec(source)?.[0] ?? null;
}
