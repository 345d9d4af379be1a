/** Codes that stand for ids, words and names in rows. */
import { decodeBase32, encodeBase32, EVENTS_PER_MS, isId } from "../../domain/id.ts";
import { hash } from "node:crypto";
import type { Outcome, Trigger } from "../../domain/deliveries/attempt.ts";
import type { DeliveryStatus, StoredStatus } from "../../domain/deliveries/delivery.ts";
import type { TraceContext } from "../../domain/events/event.ts";

/**
 * Converts between keys of events and the public ids made from them. An id has 26 characters: the first 11 are an
 * integer that sorts in commit order, and the last ones are random, so that no id can be guessed from another.
 *
 *   evt_ 11 key · 15 random          dlv_ 11 key · 6 endpoint · 9 of the event's random
 *                                    att_ 11 key · 5 endpoint · 3 number · 7 of the event's random
 */

const KEY_END = 4 + 11;
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const RANDOM_CHARS = 15;
const POOLED_IDS = 256;
/**
 * An attempt id holds the number in three characters, modulo this, because many replays of one delivery can exceed it.
 */
const ATTEMPT_NUMBERS = 32 ** 3;

/** Returns the lowest key that begins with that instant. Only `KeyTimes` knows when an object with a key was made. */
export function firstKeyAt(instant: number): number {
  return Math.floor(instant) * EVENTS_PER_MS;
}

export function instantOf(key: number): number {
  return Math.floor(key / EVENTS_PER_MS);
}

/**
 * If an attempt begins within this time of its event, it is found by the event's key, so no index by time contains it.
 */
export const PROMPT_MS = 1000;

export function isPrompt(event: number, startedAt: number): boolean {
  const after = startedAt - instantOf(event);
  return after >= 0 && after < PROMPT_MS;
}

/** Random characters for event ids. Asks the system for many at once, because each call takes a few microseconds. */
export class RandomChars {
  readonly #random: (bytes: number) => Uint8Array;
  #pool: Uint8Array = new Uint8Array(0);
  #used = 0;

  constructor(random: (bytes: number) => Uint8Array) {
    this.#random = random;
  }

