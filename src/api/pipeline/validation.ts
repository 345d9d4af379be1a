/** Faults of a body's fields, gathered into one `validation_failed`, whoever found them: our own readers or valibot. */
import * as v from "valibot";
import { nearest } from "../../config/nearest.ts";
import { FIELD_CODES, WebhookdError, type FieldCode, type FieldError } from "../../domain/errors.ts";
import { parseJson } from "../../domain/json/json.ts";

/** More would only make the answer long. */
const MAX_FAULTS = 20;
const MAX_KEY = 100;

const DETAILS: Partial<Record<FieldCode, string>> = {
  missing_field: "is required",
  unknown_field: "is not a field of this body",
};

/** What valibot calls the bounds of numbers. */
const BOUNDS = new Set(["min_value", "max_value", "gt_value", "lt_value"]);

export class Faults {
  readonly #errors: FieldError[] = [];

  get some(): boolean {
    return this.#errors.length > 0;
  }

  add(pointer: string, code: FieldCode, detail: string = DETAILS[code] ?? code): void {
    if (this.#errors.length < MAX_FAULTS) this.#errors.push({ pointer, code, detail });
  }

  throwAny(): void {
    if (this.some) throw validationFailed(this.#errors);
  }
}

/** `errors` holds at least one; the first one makes the sentence. */
export function validationFailed(errors: readonly FieldError[]): WebhookdError {
  const { pointer, detail } = errors[0]!;
  return new WebhookdError("validation_failed", pointer === "" ? detail : `${pointer} ${detail}`, { errors });
}

/** RFC 6901. A caller's key may be as long as the body, so it is cut: nothing needs more of it back. */
export function memberPointer(parent: string, key: string): string {
  return `${parent}/${key.slice(0, MAX_KEY).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * Reads a JSON body by a valibot schema. A message of the schema is a field code, or a code and a sentence
 * (`too_long: at most 256 characters`); an issue without one is `out_of_range` or `invalid_type`.
 */
export function readJson<S extends v.GenericSchema>(body: Uint8Array, schema: S): v.InferOutput<S> {
  const value = parseJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw validationFailed([{ pointer: "", code: "invalid_body", detail: "the body must be a JSON object" }]);
  }
  return checked(schema, value);
}

/** What a schema makes of a value; throws `validation_failed`. */
export function checked<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw validationFailed(result.issues.slice(0, MAX_FAULTS).map(fieldError));
}

function fieldError(issue: v.BaseIssue<unknown>): FieldError {
  const pointer = (issue.path ?? []).reduce((parent, item) => memberPointer(parent, String(item.key)), "");
  if (issue.type === "strict_object" && issue.path !== undefined && issue.received !== "Object") {
    const code = issue.expected === "never" ? "unknown_field" : "missing_field";
    return { pointer, code, detail: DETAILS[code]! };
  }
  const [, code = issue.message, detail] = /^(\w+): (.*)$/s.exec(issue.message) ?? [];
  const known = FIELD_CODES.find((each) => each === code);
  if (known === undefined)
    return {
      pointer,
      code: BOUNDS.has(issue.type) ? "out_of_range" : "invalid_type",
      detail: `must be ${inWords(issue.expected ?? "something else")}`,
    };
  return { pointer, code: known, detail: detail ?? DETAILS[known] ?? known };
}

/** What a schema expected, in words for the author of the body. */
const WORDS: Readonly<Record<string, string>> = {
  Array: "a list",
  array: "a list",
  Object: "an object",
  object: "an object",
  string: "a string",
  number: "a number",
  boolean: "true or false",
};
/** The longer signs first. */
const SIGNS = [
  [">=", "at least "],
  ["<=", "at most "],
  [">", "more than "],
  ["<", "less than "],
] as const;

/** Of a name that is in no catalogue. */
export function unknownType(name: string, types: ReadonlyMap<string, unknown>): string {
  const near = nearest(name, types.keys());
  return `is not a known event type; ${near === null ? "see GET /v1/webhooks/event-types" : `did you mean ${near}?`}`;
}

const either = new Intl.ListFormat("en", { type: "disjunction" });

/** Of an issue's `expected`: a name, a bound, a value, or several of them as `(a | b)`. */
export function inWords(expected: string): string {
  return either.format(
    expected
      .replace(/^\((.*)\)$/s, "$1")
      .split(" | ")
      .map(word),
  );
}

function word(expected: string): string {
  const bound = SIGNS.find(([sign]) => expected.startsWith(sign));
  return bound === undefined ? (WORDS[expected] ?? expected) : `${bound[1]}${expected.slice(bound[0].length)}`;
}
