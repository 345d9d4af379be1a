/**
 * Reads request bodies from Node's own stream (h3's `arrayBuffer()` uses web streams, at five times the cost). Collects
 * the faults of their fields, found by our readers or by valibot, into one `validation_failed`.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import { nearest } from "../../domain/nearest.ts";
import { FIELD_CODES, type FieldCode, type FieldError, WebhookdError } from "../../domain/errors.ts";
import { type JsonLimits, parseJson } from "../../domain/json/json.ts";
import { type TenantShares, TenantTurns, type Waiting } from "../../domain/time/timetable.ts";
import { listed } from "../../domain/wording.ts";
import { type BodyMemory, giveBack, pour } from "../server/body-memory.ts";
import { PlainRequest } from "../server/plain-requests.ts";

/** The client disconnected before its request was complete. Nobody is left to answer, and nothing may be stored. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** True if the headers allow a body. A chunked body may still turn out to be empty. */
export function mayHaveBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || hasDeclaredBody(req);
}

export function hasDeclaredBody(req: IncomingMessage): boolean {
  return Number(req.headers["content-length"] ?? 0) > 0;
}

/** The pattern by which Node recognises the header. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Some clients leave out the hyphen, although the registered name has one. */
const UTF8 = /^charset\s*=\s*(?:utf-?8|"utf-?8"|'utf-?8')$/i;

/**
 * Returns the media type in lower case. Throws unless it is in `known`, in UTF-8 and not compressed, because any web
 * page could send a form or plain text without a preflight.
 */
export function mediaTypeOf(req: IncomingMessage, known: readonly string[] = ["application/json"]): string {
  const { "content-type": given = "", "content-encoding": encoding } = req.headers;
  if (encoding === undefined && known.includes(given)) return given;
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new WebhookdError("unsupported_media_type", "send the body without a content-encoding", {
      errors: [{ pointer: "", code: "unsupported_content_encoding", detail: "compressed bodies are not read" }],
    });
  }
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim());
  const charset = parameters.find((parameter) => /^charset\s*=/i.test(parameter));
  const utf8 = charset === undefined || UTF8.test(charset);
  if (known.includes(type.toLowerCase()) && utf8) return type.toLowerCase();
  throw new WebhookdError("unsupported_media_type", `send JSON in UTF-8, with content-type: ${known.join(" or ")}`);
}

export interface BodyRules {
  readonly maxBytes: number;
  /** Called with the number of bytes before they are kept or refused, beginning with the declared length. May throw. */
  readonly hold?: (bytes: number) => void;
  /** Resolves when more of a long body may be read. Null if it may be read at once. */
  readonly turn?: (bytes: number) => Promise<void> | null;
  /** Provides the memory for long bodies. */
  readonly memory: BodyMemory;
}

/** Bytes of each body that are read without waiting for a turn. */
export const SHORT_BYTES = 128 * 1024;

/** Reads the whole body. Throws `payload_too_large` as soon as it is known to exceed `maxBytes`. */
export function readBody(
  req: IncomingMessage | PlainRequest,
  res: ServerResponse,
  { maxBytes, hold, turn, memory }: BodyRules,
): Promise<Buffer> | Buffer {
  const declared = Number(req.headers["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  hold?.(declared);
  if (req instanceof PlainRequest) return req.body;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    /** Collects a long body as it arrives. Joining megabytes at the end would block everyone for milliseconds. */
    let whole: Buffer | null = null;
    let size = 0;
    const take = (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      try {
        if (size > declared) hold?.(chunk.length);
        if (size > maxBytes) throw tooLarge(maxBytes);
        if (size > SHORT_BYTES && size <= declared) whole = pour(chunks, size, whole ?? memory.take(declared));
        const waited = size > SHORT_BYTES ? turn?.(chunk.length) : null;
        if (waited) {
          req.pause();
          waited.then(() => req.resume()).catch(giveUp);
        }
      } catch (error) {
        giveUp(error);
      }
    };
    const giveUp = (error: unknown) => {
      req.off("data", take).pause();
      for (const chunk of chunks.splice(0)) giveBack(chunk);
      if (whole !== null) memory.giveBack(whole);
      whole = null;
      reject(error);
    };
    // The client may have disconnected while its key was being looked up. No further event would be emitted then.
    if (req.destroyed) return reject(new ClientGone());
    // A request that fails is closed too, so "close" is enough. It is emitted for every request, and creating an error
    // is expensive, so create it only if needed.
    req.on("close", () => req.readableEnded || giveUp(new ClientGone()));
    const joined = () => (chunks.length === 1 ? chunks[0]! : pour(chunks, size, Buffer.allocUnsafe(size)));
    req.on("end", () => {
      try {
        resolve(whole ?? joined());
      } catch (error) {
        giveUp(error);
      }
    });
    if (CONTINUE.test(req.headers.expect ?? "")) res.writeContinue();
    req.on("data", take);
  });
}

