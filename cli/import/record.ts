/** Reads the fields of another sender's records, which may be of any type. */
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";

export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** Null if there is no such text. */
export function textIn(record: JsonRecord, name: string): string | null {
  const value = record[name];
  return typeof value === "string" ? value : null;
}

/** Null if there is no such number above 0. */
export function amountIn(record: JsonRecord, name: string): number | null {
  const value = record[name];
  return typeof value === "number" && value > 0 ? value : null;
}

export function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
