/** Decides what memory loads from the disk, as far as its limits allow, and what it gives back. */
import type { Claim, Position } from "../../domain/deliveries/delivery.ts";
import type { DuePage, EventDelivery, Waiting } from "../../store/store.ts";
import type { Memory } from "../memory/memory.ts";
import type { Window } from "../memory/windows.ts";
import { Effects, handOver, release } from "./effects.ts";

/** The maximum number of rows in one read. */
export const READ_LIMIT = 256;
const AGAIN_MS = 1000;

/** One read of an endpoint's deliveries: at most `limit` of them, after this position and due by `until`. */
export interface Read {
  readonly window: Window;
  /** True if only first attempts are read, past a backlog that has filled the window. */
  readonly ahead: boolean;
  readonly after: Position;
  readonly until: number;
  readonly limit: number;
}

/**
 * Returns null if nothing of the endpoint may be loaded now, because it is disabled or its window is full. `now` is on
 * the wall clock.
 */
export function beginRead(memory: Memory, window: Window, now: number, limit = READ_LIMIT): Read | null {
  const { capOf, endpoints, windows } = memory;
  if (memory.elsewhere?.(window.endpoint) === true) {
    // When the endpoint comes back, its deliveries are looked up again, so an old due time would only be in the way.
    window.nextDueAt = Number.POSITIVE_INFINITY;
    return null;
  }
  const cap = capOf(window.endpoint);
  let capacity = windows.capacityForDue(window, cap);
  const ahead = capacity <= 0;
  if (ahead) capacity = windows.capacityForFirsts(window, cap);
  if (capacity <= 0 || !endpoints.isOpen(window.endpoint)) return null;
  return { window, ahead, after: window.beginRead(ahead), until: now, limit: Math.min(capacity, limit) };
}

export function endRead(memory: Memory, { window, until, limit }: Read, page: DuePage, now: number): Effects {
  const effects = new Effects();
  if (page.cancelling) {
    // The endpoint's deliveries are being cancelled, while new events still go out.
    window.cancelRead();
    window.nextDueAt = now + AGAIN_MS;
    memory.windows.plan(window);
  } else handOver(memory, memory.windows.endRead(window, page, until, limit), effects);
  return effects;
}

/** An operator requested one attempt outside the ladder, which is now in the store. */
export function requested({ manual }: Memory, wanted: EventDelivery): Effects {
  const effects = new Effects();
  effects.askFor.push(...manual.request(wanted));
  return effects;
}

/** The store answered with the claim of a requested attempt, or with null if that attempt is no longer wanted. */
export function requestAnswered(memory: Memory, wanted: EventDelivery, claim: Claim | null): Effects {
  const effects = new Effects();
  const { isMade, ask } = memory.manual.answered(wanted, claim !== null);
  effects.askFor.push(...ask);
  if (isMade) load(memory, claim!, effects);
  return effects;
}

/** This delivery may have killed the process, so it is sent alone or not at all. */
export function tried(memory: Memory, claim: Claim, isSent: boolean): Effects {
  const effects = new Effects();
  memory.manual.tried(claim.delivery);
  if (isSent) load(memory, claim, effects);
  else memory.windows.load(claim);
  return effects;
}

function load(memory: Memory, claim: Claim, effects: Effects): void {
  memory.windows.load(claim);
  handOver(memory, [claim], effects);
}

/**
 * These claims are on the disk again, where they wait as `waiting` says. A fresh one would be read only after a
 * restart, so its window overflows.
 */
export function parked(memory: Memory, claims: readonly Claim[], waiting: readonly Waiting[]): Effects {
  const effects = new Effects();
  const { windows } = memory;
  for (const { endpoint, delivery, fresh } of claims) {
    release(memory, endpoint, delivery, effects);
    if (fresh) windows.of(endpoint).overflow();
  }
  // If the clock was set since, the due times on disk may differ from those that were read.
  for (const each of waiting) windows.noteWaiting(each);
  // If nothing of the endpoint is on the wire, no attempt will end and cause the next read; plan it here.
  for (const endpoint of new Set(claims.map((claim) => claim.endpoint))) windows.plan(windows.of(endpoint));
  return effects;
}

/**
 * The disk did not take these claims, because it is full. They stay loaded, and the next tick hands them over again.
 */
export function notParked(memory: Memory, claims: readonly Claim[]): void {
  memory.refused = [...memory.refused, ...claims];
}