function tooLarge(maxBytes: number): WebhookdError {
  return new WebhookdError("payload_too_large", `the body is larger than ${maxBytes} bytes`);
}

/**
 * TURN_BYTES of bodies are read and parsed per turn of the event loop, which takes some milliseconds. PIECE_COST is the
 * fixed cost of a piece.
 */
const [TURN_BYTES, PIECE_COST] = [256 * 1024, 4096];
/** Work up to SHORT_COST is short. SHORT_TURN_COST of short work starts at once in each turn. */
const [SHORT_COST, SHORT_TURN_COST] = [16 * 1024, 256 * 1024];

/** The cost of any other call, in the same unit: four calls fill a turn. */
export const CALL_COST = 64 * 1024;

interface Step extends Waiting {
  readonly go: () => void;
}

/**
 * Spreads the work on bodies and other calls over turns of the event loop, and alternates between tenants, so that
 * others are served however much one of them sends. Short work starts at once, because a turn may take as long as the
 * commit of a long body.
 */
export class BodyTurns {
  readonly #steps: TenantTurns<Step>;
  readonly #nextTurn: (run: () => void) => void;
  #left = TURN_BYTES;
  #leftForShort = SHORT_TURN_COST;
  #isComing = false;

  constructor(shares: TenantShares, nextTurn: (run: () => void) => void) {
    this.#steps = new TenantTurns(shares);
    this.#nextTurn = nextTurn;
  }

  /** Returns null if work on this many bytes may start at once, or a promise that resolves when it may. */
  take(tenant: string, bytes: number): Promise<void> | null {
    const cost = bytes + PIECE_COST;
    this.#come();
    if (this.#left > 0 && this.#steps.size === 0) {
      this.#left -= cost;
      return null;
    }
    if (cost <= SHORT_COST && this.#leftForShort > 0) {
      this.#leftForShort -= cost;
      return null;
    }
    return new Promise((go) => this.#steps.add({ tenant, cost, go }));
  }

  #come(): void {
    if (this.#isComing) return;
    this.#isComing = true;
    this.#nextTurn(() => this.#turn());
  }

  #turn(): void {
    this.#isComing = false;
    this.#left = TURN_BYTES;
    this.#leftForShort = SHORT_TURN_COST;
    while (this.#left > 0) {
      const step = this.#steps.take();
      if (step === undefined) break;
      this.#left -= step.cost;
      step.go();
    }
    if (this.#left < TURN_BYTES) this.#come();
  }
}

/** More faults would only make the answer longer. */
const MAX_FAULTS = 20;
const MAX_KEY = 100;

const DETAILS: Partial<Record<FieldCode, string>> = {
  missing_field: "is required",
  unknown_field: "is not a field of this body",
};

/** The issues that valibot reports for numbers out of bounds. */
const BOUNDS = new Set(["min_value", "max_value", "gt_value", "lt_value"]);

export class Faults {
  readonly #errors: FieldError[] = [];

  get some(): boolean {
    return this.#errors.length > 0;
  }

  get all(): readonly FieldError[] {
    return this.#errors;
  }

