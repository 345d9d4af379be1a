/**
 * The messages between the main thread and a sender's thread, in batches. A structured clone takes a microsecond for an
 * object of a dozen fields, and two cross for each attempt. So the usual send and the usual success travel as rows of
 * numbers and one string, and everything else as objects.
 */
import type { AddressRules } from "../../domain/network/address.ts";
import { isPlain, plainSuccess, type Ended, type Outcome, type Trigger } from "../../domain/deliveries/attempt.ts";
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";
import type { SenderSettings } from "../send/open-sender.ts";

export interface SenderThreadData {
  readonly settings: SenderSettings;
  /**
   * A byte for each slot, set to 1 while its send is on the wire, so that the main thread can tell after the thread has
   * died.
   */
  readonly onWire: SharedArrayBuffer;
}

export type ToSender =
  | { readonly kind: "sends"; readonly sends: PackedSends }
  | { readonly kind: "target"; readonly target: Target; readonly low?: boolean; readonly call: number }
  | { readonly kind: "limit"; readonly maxInFlight: number }
  | { readonly kind: "egress"; readonly rules: AddressRules }
  | { readonly kind: "forget"; readonly endpoint: string; readonly isGone?: boolean; readonly call: number }
  | { readonly kind: "pause" | "drain"; readonly call: number }
  | { readonly kind: "resume" | "probe" | "abort" | "close" };

export type FromSender =
  | { readonly kind: "ended"; readonly ends: PackedEnds; readonly caps: readonly (readonly [string, number])[] }
  | { readonly kind: "answer"; readonly call: number; readonly result: unknown };

/** A send with the slot that it holds on the main thread until it ends. */
export interface SlottedSend extends Send {
  readonly slot: number;
}

export interface SlottedEnd {
  readonly slot: number;
  readonly trigger: Trigger;
  readonly ended: Ended;
}

/** Endpoints and URLs repeat within a batch, so each is written once and the rows hold its index. */
export interface PackedSends {
  readonly rows: Float64Array<ArrayBuffer>;
  /** Event and delivery ids alternate, separated by spaces. */
  readonly ids: string;
  readonly endpoints: readonly string[];
  readonly bodies: Uint8Array<ArrayBuffer>;
  /** The other fields of sends that are not a plain step of the ladder. */
  readonly unusual: readonly (readonly [at: number, Unusual])[];
}

type Unusual = Pick<Send, "trigger" | "corrupt" | "trace" | "pace" | "ordered">;

const NO_BYTES = new Uint8Array(0);
const SEND_ROW = 5;

export function packSends(sends: readonly Send[], slots: readonly number[]): PackedSends {
  let size = 0;
  for (const { body } of sends) size += body.byteLength;
  const bodies = new Uint8Array(size);
  const rows = new Float64Array(sends.length * SEND_ROW);
  const endpoints = new Places<string>();
  const unusual: [number, Unusual][] = [];
  const ids: string[] = [];
  let end = 0;
  sends.forEach((send, at) => {
    const { event, delivery, endpoint, body, number, fresh, trigger, trace, corrupt = false, pace, ordered } = send;
    bodies.set(body, end);
    end += body.byteLength;
    ids.push(event, delivery);
    const row = at * SEND_ROW;
    rows[row] = slots[at]!;
    rows[row + 1] = endpoints.of(endpoint);
    rows[row + 2] = number;
    rows[row + 3] = fresh ? 1 : 0;
    rows[row + 4] = end;
    if (trigger !== "ladder" || trace || corrupt || pace || ordered)
      unusual.push([at, { trigger, trace, corrupt, pace, ordered }]);
  });
  return { rows, ids: ids.join(" "), endpoints: endpoints.all, bodies, unusual };
}

export function unpackSends({ rows, ids, endpoints, bodies, unusual }: PackedSends): SlottedSend[] {
  const texts = ids.split(" ");
  const all = Buffer.from(bodies.buffer);
  const sends: SlottedSend[] = [];
  let start = 0;
  for (let at = 0; at < rows.length / SEND_ROW; at++) {
    const row = at * SEND_ROW;
    const end = rows[row + 4]!;
    sends.push({
      slot: rows[row]!,
      event: texts[2 * at]!,
      delivery: texts[2 * at + 1]!,
      endpoint: endpoints[rows[row + 1]!]!,
      body: all.subarray(start, end),
      number: rows[row + 2]!,
      trigger: "ladder",
      fresh: rows[row + 3] === 1,
    });
    start = end;
  }
  for (const [at, more] of unusual) sends[at] = { ...sends[at]!, ...more };
  return sends;
}

