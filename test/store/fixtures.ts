/** Valid objects for a store, of which tests replace the fields that they are about. */
import { randomBytes } from "node:crypto";
import { NO_PHASES, noResponse, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import type { Claim, Verdict } from "../../src/domain/deliveries/delivery.ts";
import { DEFAULT_SETTINGS, type NewEndpoint } from "../../src/domain/endpoints/endpoint.ts";
import type { EventDraft } from "../../src/domain/events/event.ts";
import type { Capacity } from "../../src/domain/events/routing.ts";
import { newId } from "../../src/domain/id.ts";
import type { EndedAttempt, Publication, Store } from "../../src/store/store.ts";

export const START = Date.parse("2026-11-20T09:55:00.000Z");
export const BEGINNING = { dueAt: Number.NEGATIVE_INFINITY, event: "" };
export const EVERYTHING = { tenant: null, limit: 100, order: "oldest" } as const;

export const withCapacity: Capacity = { isShut: false, isFull: false, damaged: new Set(), windows: new Map() };
export const withoutCapacity: Capacity = { ...withCapacity, isShut: true };

/** Makes a publish throw inside its transaction. */
export function brokenCapacity(message: string): Capacity {
  const broken = (): never => {
    throw new Error(message);
  };
  return {
    ...withCapacity,
    get isShut() {
      return broken();
    },
  };
}

/** Memory has room for deliveries, but not of these endpoints. */
export function fullAt(endpoints: Iterable<string>): Capacity {
  const window = { loaded: { size: 0 }, firsts: 0, overflows: true, atOnce: 1 };
  return { ...withCapacity, windows: new Map([...endpoints].map((endpoint) => [endpoint, window])) };
}

export function newEndpoint(more: Partial<NewEndpoint> = {}): NewEndpoint {
  return {
    id: newId("ep", START, randomBytes(10)),
    tenant: "default",
    ...DEFAULT_SETTINGS,
    url: "https://receiver.example/hook",
    events: ["budget.exceeded"],
    signingSecret: "whsec_c2VjcmV0",
    ...more,
  };
}

export async function addEndpoint(store: Store, more: Partial<NewEndpoint> = {}): Promise<string> {
  return (await store.endpoints.add(newEndpoint(more), 1000, START)).id;
}

export function draft(more: Partial<EventDraft> = {}): EventDraft {
  return { tenant: "default", type: "budget.exceeded", createdAt: START, data: Buffer.from('{"n":1.10}'), ...more };
}

export async function publishOne(store: Store, more: Partial<EventDraft> = {}, now = START): Promise<Publication> {
  const [publication] = await store.events.publish([draft(more)], now, withCapacity);
  return publication!;
}

export const answered = (statusCode: number, more: Partial<Outcome> = {}): Outcome => ({
  outcome: statusCode < 300 ? "succeeded" : "failed",
  statusCode,
  error: statusCode < 300 ? null : "http_status",
  bodyError: null,
  detail: `the receiver answered ${statusCode}`,
  durationMs: 12,
  remoteAddress: "203.0.113.7",
  phases: { ...NO_PHASES, firstByteMs: 8 },
  responseHeaders: { server: "test" },
  responseBody: Buffer.from("answer"),
  responseTruncated: false,
  ours: false,
  ...more,
});

export const timedOut = (): Outcome => noResponse("timeout", "no answer within 10 s", 10_000);

export function ended(claim: Claim, verdict: Verdict, more: Partial<EndedAttempt> = {}): EndedAttempt {
  const outcome = verdict.status === "delivered" ? answered(200) : answered(503);
  return {
    claim,
    url: "https://receiver.example/hook",
    startedAt: START,
    outcome,
    verdict,
    secretVersion: 1,
    ...more,
  };
}

export const delivered = (claim: Claim): EndedAttempt => ended(claim, { status: "delivered" });
export const failed = (claim: Claim): EndedAttempt => ended(claim, { status: "failed" });
export const again = (claim: Claim, dueAt: number): EndedAttempt =>
  ended(claim, { status: "pending", retry: claim.retry + 1, dueAt });

/** Returns all due deliveries of the endpoint. */
export async function dueNow(
  store: Store,
  endpoint: string,
  until = Number.MAX_SAFE_INTEGER,
): Promise<readonly Claim[]> {
  return (await store.deliveries.due(endpoint, BEGINNING, until, 1000)).claims;
}
