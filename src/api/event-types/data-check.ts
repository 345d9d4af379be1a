/** Checks the `data` of a publish against the schema of its type (`[events] validate`). Loaded only when needed. */
import type { DefinedError, ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { FieldCode, FieldError } from "../../domain/errors.ts";
import type { EventType } from "../../domain/events/event-type.ts";

/** Returns the first fault, with a pointer relative to the data, or null if the data fits. */
export type DataCheck = (type: string, data: Uint8Array) => FieldError | null;

/** A configured type that contradicts itself. The message is the end of a sentence. */
export class UnusableType extends Error {
  override readonly name = "UnusableType";
  readonly type: string;

  constructor(type: string, fault: string) {
    super(fault);
    this.type = type;
  }
}

/** Pointers are cut, because a caller's key may be as long as the body. */
const MAX_POINTER = 256;

/** Throws `UnusableType` for an invalid schema, and for a sample that does not fit its own schema. */
export function openDataCheck(types: Iterable<EventType>): DataCheck {
  // A number beyond a double is still a number, and `format` is an annotation in 2020-12. Only one rule of strict mode helps, the one
  // against unknown keywords.
  const ajv = new Ajv2020({
    validateFormats: false,
    strictNumbers: false,
    strictTypes: false,
    strictTuples: false,
    logger: false,
  });
  const validators = new Map<string, ValidateFunction>();
  for (const { name, schema, sample } of types) {
    const validate = compile(name, () => ajv.compile(schema));
    if (!validate(sample)) {
      const { pointer, detail } = faultOf(validate.errors![0]!);
      throw new UnusableType(name, `has a sample that does not match its schema: ${pointer || "it"} ${detail}`);
    }
    validators.set(name, validate);
  }
  return (type, data) => {
    const validate = validators.get(type)!;
    return validate(JSON.parse(utf8.decode(data))) ? null : faultOf(validate.errors![0]!);
  };
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

function compile(type: string, run: () => ValidateFunction): ValidateFunction {
  try {
    return run();
  } catch (error) {
    throw new UnusableType(type, `has a schema that cannot be used: ${(error as Error).message}`);
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
