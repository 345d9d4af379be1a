/** What memory takes from the disk, as far as it has room, and what it gives back. */
import type { Claim, Position } from "../../domain/deliveries/delivery.ts";
import type { DuePage, EventDelivery, Waiting } from "../../store/store.ts";
import type { Memory } from "../memory/memory.ts";
import type { Window } from "../memory/windows.ts";
import { Effects, handOver, release } from "./effects.ts";

/** Rows of one read. */
export const READ_LIMIT = 256;
const AGAIN_MS = 1000;

/** What is to be read of one endpoint: at most `limit` deliveries after this position that are due by `until`. */
export interface Read {
  readonly window: Window;
  /** First attempts alone, past a backlog that leaves no room. */
  readonly ahead: boolean;
  readonly after: Position;
  readonly until: number;
  readonly limit: number;
}

/** `now` is of the wall clock. Null when nothing of the endpoint may be loaded now: it is disabled, or its window is full. */
export function beginRead(memory: Memory, window: Window, now: number, limit = READ_LIMIT): Read | null {
  const { capOf, endpoints, windows } = memory;
  if (memory.elsewhere?.(window.endpoint) === true) {
    // When it comes back, what it is owed is looked for: an older due time that nobody waits for would be in the way.
    window.nextDueAt = Number.POSITIVE_INFINITY;
    return null;
  }
  const cap = capOf(window.endpoint);
  let room = windows.roomForDue(window, cap);
  const ahead = room <= 0;
  if (ahead) room = windows.roomForFirsts(window, cap);
  if (room <= 0 || !endpoints.isOpen(window.endpoint)) return null;
  return { window, ahead, after: window.beginRead(ahead), until: now, limit: Math.min(room, limit) };
}

export function endRead(memory: Memory, { window, until, limit }: Read, page: DuePage, now: number): Effects {
  const effects = new Effects();
  if (page.cancelling) {
    // What it was owed is being cancelled; new events go on meanwhile.
    window.cancelRead();
    window.nextDueAt = now + AGAIN_MS;
    memory.windows.plan(window);
  } else handOver(memory, memory.windows.endRead(window, page, until, limit), effects);
  return effects;
}

/** An operator asks for one attempt, outside the ladder: the store owes it from now on. */
export function requested({ manual }: Memory, owed: EventDelivery): Effects {
  const effects = new Effects();
  effects.askFor.push(...manual.request(owed));
  return effects;
}

/** The store said what to make it from, or null when it owes it no more. */
export function requestAnswered(memory: Memory, owed: EventDelivery, claim: Claim | null): Effects {
  const effects = new Effects();
  const { isMade, ask } = memory.manual.answered(owed, claim !== null);
  effects.askFor.push(...ask);
  if (isMade) load(memory, claim!, effects);
  return effects;
}

/** It is on trial, because the process may have died of it: it goes alone, or is not sent again. */
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

/** They are on the disk again, `waiting` there. Until now they were loaded: only a restart would read a fresh one. */
export function parked(memory: Memory, claims: readonly Claim[], waiting: readonly Waiting[]): Effects {
  const effects = new Effects();
  const { windows } = memory;
  for (const { endpoint, delivery, fresh } of claims) {
    release(memory, endpoint, delivery, effects);
    if (fresh) windows.of(endpoint).overflow();
  }
  // Where they wait on disk, which a clock that was set may have changed since they were read.
  for (const each of waiting) windows.noteWaiting(each);
  // With nothing on the wire, no end would have it read again.
  for (const endpoint of new Set(claims.map((claim) => claim.endpoint))) windows.plan(windows.of(endpoint));
  return effects;
}

/** The disk did not take them (it is full): they stay loaded, and take their turn again at the next tick. */
export function notParked(memory: Memory, claims: readonly Claim[]): void {
  memory.refused = [...memory.refused, ...claims];
}