  /** A detail that takes a while is only asked for if it is kept. */
  add(pointer: string, code: FieldCode, detail: string | (() => string) = DETAILS[code] ?? code): void {
    if (this.#errors.length >= MAX_FAULTS) return;
    this.#errors.push({ pointer, code, detail: typeof detail === "string" ? detail : detail() });
  }

  throwAny(): void {
    if (this.some) throw validationFailed(this.#errors);
  }
}

/** `errors` must not be empty. The sentence comes from the first one. */
export function validationFailed(errors: readonly FieldError[]): WebhookdError {
  const { pointer, detail } = errors[0]!;
  return new WebhookdError("validation_failed", pointer === "" ? detail : `${pointer} ${detail}`, { errors });
}

/** Builds an RFC 6901 pointer. The key is shortened, because a caller's key may be as long as the body. */
export function memberPointer(parent: string, key: string): string {
  return `${parent}/${key.slice(0, MAX_KEY).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * Reads a JSON body with a valibot schema. The schema's messages are field codes, or a code and a sentence (`too_long:
 * at most 256 characters`). An issue without a message becomes `out_of_range` or `invalid_type`.
 */
export function readJson<S extends v.GenericSchema>(
  body: Uint8Array,
  schema: S,
  limits: Partial<JsonLimits> = {},
): v.InferOutput<S> {
  if (body.length === 0) throw missingBody(requiredBy(schema));
  const value = parseJson(body, limits);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw validationFailed([{ pointer: "", code: "invalid_body", detail: "the body must be a JSON object" }]);
  }
  return checked(schema, value);
}

function requiredBy(schema: v.GenericSchema): string[] {
  const faults = (v.safeParse(schema, {}).issues ?? []).map(fieldError);
  return faults.filter(({ code }) => code === "missing_field").map(({ pointer }) => pointer.slice(1));
}

/** `names` are the required fields. */
export function missingBody(names: readonly string[]): WebhookdError {
  const needs = names.length === 0 ? "" : `, with ${listed(names, "and")}`;
  const detail = `the request has no body: send a JSON object${needs}`;
  return new WebhookdError("invalid_json", detail, { errors: [{ pointer: "", code: "invalid_body", detail }] });
}

/** True if the body is an empty object, which means the same as no body. */
export function saysNothing(body: Uint8Array): boolean {
  return /^[\t\n\r ]*\{[\t\n\r ]*\}[\t\n\r ]*$/.test(Buffer.from(body).toString("latin1"));
}

/** Parses a value with a schema. Throws `validation_failed`. */
export function checked<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw validationFailed(result.issues.slice(0, MAX_FAULTS).map(fieldError));
}

/** The fault that a caller is told of. It never repeats the value. */
export function fieldError(issue: v.BaseIssue<unknown>): FieldError {
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

/** The types that a schema may expect, in words for the author of the body. */
const WORDS: Readonly<Record<string, string>> = {
  Array: "a list",
  array: "a list",
  Object: "an object",
  object: "an object",
  string: "a string",
  number: "a number",
  boolean: "true or false",
};
/** Longer operators first, so that `<` does not match `<=`. */
const SIGNS = [
  [">=", "at least "],
  ["<=", "at most "],
  [">", "more than "],
  ["<", "less than "],
] as const;

/** Returns the fault of a name that is in no catalogue, and suggests a similar one. */
export function unknownType(name: string, types: ReadonlyMap<string, unknown>): string {
  const near = nearest(name, types.keys());
  return `is not a known event type; ${near === null ? "see GET /v1/webhooks/event-types" : `did you mean ${near}?`}`;
}

/** Puts an issue's `expected` into words: a name, a bound, a value, or several of them as `(a | b)`. */
export function inWords(expected: string): string {
  const names = expected.replace(/^\((.*)\)$/s, "$1").split(" | ");
  return listed(names.map(word), "or");
}

function word(expected: string): string {
  const bound = SIGNS.find(([sign]) => expected.startsWith(sign));
  return bound === undefined ? (WORDS[expected] ?? expected) : `${bound[1]}${expected.slice(bound[0].length)}`;
}

export type JsonObject = Readonly<Record<string, unknown>>;
