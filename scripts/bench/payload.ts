/**
 * The 1 KB that everybody posts: a whole envelope for receivers, and its `data` for publishers. Also the endpoint that
 * gets it.
 */
import type { SignatureOptions } from "../../src/delivery/send/signer.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";
import { envelope } from "../../src/domain/events/event.ts";
import type { Capacity } from "../../src/domain/events/routing.ts";

export const EVENT_TYPE = "transaction.enriched";
/** The type that the attacking tenant publishes. It must be in the catalogue, or all of its events would be refused. */
export const FLOOD_TYPE = "goal.achieved";
/** The size of the envelope, which is sent to a receiver. */
export const BODY_BYTES = 1024;
/** The digits of an event's number, all of one width, so that a number can be changed in place. */
export const DIGITS = 10;

export const ENDPOINT = `ep_${"0".repeat(26)}`;
export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=";
export const SIGNATURE: SignatureOptions = {
  header: "X-Service-Signature",
  standardWebhooks: true,
  also: [],
  version: "bench",
};

const SEQ_START = '"seq":"';
const ID = `evt_${"0".repeat(26)}`;

/** The data that every publisher sends. It begins with the event's number. */
export const DATA: string = dataText();
/** An envelope that is as long as any other of this type. */
export const ENVELOPE: Buffer = envelope(ID, EVENT_TYPE, 0, Buffer.from(DATA));
/** The position of the number in an envelope. */
export const SEQ_AT = ENVELOPE.indexOf(SEQ_START) + SEQ_START.length;

/** Returns `{"type","tenant"?,"data"}` as a publisher sends it, with all numbers and tenants zero. */
export function publishText(withTenant: boolean): string {
  const tenant = withTenant ? `"tenant":"${tenantName(0)}",` : "";
  return `{"type":"${EVENT_TYPE}",${tenant}"data":${DATA}}`;
}

/** Tenants are numbered too, with four digits. */
export function tenantName(index: number): string {
  return `t${String(index).padStart(4, "0")}`;
}

/** The single endpoint of a process without a store. */
export function targetOf(url: string): Target {
  return {
    endpoint: ENDPOINT,
    tenant: "default",
    url,
    enabled: true,
    headers: {},
    signingSecret: SECRET,
    secretVersion: 1,
    nextSigningSecret: null,
    format: "envelope",
    traceContext: false,
    signatures: ["hmac"],
    privateKeys: [],
    ratePerSecond: null,
    maxInFlight: null,
    auth: null,
    ca: null,
  };
}

export function seqIn(body: Uint8Array): number {
  return readDigits(body, SEQ_AT);
}

/** Returns the positions of the numbers in bytes of any shape. */
export function seqsIn(bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(SEQ_START); at !== -1; at = bytes.indexOf(SEQ_START, at + DIGITS)) {
    places.push(at + SEQ_START.length);
  }
  return places;
}

export function readDigits(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = at; i < at + DIGITS; i++) value = value * 10 + bytes[i]! - 48;
  return value;
}

export function writeDigits(bytes: Uint8Array, at: number, value: number, digits = DIGITS): void {
  for (let i = at + digits - 1, rest = value; i >= at; i--) {
    bytes[i] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Returns the fields of the specification's type, filled up with a note. */
function dataText(): string {
  const text = (note: string) =>
    JSON.stringify({
      seq: "0".repeat(DIGITS),
      transaction_id: "txn_4Xk9mQ2vB7Lw",
      account_id: "acc_9Pd2hT6cW1Mq",
      merchant: {
        id: "mer_2Hs8vN4kR7Bx",
        name: "Blue Fig Coffee",
        website: "https://bluefig.example",
        logo_url: null,
        location: { city: "Lisboa", country: "PT", lat: 38.7101, lon: -9.1427 },
      },
      category: "food_and_drink.coffee_shops",
      amount: { value: "-4.80", currency: "EUR" },
      booked_at: "2026-11-20T09:54:58.412Z",
      recurring: false,
      confidence: 0.97,
      tags: ["coffee", "weekday", "card_present"],
      carbon: { grams: 210, method: "spend" },
      note,
    });
  const used = envelope(ID, EVENT_TYPE, 0, Buffer.from(text(""))).length;
  return text("Matched by the descriptor of the terminal. ".repeat(20).slice(0, BODY_BYTES - used));
}

/** Memory has room for every delivery. */
export const ROOM: Capacity = { isShut: false, isFull: false, damaged: new Set(), windows: new Map() };
export const NO_ROOM: Capacity = { ...ROOM, isShut: true };
