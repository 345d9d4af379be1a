/**
 * Searches events' data by a path and the value at its end, such as `customer.id:cus_123`. Data is stored as the
 * published bytes, without an index. Most events can be ruled out by looking at their bytes, without parsing the JSON.
 */
import { scanJson } from "../json/json.ts";
import type { JsonNode } from "../json/json-token.ts";

export interface DataCondition {
  /** Keys, or indexes in arrays. If the path gives no index for an array, each item is searched. */
  readonly path: readonly string[];
  readonly value: string;
  /** True for `"123"`, which matches only a string. Without the quotes the number matches too. */
  readonly isText: boolean;
}

const CONDITION = /(?<path>[^\s:]+):(?:(?<quoted>"(?:[^"\\]|\\.)*")|(?<plain>[^\s"]\S*))(?!\S)/y;
const MAX_CONDITIONS = 5;
const MAX_VALUE = 256;
const MAX_DEPTH = 16;

/** Parses conditions separated by spaces, all of which must hold. Returns null for anything else. */
export function parseDataFilter(text: string): readonly DataCondition[] | null {
  const conditions: DataCondition[] = [];
  const rest = text.trim();
  for (let at = 0; at < rest.length;) {
    CONDITION.lastIndex = at;
    const found = CONDITION.exec(rest);
    const { path, quoted, plain } = found?.groups ?? {};
    const value = quoted === undefined ? plain : textOf(quoted);
    if (found === null || value === undefined || value === "" || value.length > MAX_VALUE) return null;
    const keys = path!.split(".");
    if (keys.includes("") || keys.length > MAX_DEPTH) return null;
    conditions.push({ path: keys, value, isText: quoted !== undefined });
    at = CONDITION.lastIndex + /^\s*/.exec(rest.slice(CONDITION.lastIndex))![0].length;
  }
  return conditions.length === 0 || conditions.length > MAX_CONDITIONS ? null : conditions;
}

function textOf(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return undefined;
  }
}

/**
 * Returns byte strings, at least one of which occurs in every event that meets the condition: the value as it is
 * usually written, and the beginning of any escape that could stand for part of it.
 */
export function tracesOf({ value, isText }: DataCondition): readonly Buffer[] {
  const written = [JSON.stringify(value).slice(1, -1)];
  const number = isText ? null : decimalOf(value);
  if (number !== null && !value.includes(number)) written.push(number);
  // The shorter form is found wherever the longer one occurs.
  const least = number !== null && value.includes(number) ? [number] : written;
  const isPlain = /^[\x20-\x7e]+$/.test(value) && !/["\\]/.test(value);
  const escapes = [isPlain ? "\\u00" : "\\u", ...(value.includes("/") ? ["\\/"] : [])];
  return [...least, ...escapes].map((text) => Buffer.from(text));
}

/** Returns true if the data meets all conditions. It was validated when it was published. */
export function meets(data: Uint8Array, conditions: readonly DataCondition[]): boolean {
  const outline = MAX_DEPTH * 4;
  const root = scanJson(data, { outline, maxDepth: Number.MAX_SAFE_INTEGER, maxValues: Number.MAX_SAFE_INTEGER });
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return conditions.every((condition) => has(bytes, root, condition.path, condition));
}

function has(data: Buffer, node: JsonNode, path: readonly string[], condition: DataCondition): boolean {
  const [key] = path;
  if (node.items !== null) {
    const named = key !== undefined && /^\d+$/.test(key) ? node.items[Number(key)] : undefined;
    if (named !== undefined && has(data, named, path.slice(1), condition)) return true;
    return node.items.some((item) => has(data, item, path, condition));
  }
  if (key === undefined)
    return node.members === null && isValue(data.toString("utf8", node.start, node.end), condition);
  if (node.members === null) return false;
  // A key may itself contain a dot.
  return path.some((_, end) => {
    const member = node.members!.get(path.slice(0, end + 1).join("."));
    return member !== undefined && has(data, member, path.slice(end + 1), condition);
  });
}

function isValue(json: string, { value, isText }: DataCondition): boolean {
  if (json.startsWith('"')) return JSON.parse(json) === value;
  if (isText) return false;
  const number = decimalOf(json);
  return number === null ? json === value : number === decimalOf(value);
}

/**
 * Returns the number in its shortest form, so that 1.10 equals 1.1, but with all its digits, where a float would lose
 * some. Null for a number with an exponent, because `tracesOf` could not know how it is written.
 */
function decimalOf(json: string): string | null {
  const [, sign, whole, fraction = ""] = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?$/.exec(json) ?? [];
  if (whole === undefined) return null;
  const digits = fraction.replace(/0+$/, "");
  const number = digits === "" ? whole : `${whole}.${digits}`;
  return number === "0" ? "0" : `${sign}${number}`;
}