  next(): string {
    if (this.#used === this.#pool.length) {
      this.#pool = this.#random(RANDOM_CHARS * POOLED_IDS);
      this.#used = 0;
    }
    let text = "";
    for (const end = this.#used + RANDOM_CHARS; this.#used < end; this.#used++) {
      text += ALPHABET[this.#pool[this.#used]! & 31];
    }
    return text;
  }
}

export function eventId(key: number, random: string): string {
  return `evt_${encodeBase32(key, 11)}${random}`;
}

export function deliveryId(event: string, endpoint: number): string {
  return `dlv_${event.slice(4, KEY_END)}${encodeBase32(endpoint, 6)}${event.slice(KEY_END, KEY_END + 9)}`;
}

export function attemptId(event: string, endpoint: number, number: number): string {
  const place = encodeBase32(endpoint, 5) + encodeBase32(number % ATTEMPT_NUMBERS, 3);
  return `att_${event.slice(4, KEY_END)}${place}${event.slice(KEY_END, KEY_END + 7)}`;
}

/** Returns null if this is not an event id. The random part must still be compared with the row's. */
export function parseEventId(id: string): { readonly key: number; readonly random: string } | null {
  if (!isId("evt", id)) return null;
  const key = decodeBase32(id.slice(4, KEY_END));
  return key === null ? null : { key, random: id.slice(KEY_END) };
}

/** Returns null if this is not a delivery id. `check` must be the beginning of the event's random part. */
export function parseDeliveryId(
  id: string,
): { readonly event: number; readonly endpoint: number; readonly check: string } | null {
  if (!isId("dlv", id)) return null;
  const event = decodeBase32(id.slice(4, KEY_END));
  const endpoint = decodeBase32(id.slice(KEY_END, KEY_END + 6))!;
  return event === null ? null : { event, endpoint, check: id.slice(KEY_END + 6) };
}

export function parseAttemptId(
  id: string,
): { readonly event: number; readonly endpoint: number; readonly number: number; readonly check: string } | null {
  if (!isId("att", id)) return null;
  const event = decodeBase32(id.slice(4, KEY_END));
  const endpoint = decodeBase32(id.slice(KEY_END, KEY_END + 5))!;
  const number = decodeBase32(id.slice(KEY_END + 5, KEY_END + 8))!;
  return event === null ? null : { event, endpoint, number, check: id.slice(KEY_END + 8) };
}

/** Returns the key of an id that we made ourselves. */
export function keyOf(event: string): number {
  const key = decodeBase32(event.slice(4, KEY_END));
  if (key === null) throw new Error(`not an event id: ${event}`);
  return key;
}

/** Returns the key at which a position's event sorts: ids sort as text, with "" before and "~" after all of them. */
export function positionKey(event: string): number {
  return parseEventId(event)?.key ?? (event < "evt_" ? -1 : Number.MAX_SAFE_INTEGER);
}

/* The order of these words is on disk, so add only at the end. */
export const FRESH = 0;
export const WAITING = 1;
export const DELIVERED = 2;
export const FAILED = 3;
export const CANCELLED = 4;
export const SHADOWED = 5;

/**
 * A waiting delivery whose `due_at` is at least this waits behind another one of its ordering key, and is not due. The
 * rest of the number is the earliest time for it. So everything that looks for what is due passes it by, and
 * everything that looks for what is pending finds it.
 */
export const BEHIND = 2 ** 52;

export function isBehind(dueAt: number | null): boolean {
  return dueAt !== null && dueAt >= BEHIND;
}

const STORED: readonly StoredStatus[] = ["fresh", "waiting", "delivered", "failed", "cancelled", "shadowed"];
const STATUSES: readonly DeliveryStatus[] = ["pending", "pending", "delivered", "failed", "cancelled", "shadowed"];
const TRIGGERS: readonly Trigger[] = ["ladder", "replay", "manual", "test"];
const OUTCOMES: readonly Outcome["outcome"][] = ["succeeded", "failed", "interrupted"];

export const statusOf = (code: number): DeliveryStatus => STATUSES[code]!;
export const storedStatusOf = (code: number): StoredStatus => STORED[code]!;
export const storedStatusCode = (status: StoredStatus): number => STORED.indexOf(status);
export const triggerCode = (trigger: Trigger): number => TRIGGERS.indexOf(trigger);
export const triggerOf = (code: number): Trigger => TRIGGERS[code]!;
export const outcomeCode = (outcome: Outcome["outcome"]): number => OUTCOMES.indexOf(outcome);
export const outcomeOf = (code: number): Outcome["outcome"] => OUTCOMES[code]!;

/** Returns one string: the traceparent, which contains no space, and the tracestate after a space. */
export function traceText(trace: TraceContext | undefined): string | null {
  if (trace === undefined) return null;
  return trace.tracestate === null ? trace.traceparent : `${trace.traceparent} ${trace.tracestate}`;
}

export function traceOf(text: string | null): TraceContext | undefined {
  if (text === null) return undefined;
  const space = text.indexOf(" ");
  if (space < 0) return { traceparent: text, tracestate: null };
  return { traceparent: text.slice(0, space), tracestate: text.slice(space + 1) };
}

/** Returns the SHA-256 of an event's bytes, because SQLite does not notice a flipped bit in a row's data. */
export function bodyHash(body: Uint8Array): Buffer {
  // A Buffer from `hash` would be a separate allocation outside the heap, and take half again as long.
  return Buffer.from(hash("sha256", body, "binary"), "binary");
}

const CLOSE = Buffer.from("}");

/**
 * Returns the hash of an event whose data is in a separate row. The event's row then has only the head of the envelope.
 */
export function hashOf(head: Uint8Array, dataHash: Uint8Array): Buffer {
  return bodyHash(Buffer.concat([head, dataHash]));
}

export interface StoredBody {
  /** The envelope, or its head. Null once the event was erased. */
  readonly body: Buffer | null;
  readonly body_hash: Buffer;
  /**
   * The bytes after the head, without the closing brace. Null if `body` is the whole envelope, or if the row is lost.
   */
  readonly data: Buffer | null;
}

/** Returns the envelope as far as it exists. `isIntact` is true if it is unchanged since it was written. */
export function wholeBody({ body: stored, body_hash: hash, data }: StoredBody): { body: Buffer; isIntact: boolean } {
  const body = stored ?? Buffer.alloc(0);
  if (data === null) return { body, isIntact: bodyHash(body).equals(hash) };
  return { body: Buffer.concat([body, data, CLOSE]), isIntact: hashOf(body, bodyHash(data)).equals(hash) };
}