/** A plain success is a row, like a plain send. Unknown times in it are NaN. */
export interface PackedEnds {
  readonly rows: Float64Array<ArrayBuffer>;
  readonly urls: readonly string[];
  readonly addresses: readonly (string | null)[];
  readonly headers: readonly Outcome["responseHeaders"][];
  /** The kept bytes of the responses, one after another. */
  readonly bodies: Uint8Array<ArrayBuffer>;
  readonly unusual: readonly SlottedEnd[];
}

const END_ROW = 14;

export function packEnds(ends: readonly SlottedEnd[]): PackedEnds {
  const urls = new Places<string>();
  const addresses = new Places<string | null>();
  const headers = new Places<Outcome["responseHeaders"]>();
  const rows: number[] = [];
  const bodies: Uint8Array[] = [];
  const unusual: SlottedEnd[] = [];
  for (const end of ends) {
    const { outcome, startedAt, secretVersion, url } = end.ended;
    if (end.trigger === "test" || !isPlain(outcome)) {
      unusual.push(compact(end));
      continue;
    }
    const { durationMs, statusCode, responseTruncated, responseBody: body, phases } = outcome;
    // 0 stands for null, because versions count from 1.
    const version = secretVersion ?? 0;
    rows.push(end.slot, startedAt, durationMs, statusCode!, version, urls.of(url), +responseTruncated, body.byteLength);
    rows.push(addresses.of(outcome.remoteAddress), headers.of(outcome.responseHeaders));
    rows.push(phases.dnsMs ?? NaN, phases.connectMs ?? NaN, phases.tlsMs ?? NaN, phases.firstByteMs ?? NaN);
    if (body.byteLength > 0) bodies.push(body);
  }
  return {
    rows: new Float64Array(rows),
    urls: urls.all,
    addresses: addresses.all,
    headers: headers.all,
    bodies: new Uint8Array(Buffer.concat(bodies)),
    unusual,
  };
}

/** `sendOf` returns the send that holds a slot. A slot without one is skipped. */
export function unpackEnds(
  { rows, urls, addresses, headers, bodies, unusual }: PackedEnds,
  sendOf: (slot: number) => Send | undefined,
): Ended[] {
  const ends = unusual.map(({ ended }) => ended);
  let start = 0;
  for (let row = 0; row < rows.length; row += END_ROW) {
    const length = rows[row + 7]!;
    const body = length === 0 ? NO_BYTES : bodies.subarray(start, start + length);
    start += length;
    const send = sendOf(rows[row]!);
    if (send === undefined) continue;
    ends.push({
      delivery: send.delivery,
      endpoint: send.endpoint,
      url: urls[rows[row + 5]!]!,
      startedAt: rows[row + 1]!,
      secretVersion: rows[row + 4]! || null,
      outcome: plainSuccess(rows[row + 3]!, rows[row + 2]!, {
        remoteAddress: addresses[rows[row + 8]!]!,
        responseHeaders: headers[rows[row + 9]!]!,
        phases: {
          dnsMs: known(rows[row + 10]!),
          connectMs: known(rows[row + 11]!),
          tlsMs: known(rows[row + 12]!),
          firstByteMs: known(rows[row + 13]!),
        },
        responseBody: body,
        responseTruncated: rows[row + 6] === 1,
      }),
    });
  }
  return ends;
}

function known(ms: number): number | null {
  return Number.isNaN(ms) ? null : ms;
}

/** A small body may be a view into a large buffer, all of which would be copied with it. */
function compact(end: SlottedEnd): SlottedEnd {
  const { outcome } = end.ended;
  if (outcome.responseBody.byteLength === outcome.responseBody.buffer.byteLength) return end;
  const responseBody = new Uint8Array(outcome.responseBody);
  return { ...end, ended: { ...end.ended, outcome: { ...outcome, responseBody } } };
}

/** Numbers the distinct items of a batch in the order of their first appearance. */
class Places<T> {
  readonly all: T[] = [];
  #last = -1;

  of(item: T): number {
    // An item usually equals the one before, and comparing pointers is cheaper than searching.
    if (this.#last >= 0 && this.all[this.#last] === item) return this.#last;
    const known = this.all.indexOf(item);
    return (this.#last = known >= 0 ? known : this.all.push(item) - 1);
  }
}
