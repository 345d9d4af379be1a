/**
 * The row of an attempt. A plain success that began within a second of its event, as nearly all do, has no row: the row
 * of its delivery contains it. It gets one as soon as another attempt is made, so that all attempts of a delivery are
 * in one place.
 */
import {
  answered,
  isByStatus,
  NO_PHASES,
  type AttemptError,
  type BodyError,
  type Outcome,
  type Phases,
} from "../../domain/deliveries/attempt.ts";
import { addressOf, parseAddress } from "../../domain/network/address.ts";
import type { Attempt, EndedAttempt } from "../store.ts";
import { attemptId, deliveryId, outcomeCode, outcomeOf, triggerCode, triggerOf } from "./codes.ts";

export interface AttemptRow {
  readonly event: number;
  readonly endpoint: number;
  readonly number: number;
  readonly url: number;
  readonly trigger: number;
  readonly round: number;
  readonly retry: number;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: number;
  readonly status_code: number | null;
  readonly error: AttemptError | null;
  readonly body_error: BodyError | null;
  readonly secret_version: number | null;
  readonly truncated: number;
  readonly body: Buffer | null;
  readonly details: string | null;
  readonly connection: Buffer | null;
}

/** The parts of a shown attempt that its row has no column for. */
export interface AttemptNames {
  /** The id of its event. */
  readonly event: string;
  /** The id of its endpoint. */
  readonly endpoint: string;
  readonly url: string;
  /** The version of the endpoint's present secret. */
  readonly secretNow: number;
}

const NO_BODY = new Uint8Array(0);

export function attemptOf(row: Omit<AttemptRow, "url">, { event, endpoint, url, secretNow }: AttemptNames): Attempt {
  const trigger = triggerOf(row.trigger);
  const onLadder = trigger === "ladder" || trigger === "replay";
  const details: Details =
    row.details === null
      ? { detail: answered(row.status_code), ...readConnection(row.connection, row.started_at) }
      : (JSON.parse(row.details) as Details);
  return {
    id: attemptId(event, row.endpoint, row.number),
    event,
    delivery: deliveryId(event, row.endpoint),
    endpoint,
    url,
    number: row.number,
    trigger,
    round: row.round,
    retry: onLadder ? row.retry : null,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: outcomeOf(row.outcome),
    statusCode: row.status_code,
    error: row.error,
    bodyError: row.body_error,
    secret: row.secret_version === null ? null : row.secret_version === secretNow ? "current" : "previous",
    ...details,
    responseBody: row.body ?? NO_BODY,
    responseTruncated: row.truncated === 1,
  };
}

/** The columns of the table, in the order of its definition. */
export const ATTEMPT_COLUMNS = [
  "event",
  "endpoint",
  "number",
  "url",
  "trigger",
  "round",
  "retry",
  "started_at",
  "duration_ms",
  "outcome",
  "status_code",
  "error",
  "body_error",
  "secret_version",
  "truncated",
  "body",
  "details",
  "connection",
] as const satisfies readonly (keyof AttemptRow)[];

/** The stored part of an attempt, whoever made it. */
export interface NewAttempt extends Omit<EndedAttempt, "claim" | "verdict"> {
  readonly claim: Pick<EndedAttempt["claim"], "number" | "trigger" | "round" | "retry">;
}

/** Makes the row of an attempt. Everything about a plain one is packed; a test is kept in full. */
export function attemptRow(event: number, endpoint: number, ended: NewAttempt): Omit<AttemptRow, "url"> {
  const { claim, outcome, secretVersion } = ended;
  const { detail, remoteAddress, phases, responseHeaders } = outcome;
  const isPacked = isByStatus(outcome) && claim.trigger !== "test";
  const startedAt = Math.round(ended.startedAt);
  return {
    event,
    endpoint,
    number: claim.number,
    trigger: triggerCode(claim.trigger),
    round: claim.round,
    retry: claim.retry,
    started_at: startedAt,
    duration_ms: Math.round(outcome.durationMs),
    outcome: outcomeCode(outcome.outcome),
    status_code: outcome.statusCode,
    error: outcome.error,
    body_error: outcome.bodyError,
    secret_version: secretVersion,
    truncated: outcome.responseTruncated ? 1 : 0,
    body: outcome.responseBody.length === 0 ? null : Buffer.from(outcome.responseBody),
    details: isPacked ? null : JSON.stringify({ detail, remoteAddress, phases, responseHeaders } satisfies Details),
    connection: isPacked ? packConnection(outcome, startedAt) : null,
  };
}

/**
 * The connection details of a plain success, packed into a few bytes: as JSON they would be larger than the rest of the
 * row.
 *
 *   flags · address, 4 or 16 bytes · each step that happened, in ms · date, in s after the start · the other headers
 *
 * This format is on disk: positions in the lists below never change, and additions go at the end.
 */
type Details = ConnectionDetails & Pick<Outcome, "detail">;
export type ConnectionDetails = Pick<Outcome, "remoteAddress" | "phases" | "responseHeaders">;
const UNKNOWN: ConnectionDetails = { remoteAddress: null, phases: NO_PHASES, responseHeaders: {} };

