/**
 * Bodies: their bytes, from Node's own stream (h3's `arrayBuffer()` goes through web streams at five times the cost), and
 * the faults of their fields, gathered into one `validation_failed`, whether our own readers found them or valibot.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import * as v from "valibot";
import { nearest } from "../../config/mistake.ts";
import { FIELD_CODES, type FieldCode, type FieldError, WebhookdError } from "../../domain/errors.ts";
import { parseJson } from "../../domain/json/json.ts";
import { type TenantShares, TenantTurns, type Waiting } from "../../domain/time/timetable.ts";
import { listed } from "../../domain/wording.ts";
import { type BodyMemory, giveBack, pour } from "../server/body-memory.ts";
import { PlainRequest } from "../server/plain-requests.ts";

/** The client went away before its request was complete: nobody is left to answer, nothing may be stored. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

/** Whether it has a body for all that its headers say: one that comes in chunks may turn out to be empty. */
export function mayHaveBody(req: IncomingMessage): boolean {
  return req.headers["transfer-encoding"] !== undefined || hasDeclaredBody(req);
}

export function hasDeclaredBody(req: IncomingMessage): boolean {
  return Number(req.headers["content-length"] ?? 0) > 0;
}

/** As Node recognises it. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/** Not every client writes the hyphen, though no registry knows the name without it. */
const UTF8 = /^charset\s*=\s*(?:utf-?8|"utf-?8"|'utf-?8')$/i;

/**
 * The media type, in lower case, if it is one of `known`, in UTF-8 and not encoded: a form or plain text could be sent
 * by any web page without a preflight.
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
  /** Hears of the bytes before they are kept or refused, first of those that were declared, and may throw. */
  readonly hold?: (bytes: number) => void;
  /** When more of a long body may be read; null: at once. */
  readonly turn?: (bytes: number) => Promise<void> | null;
  /** For what is long. */
  readonly memory: BodyMemory;
}

/** What is read of each body without waiting for a turn. */
export const SHORT_BYTES = 128 * 1024;

/** All of the body, or `payload_too_large` as soon as it is known to exceed `maxBytes`. */
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
    /** A long body, as it comes: to join megabytes at its end would hold up everyone for milliseconds. */
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
    // The client may have gone while its key was looked up; then no event would ever follow.
    if (req.destroyed) return reject(new ClientGone());
    // An error of the request is followed by its close. Emitted for every request, and an error is dear to make.
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

/** Bytes of bodies that one turn of the event loop takes in and apart, some milliseconds; what a piece costs beside them. */
const [TURN_BYTES, PIECE_COST] = [256 * 1024, 4096];
/** Up to this cost it is short; so much of that begins at once in a turn. */
const [SHORT_COST, SHORT_TURN_COST] = [16 * 1024, 256 * 1024];

/** Of any other call, in the same measure: four of them are a turn. */
export const CALL_COST = 64 * 1024;

interface Step extends Waiting {
  readonly go: () => void;
}

/**
 * Work on bodies and on other calls is shared out over the turns of the event loop, and in each by turns of tenants: however much one sends,
 * others are looked at in between. What is short begins at once: a turn may be as long as the commit of a long body.
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

  /** Null when so many bytes may be worked on at once, else resolves when they may. */
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
  if (body.length === 0) throw missingBody(requiredBy(schema));
  const value = parseJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw validationFailed([{ pointer: "", code: "invalid_body", detail: "the body must be a JSON object" }]);
  }
  return checked(schema, value);
}

function requiredBy(schema: v.GenericSchema): string[] {
  const faults = (v.safeParse(schema, {}).issues ?? []).map(fieldError);
  return faults.filter(({ code }) => code === "missing_field").map(({ pointer }) => pointer.slice(1));
}

/** `names` are the fields that it must have. */
export function missingBody(names: readonly string[]): WebhookdError {
  const needs = names.length === 0 ? "" : `, with ${listed(names, "and")}`;
  const detail = `the request has no body: send a JSON object${needs}`;
  return new WebhookdError("invalid_json", detail, { errors: [{ pointer: "", code: "invalid_body", detail }] });
}

/** Whether it is an empty object, which says as much as no body at all. */
export function saysNothing(body: Uint8Array): boolean {
  return /^[\t\n\r ]*\{[\t\n\r ]*\}[\t\n\r ]*$/.test(Buffer.from(body).toString("latin1"));
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

/** Of an issue's `expected`: a name, a bound, a value, or several of them as `(a | b)`. */
export function inWords(expected: string): string {
  const names = expected.replace(/^\((.*)\)$/s, "$1").split(" | ");
  return listed(names.map(word), "or");
}

function word(expected: string): string {
  const bound = SIGNS.find(([sign]) => expected.startsWith(sign));
  return bound === undefined ? (WORDS[expected] ?? expected) : `${bound[1]}${expected.slice(bound[0].length)}`;
}

export type JsonObject = Readonly<Record<string, unknown>>;
