/** A filter while a person fills it in: as rows or as JSON. */
import { type Filter, type FilterDocument, isFilter, parseFilter } from "../../domain/events/filter/filter.ts";
import { BLANK, isUnfinished, type Join, operandOf, read, type Row, write } from "./rows.ts";
import { t } from "../language/text.ts";

export interface FilterDraft {
  /** `none` takes every event. */
  readonly view: "none" | "rows" | "json";
  readonly rows: readonly Row[];
  readonly join: Join;
  /** JSON. */
  readonly text: string;
}

export const NO_FILTER: FilterDraft = { view: "none", rows: [BLANK], join: "all", text: "" };

export function filterDraftOf(document: FilterDocument | null): FilterDraft {
  if (document === null) return NO_FILTER;
  const text = JSON.stringify(document, null, 2);
  const rows = read(document);
  return rows === null ? { ...NO_FILTER, view: "json", text } : { ...NO_FILTER, ...rows, view: "rows", text };
}

export interface FilterFault {
  /** The number of the row that it is about, from 0; null if it is about the filter. */
  readonly row: number | null;
  /** Empty for the whole filter, and for a row that is not in it yet. */
  readonly pointer: string;
  /** A sentence, or the end of one that begins with the pointer. */
  readonly text: string;
  /** True for what is not filled in yet, which is no mistake before the form is sent. */
  readonly isMissing: boolean;
}

export interface FilterReading {
  /** Null without conditions. Rows that are not filled in are left out. Undefined if it cannot be read. */
  readonly filter: Filter | null | undefined;
  readonly faults: readonly FilterFault[];
  /** The place of each row in the filter; undefined for a row that is not in it. */
  readonly pointers: readonly (string | undefined)[];
}

export function readingOf(draft: FilterDraft): FilterReading {
  if (draft.view === "none") return { filter: null, faults: [], pointers: [] };
  return draft.view === "json" ? readJson(draft.text) : readRows(draft);
}

function readJson(text: string): FilterReading {
  if (text.trim() === "") return { filter: null, faults: [], pointers: [] };
  try {
    return parsed(JSON.parse(text), []);
  } catch {
    const detail = t("filter.notJson");
    const fault = { row: null, pointer: "", text: detail, isMissing: false };
    return { filter: undefined, faults: [fault], pointers: [] };
  }
}

function readRows({ rows, join }: FilterDraft): FilterReading {
  const own = rows.map((row, at): FilterFault | null => {
    if (row.path.length === 0) return { row: at, pointer: "", text: t("filter.chooseField"), isMissing: true };
    if (isUnfinished(row)) return { row: at, pointer: "", text: t("filter.typeValue"), isMissing: true };
    const value = operandOf(row);
    return "fault" in value ? { row: at, pointer: "", text: value.fault, isMissing: false } : null;
  });
  const faults = own.filter((fault) => fault !== null);
  const good = rows.flatMap((_, at) => (own[at] === null ? [at] : []));
  const written = write(
    good.map((at) => rows[at]!),
    join,
  );
  const pointers = rows.map((_, at) => (own[at] === null ? written.pointers[good.indexOf(at)] : undefined));
  if (good.length === 0) return { filter: null, faults, pointers };
  const { filter, faults: others } = parsed(written.document, pointers);
  return { filter, faults: [...faults, ...others], pointers };
}

function parsed(document: unknown, pointers: FilterReading["pointers"]): FilterReading {
  const found = parseFilter(document);
  if (isFilter(found)) return { filter: found, faults: [], pointers };
  const faults = found.map(({ pointer, detail }) => faultAt(pointer, detail, pointers));
  return { filter: undefined, faults, pointers };
}

/** `detail` is the end of a sentence that begins with what is at the pointer. */
export function faultAt(pointer: string, detail: string, pointers: FilterReading["pointers"]): FilterFault {
  const row = pointers.findIndex((own) => own !== undefined && isWithin(pointer, own));
  const text = pointer === "" ? t("filter.theFilter", { detail }) : detail;
  return { row: row < 0 ? null : row, pointer, text: /[.?]$/.test(text) ? text : `${text}.`, isMissing: false };
}

/** True for the place of a row, for one below it, and for a field on the way to it. */
function isWithin(pointer: string, own: string): boolean {
  return pointer !== "" && (`${pointer}/`.startsWith(`${own}/`) || `${own}/`.startsWith(`${pointer}/`));
}

/** Returns the draft as JSON, for experts. */
export function asJson(draft: FilterDraft): FilterDraft {
  const { filter } = readingOf(draft);
  const text = filter ? JSON.stringify(JSON.parse(filter.text), null, 2) : draft.view === "rows" ? "" : draft.text;
  return { ...draft, view: "json", text };
}

/** Returns the draft as rows; null if rows cannot say the same. */
export function asRows(draft: FilterDraft): FilterDraft | null {
  if (draft.view === "none") return { ...draft, view: "rows" };
  const { filter } = readingOf(draft);
  if (filter === undefined) return null;
  if (filter === null) return { ...draft, view: "rows", rows: [BLANK] };
  const rows = read(JSON.parse(filter.text) as FilterDocument);
  return rows && { ...draft, ...rows, view: "rows" };
}
