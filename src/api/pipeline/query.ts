/** Query parameters: how each is described and read. */
import { ATTEMPT_ERRORS } from "../../domain/deliveries/attempt.ts";
import { nearest } from "../../domain/nearest.ts";
import { WebhookdError, type FieldCode } from "../../domain/errors.ts";
import { idPattern, isId } from "../../domain/id.ts";
import { parseInstant } from "../../domain/time/instant.ts";

const WHOLE_NUMBER = /^(?:0|[1-9]\d{0,14})$/;

/** The decoded parameters of a request, by name. */
export type Query = ReadonlyMap<string, string>;

export interface Parameter<T = unknown> {
  readonly name: string;
  readonly description: string;
  /** The JSON Schema of the value. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Returns undefined if it is not given. Throws `invalid_query`. */
  read(query: Query): T | undefined;
}

/** `name` is empty if the fault is in the query as a whole. */
export function invalidQuery(name: string, detail: string, code: FieldCode = "invalid_type"): WebhookdError {
  return new WebhookdError("invalid_query", `${name} ${detail}`.trim(), {
    errors: [{ pointer: `?${name}`, code, detail }],
  });
}

export function choiceParameter<const T extends string>(
  name: string,
  values: readonly T[],
  description: string,
  fallback?: T,
): Parameter<T> {
  const schema = { type: "string", enum: values, ...(fallback !== undefined && { default: fallback }) };
  const parse = (text: string) => values.find((value) => value === text);
  return parameter(name, description, schema, (text) => ({ detail: notOneOf(text, values) }), parse);
}

/**
 * One of the values, or several separated by commas. There is no `enum`, because a list of values would not match it.
 */
export function severalParameter<const T extends string>(
  name: string,
  values: readonly T[],
  description: string,
): Parameter<readonly T[]> {
  const wrongOf = (text: string) => text.split(",").find((part) => !(values as readonly string[]).includes(part));
  const fault = (text: string) => {
    const wrong = wrongOf(text);
    return { detail: wrong === undefined ? "names the same value twice" : notOneOf(wrong, values) };
  };
  const parse = (text: string) =>
    wrongOf(text) === undefined && areDifferent(text.split(",")) ? (text.split(",") as T[]) : undefined;
  const isError = (values as readonly string[]) === ATTEMPT_ERRORS;
  const known = isError ? "the values of `AttemptError`" : values.join(", ");
  const all = `${description} One of ${known}, or several of them, separated by commas.`;
  return parameter(name, all, { type: "string" }, fault, parse);
}

/** Names separated by commas. The caller checks that they exist. */
export function namesParameter(name: string, description: string): Parameter<readonly string[]> {
  const parse = (text: string) => (areDifferent(text.split(",")) ? text.split(",") : undefined);
  const all = `${description} You can give several, separated by commas.`;
  return parameter(name, all, { type: "string" }, () => ({ detail: "names the same value twice" }), parse);
}

function areDifferent(parts: readonly string[]): boolean {
  return new Set(parts).size === parts.length;
}

export function flagParameter(name: string, description: string, fallback?: boolean): Parameter<boolean> {
  const schema = { type: "boolean", ...(fallback !== undefined && { default: fallback }) };
  const parse = (text: string) => (text === "true" ? true : text === "false" ? false : undefined);
  return parameter(name, description, schema, () => ({ detail: "must be true or false" }), parse);
}

/** Reads an instant as epoch milliseconds. */
export function instantParameter(name: string, description: string): Parameter<number> {
  const schema = { type: "string", format: "date-time" };
  const parse = (text: string) => parseInstant(text) ?? undefined;
  return parameter(
    name,
    description,
    schema,
    (text) => ({ detail: `must be an instant such as 2026-11-20T09:55:00Z${plusHint(text)}` }),
    parse,
  );
}

/** In a query a plus sign means a space. */
function plusHint(text: string): string {
  return parseInstant(text.replace(" ", "+")) === null ? "" : "; write the + of its offset as %2B";
}

export function numberParameter(
  name: string,
  [minimum, maximum]: readonly [number, number],
  description: string,
  fallback?: number,
): Parameter<number> {
  const schema = { type: "integer", minimum, maximum, ...(fallback !== undefined && { default: fallback }) };
  const parse = (text: string) => {
    const value = WHOLE_NUMBER.test(text) ? Number(text) : Number.NaN;
    return value >= minimum && value <= maximum ? value : undefined;
  };
  const fault = (text: string): ParameterFault => ({
    detail: `must be a number from ${minimum} to ${maximum}`,
    code: WHOLE_NUMBER.test(text) ? "out_of_range" : "invalid_type",
  });
  return parameter(name, description, schema, fault, parse);
}

/** Without a pattern, accepts any text, even a name that does not exist. `detail` describes what the text must be. */
export function textParameter(name: string, description: string, pattern?: RegExp, detail = ""): Parameter<string> {
  // Python's `re` has no Unicode properties, so such a pattern is left out of the description.
  const isPortable = pattern !== undefined && !pattern.unicode;
  const schema = { type: "string", ...(isPortable && { pattern: pattern.source }) };
  const parse = (text: string) => (pattern === undefined || pattern.test(text) ? text : undefined);
  return parameter(name, description, schema, () => ({ detail }), parse);
}

export function idParameter(name: string, prefix: "ep" | "evt" | "dlv", description: string): Parameter<string> {
  const schema = { type: "string", pattern: idPattern(prefix).source };
  const parse = (text: string) => (isId(prefix, text) ? text : undefined);
  return parameter(name, description, schema, () => ({ detail: `is not an id of the form ${prefix}_…` }), parse);
}

interface ParameterFault {
  readonly detail: string;
  /** `invalid_type` if absent. */
  readonly code?: FieldCode;
}

function notOneOf(text: string, values: readonly string[]): string {
  const near = nearest(text, values);
  return `must be one of ${values.join(", ")}${near === null ? "" : `; did you mean ${near}?`}`;
}

function parameter<T>(
  name: string,
  description: string,
  schema: Parameter["schema"],
  fault: (text: string) => ParameterFault,
  parse: (text: string) => T | undefined,
): Parameter<T> {
  return {
    name,
    description,
    schema,
    read(query) {
      const text = query.get(name);
      if (text === undefined) return undefined;
      const value = parse(text);
      if (value !== undefined) return value;
      const { detail, code } = fault(text);
      throw invalidQuery(name, detail, code);
    },
  };
}

const NONE: Query = new Map();

/** If `known` is null, any query that can be parsed is accepted and ignored. */
export function parseQuery(search: string, known: readonly string[] | null): Query {
  if (search.length < 2) return NONE;
  const query = new Map<string, string>();
  for (const pair of search.slice(1).split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
    if (known === null) {
      if (name === null || value === null) throw invalidQuery("", "the query is not percent-encoded UTF-8");
      continue;
    }
    if (name === null || !known.includes(name)) {
      throw new WebhookdError("invalid_query", `this route takes ${list(known)}`, {
        errors: [{ pointer: "?", code: "unknown_field", detail: "there is a parameter that this route does not know" }],
      });
    }
    if (query.has(name)) throw invalidQuery(name, "is given twice");
    if (value === null) throw invalidQuery(name, "is not percent-encoded UTF-8");
    // No stored text contains a NUL, and PostgreSQL refuses a query with one.
    if (value.includes("\0")) throw invalidQuery(name, "contains a NUL character");
    query.set(name, value);
  }
  return query;
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return null;
  }
}

function list(known: readonly string[]): string {
  return known.length === 0 ? "no query parameters" : `only ${known.join(", ")}`;
}
