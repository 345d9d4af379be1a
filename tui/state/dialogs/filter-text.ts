/** The filter of an endpoint as it is typed into a form: JSON on one line. */
import { type FilterDocument, isFilter, parseFilter } from "../../../src/domain/events/filter/filter.ts";

export type TypedFilter =
  /** Null takes every event. */
  { readonly document: FilterDocument | null } | { readonly fault: string; readonly isJson: boolean };

export function readFilterText(text: string): TypedFilter {
  if (text.trim() === "") return { document: null };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { fault: 'This is not JSON yet, such as {"data": {"currency": "EUR"}}', isJson: false };
  }
  const read = parseFilter(document);
  if (isFilter(read)) return { document: document as FilterDocument };
  const [{ pointer, detail } = { pointer: "", detail: "" }] = read;
  return { fault: filterFault(pointer, detail), isJson: true };
}

/** `detail` is the end of a sentence that begins with what is at the pointer. */
export function filterFault(pointer: string, detail: string): string {
  return `${pointer === "" ? "The filter" : pointer} ${detail}`;
}

/** Writes a filter as it may be typed. */
export function filterText(document: FilterDocument | null | undefined): string {
  return document ? JSON.stringify(document) : "";
}
