/** Checks the `data` of a publish against the schema of its type. Loaded only when needed. */
import type { DefinedError, ErrorObject, Options, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { FieldCode, FieldError } from "../../domain/errors.ts";
import type { EventType, JsonSchema } from "../../domain/events/event-type.ts";

/** Returns the first fault, with a pointer relative to the data, or null if the data fits. */
export type DataCheck = (type: string, data: Uint8Array) => DataFault | null;

export interface DataFault extends FieldError {
  /** True if the event is accepted all the same. */
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

/** Pointers are cut, because a caller's key may be as long as the body. */
const MAX_POINTER = 256;

/** Throws `UnusableType` for an invalid schema, and for a sample that does not fit its own schema. */
export function openDataCheck(types: Iterable<Checked>): DataCheck {
  const ajv = newAjv();
  const validators = new Map<string, ValidateFunction>();
  for (const type of types)
    validators.set(
      type.name,
      usable(type, () => ajv.compile(type.schema)),
    );
  return (type, data) => judge(validators.get(type)!, data);
}

/**
 * Checks data of types that come and go. Each schema stands alone, and is compiled when it is first needed, because
 * compiling a thousand would stop everything else for seconds.
 */
export class SingleChecks {
  /** A schema's `$id` is not kept, so two types may have the same, and a type may be replaced. */
  readonly #ajv = newAjv({ addUsedSchema: false });
  readonly #validators = new WeakMap<JsonSchema, ValidateFunction>();

  /** Throws `UnusableType` as `openDataCheck` does. */
  require(type: Checked): void {
    this.#of(type);
  }

  check(type: Checked, data: Uint8Array): FieldError | null {
    return judge(this.#of(type), data);
  }

  #of(type: Checked): ValidateFunction {
    let validate = this.#validators.get(type.schema);
    if (validate === undefined) {
      validate = usable(type, () => this.#ajv.compile(type.schema));
      // Ajv would keep each schema for ever.
      this.#ajv.removeSchema(type.schema);
      this.#validators.set(type.schema, validate);
    }
    return validate;
  }
}

function newAjv(more: Options = {}): Ajv2020 {
  // A number beyond a double is still a number, and `format` is an annotation in 2020-12. Only one rule of strict mode helps, the one
  // against unknown keywords.
  return new Ajv2020({
    validateFormats: false,
    strictNumbers: false,
    strictTypes: false,
    strictTuples: false,
    logger: false,
    ...more,
  });
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

function judge(validate: ValidateFunction, data: Uint8Array): FieldError | null {
  return validate(JSON.parse(utf8.decode(data))) ? null : faultOf(validate.errors![0]!);
}

function usable({ name, sample }: Checked, run: () => ValidateFunction): ValidateFunction {
  const validate = compile(name, run);
  if (validate(sample)) return validate;
  const { pointer, detail } = faultOf(validate.errors![0]!);
  throw new UnusableType(name, "sample", `has a sample that does not match its schema: ${pointer || "it"} ${detail}`);
}

function compile(type: string, run: () => ValidateFunction): ValidateFunction {
  try {
    return run();
  } catch (error) {
    throw new UnusableType(type, "schema", `has a schema that cannot be used: ${(error as Error).message}`);
  }
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