const STEPS = ["dnsMs", "connectMs", "tlsMs", "firstByteMs"] as const satisfies readonly (keyof Phases)[];
const HEADERS = ["content-type", "server", "location", "retry-after", "date", "content-encoding"];
/** Common values, each of which is written as one byte. */
const COMMON = (
  "application/json|application/json; charset=utf-8|application/json; charset=UTF-8|" +
  "application/json;charset=utf-8|application/json;charset=UTF-8|text/plain|text/plain; charset=utf-8|" +
  "text/plain; charset=UTF-8|text/plain;charset=utf-8|text/plain;charset=UTF-8|text/html|" +
  "text/html; charset=utf-8|text/html; charset=UTF-8|text/html;charset=utf-8|text/html;charset=UTF-8|" +
  "application/problem+json|application/octet-stream|application/xml|text/xml|nginx|Apache|cloudflare|" +
  "openresty|envoy|istio-envoy|uvicorn|gunicorn|Kestrel|Caddy|Cowboy|Google Frontend|awselb/2.0|" +
  "Microsoft-IIS/10.0|Vercel|Netlify|LiteSpeed|Werkzeug"
).split("|");
const PLACES = new Map(COMMON.map((text, place) => [text, place]));
const COMMON_FLAG = 0x80;
const ADDRESS_BYTES = [0, 4, 16] as const;
const STEP_FLAG = 4;
const DATE_FLAG = 64;
/** Larger than any packed value: 6 headers of 256 characters. */
const scratch = Buffer.alloc(8192);

export function packConnection(
  { remoteAddress, phases, responseHeaders }: ConnectionDetails,
  startedAt: number,
): Buffer {
  const address = remoteAddress === null ? [] : addressBytes(remoteAddress);
  const date = secondsOf(responseHeaders["date"]);
  let flags = ADDRESS_BYTES.indexOf(address.length as 0 | 4 | 16);
  let end = 1;
  for (const byte of address) scratch[end++] = byte;
  STEPS.forEach((step, at) => {
    const ms = phases[step];
    if (ms === null) return;
    flags |= STEP_FLAG << at;
    end = writeNumber(ms, end);
  });
  if (date !== null) {
    flags |= DATE_FLAG;
    const after = date - Math.floor(startedAt / 1000);
    end = writeNumber(after < 0 ? -2 * after - 1 : 2 * after, end);
  }
  scratch[0] = flags;
  HEADERS.forEach((name, at) => {
    const text = responseHeaders[name];
    if (text !== undefined && (name !== "date" || date === null)) end = writeHeader(at, text, end);
  });
  return Buffer.from(scratch.subarray(0, end));
}

/** Returns an empty result if there are no bytes. */
export function readConnection(bytes: Uint8Array | null, startedAt: number): ConnectionDetails {
  if (bytes === null) return UNKNOWN;
  const reader = new Reader(bytes);
  const flags = reader.byte();
  const address = reader.take(ADDRESS_BYTES[(flags & 3) as 0 | 1 | 2]);
  const phases: { -readonly [step in keyof Phases]: number | null } = { ...NO_PHASES };
  STEPS.forEach((step, at) => {
    if (flags & (STEP_FLAG << at)) phases[step] = reader.number();
  });
  const responseHeaders: Record<string, string> = {};
  if (flags & DATE_FLAG) {
    const after = reader.number();
    const seconds = Math.floor(startedAt / 1000) + (after % 2 === 1 ? -(after + 1) / 2 : after / 2);
    responseHeaders["date"] = new Date(seconds * 1000).toUTCString();
  }
  while (!reader.atEnd) {
    const tag = reader.byte();
    const text =
      tag & COMMON_FLAG ? (COMMON[reader.byte()] ?? "") : Buffer.from(reader.take(reader.number())).toString();
    responseHeaders[HEADERS[tag & ~COMMON_FLAG] ?? ""] = text;
  }
  return { remoteAddress: address.length === 0 ? null : addressOf(address), phases, responseHeaders };
}

/** Removes the headers that the receiver sent. */
export function withoutAnswer(bytes: Uint8Array, startedAt: number): Buffer {
  return packConnection({ ...readConnection(bytes, startedAt), responseHeaders: {} }, startedAt);
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  take(length: number): Uint8Array {
    return this.#bytes.subarray(this.#at, (this.#at += length));
  }

  number(): number {
    let [value, unit] = [0, 1];
    for (let byte = 128; byte >= 128 && !this.atEnd; unit *= 128) {
      byte = this.byte();
      value += (byte & 127) * unit;
    }
    return value;
  }
}

/** Writes seven bits per byte, the low ones first. */
function writeNumber(value: number, at: number): number {
  let end = at;
  for (; value >= 128; value = Math.floor(value / 128)) scratch[end++] = (value % 128) | 128;
  scratch[end++] = value;
  return end;
}

function writeHeader(name: number, text: string, at: number): number {
  const place = PLACES.get(text);
  if (place !== undefined) {
    scratch[at] = name | COMMON_FLAG;
    scratch[at + 1] = place;
    return at + 2;
  }
  scratch[at] = name;
  const end = writeNumber(Buffer.byteLength(text), at + 1);
  return end + scratch.write(text, end);
}

let lastAddress = { text: "", bytes: [] as readonly number[] };

/** Caches the last address, because many attempts in a row go to the same one. */
function addressBytes(text: string): readonly number[] {
  if (text !== lastAddress.text) lastAddress = { text, bytes: parseAddress(text)?.toByteArray() ?? [] };
  return lastAddress.bytes;
}

let lastDate = { text: "", seconds: null as number | null };

/** Returns null for a date in an unusual form, which is then kept as text. */
function secondsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (text !== lastDate.text) {
    const ms = Date.parse(text);
    const usual = !Number.isNaN(ms) && new Date(ms).toUTCString() === text;
    lastDate = { text, seconds: usual ? ms / 1000 : null };
  }
  return lastDate.seconds;
}
