/** Checks the `data` of a publish against the schema of its type. This file is loaded only when needed. */
import type { DefinedError, ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { FieldCode, FieldError } from "../../domain/errors.ts";
import type { EventType, JsonSchema } from "../../domain/events/event-type.ts";
import { sampleOf } from "../../domain/events/sample.ts";
import { LinearPattern, OutOfSteps, type Steps } from "../../domain/json/linear-pattern.ts";

/** Returns the first fault, with a pointer relative to the data, or null if the data is valid. */
export type DataCheck = (type: string, data: Uint8Array) => DataFault | null;

export interface DataFault extends FieldError {
  /** True if the event is accepted anyway. */
  readonly isWarning?: boolean;
}

/** A type that contradicts itself. The message is the end of a sentence. */
export class UnusableType extends Error {
  override readonly name = "UnusableType";
  readonly type: string;
  readonly part: "schema" | "sample";

  constructor(type: string, part: "schema" | "sample", fault: string) {
    super(fault);
    this.type = type;
    this.part = part;
  }
}

type Checked = Pick<EventType, "name" | "schema" | "sample">;

/** The steps that the patterns of a schema may take with the data of one event: a few milliseconds. */
const MAX_STEPS = 100_000;

/** Pointers are cut, because a caller's key may be as long as the body. */
const MAX_POINTER = 256;

/** Throws `UnusableType` for an invalid schema, and for a sample that is invalid by its own schema. */
export function openDataCheck(types: Iterable<Checked>): DataCheck {
  const checker = new Checker();
  const validators = new Map<string, ValidateFunction>();
  for (const type of types) validators.set(type.name, checker.usable(type));
  return (type, data) => checker.judge(validators.get(type)!, data);
}

/**
 * Checks data of types that may change. Each schema stands alone, and is compiled when it is first needed, because
 * compiling a thousand would block everything else for seconds.
 */
export class SingleChecks {
  /** A schema's `$id` is not kept, so two types may have the same, and a type may be replaced. */
  readonly #checker = new Checker({ addUsedSchema: false });
  readonly #validators = new WeakMap<JsonSchema, ValidateFunction>();

  /**
   * Decides what the sample of a type is: the given one, else the one that it had, if that still matches, else one made
   * from the schema. Throws `UnusableType` as `openDataCheck` does.
   */
  sampleFor({ name, schema, sample, before }: SampledType): EventType["sample"] {
    const validate = this.#of({ name, schema });
    if (sample !== undefined) return this.#checker.fitting({ name, sample }, validate);
    if (before !== undefined && this.#checker.faultIn(validate, before) === null) return before;
    const made = sampleOf(schema);
    const fault = this.#checker.faultIn(validate, made);
    if (fault === null && isObject(made)) return made;
    const why = isObject(made) ? textOf(fault!) : "data is always an object";
    throw new UnusableType(name, "sample", `needs a sample, because the one made from its schema is wrong: ${why}`);
  }

  check(type: Checked, data: Uint8Array): FieldError | null {
    return this.#checker.judge(this.#of(type), data);
  }

  #of({ name, schema }: Pick<Checked, "name" | "schema">): ValidateFunction {
    let validate = this.#validators.get(schema);
    if (validate === undefined) {
      validate = this.#checker.compile(name, schema);
      // Ajv would keep each schema for ever.
      this.#checker.forget(schema);
      this.#validators.set(schema, validate);
    }
    return validate;
  }
}

/** A type that is being set. */
export interface SampledType extends Pick<EventType, "name" | "schema"> {
  readonly sample?: EventType["sample"] | undefined;
  /** The sample that the type had. */
  readonly before?: EventType["sample"] | undefined;
}

function isObject(value: unknown): value is EventType["sample"] {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Ajv, without what takes more than linear time for some data. */
class Checker {
  readonly #ajv: Ajv2020;
  readonly #steps: Steps = { left: 0 };

  constructor(more: Options = {}) {
    const regExp = Object.assign((source: string) => new LinearPattern(source, this.#steps), { code: "" });
    // A number beyond a double is still a number, and `format` is an annotation in 2020-12. Only one rule of strict mode helps, the one
    // against unknown keywords.
    this.#ajv = new Ajv2020({
      validateFormats: false,
      strictNumbers: false,
      strictTypes: false,
      strictTuples: false,
      logger: false,
      code: { regExp },
      ...more,
    });
    // Ajv compares each item with each other one.
    this.#ajv.removeKeyword("uniqueItems").addKeyword({
      keyword: "uniqueItems",
      type: "array",
      schemaType: "boolean",
      validate: (isWanted: boolean, items: readonly unknown[]) => !isWanted || areUnique(items),
      error: { message: "must NOT have duplicate items" },
    });
  }

  judge(validate: ValidateFunction, data: Uint8Array): FieldError | null {
    return this.faultIn(validate, JSON.parse(utf8.decode(data)));
  }

  /** Throws `UnusableType`. */
  usable({ name, schema, sample }: Checked): ValidateFunction {
    const validate = this.compile(name, schema);
    this.fitting({ name, sample }, validate);
    return validate;
  }

  /** Returns the sample. Throws `UnusableType` if it does not match. */
  fitting({ name, sample }: Pick<Checked, "name" | "sample">, validate: ValidateFunction): EventType["sample"] {
    const fault = this.faultIn(validate, sample);
    if (fault === null) return sample;
    throw new UnusableType(name, "sample", `has a sample that does not match its schema: ${textOf(fault)}`);
  }

  forget(schema: JsonSchema): void {
    this.#ajv.removeSchema(schema);
  }

  /** Throws `UnusableType`. */
  compile(type: string, schema: JsonSchema): ValidateFunction {
    this.#steps.left = MAX_STEPS;
    try {
      return this.#ajv.compile(schema);
    } catch (error) {
      throw new UnusableType(type, "schema", `has a schema that cannot be used: ${(error as Error).message}`);
    }
  }

  faultIn(validate: ValidateFunction, value: unknown): FieldError | null {
    this.#steps.left = MAX_STEPS;
    try {
      return validate(value) ? null : faultOf(validate.errors![0]!);
    } catch (error) {
      if (!(error instanceof OutOfSteps)) throw error;
      return { pointer: "", code: "too_long", detail: "is too long to be compared with the patterns of its schema" };
    }
  }
}

function textOf({ pointer, detail }: FieldError): string {
  return `${pointer || "it"} ${detail}`;
}

function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map(canonical)).size === items.length;
}

/** The same text for the same value, whatever the order of its keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join()}}`;
}

function faultOf(error: ErrorObject): FieldError {
  const { keyword, params, instancePath, message = "does not fit" } = error as DefinedError;
  const at = (name: string) =>
    `${instancePath}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`.slice(0, MAX_POINTER);
  if (keyword === "required")
    return { pointer: at(params.missingProperty), code: "missing_field", detail: "is required" };
  if (keyword === "additionalProperties") {
    return {
      pointer: at(params.additionalProperty),
      code: "unknown_field",
      detail: "is not in the schema of this type",
    };
  }
  return { pointer: instancePath.slice(0, MAX_POINTER), code: CODES[keyword] ?? "invalid_type", detail: message };
}

const CODES: Readonly<Record<string, FieldCode>> = {
  minimum: "out_of_range",
  maximum: "out_of_range",
  exclusiveMinimum: "out_of_range",
  exclusiveMaximum: "out_of_range",
  maxLength: "too_long",
  maxItems: "too_long",
  maxProperties: "too_long",
  minLength: "too_few",
  minItems: "too_few",
  minProperties: "too_few",
};
