/**
 * The effects that a transition can ask for, as a closed list. The executor carries an effect out, and its result is
 * the input of the next transition. At the end of each transition, every loaded delivery goes to the sender or back to
 * the disk, or memory releases it.
 */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { isDamaged, type DisabledReason } from "../../domain/endpoints/endpoint.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { DecidedAttempt, Memory } from "../memory/memory.ts";

export class Effects {
  /** Start these attempts. They are loaded, and the sender knows their endpoints. → `ended` */
  readonly send: Claim[] = [];
  /** Record the results of these attempts. → `recorded` or `notRecorded` */
  readonly record: DecidedAttempt[] = [];
  /** Give these claims back to the disk. → `parked` or `notParked` */
  readonly park: Claim[] = [];
  /** Look these endpoints up, and pass them to the sender. → `endpointKnown` */
  readonly lookUp: string[] = [];
  /** Ask the store whether these attempts, requested by hand, are still wanted. → `requestAnswered` */
  readonly askFor: EventDelivery[] = [];
  /** Disable these endpoints. */
  readonly disable: Disabling[] = [];
  /** Memory has released these deliveries, and somebody is waiting for that. */
  readonly released: string[] = [];
  readonly alarms: AlarmChange[] = [];
  /** Something on disk is due, or memory now has capacity for more of it. → `beginRead` */
  readDue = false;
  /** Start one attempt although all sending is paused. → `ended` */
  probe = false;
  /** Find out whether this host's resolvers answer. → `resolversAsked` */
  askResolvers = false;
  /** Make the sender stop or resume starting attempts. */
  sending: "pause" | "resume" | null = null;
}

export interface Disabling {
  readonly endpoint: string;
  /** The URL that failed. The endpoint may have a different one by now. */
  readonly url: string;
  /** With `failing`, the endpoint is disabled only if it has failed for long enough. */
  readonly reason: DisabledReason;
}

/** An alarm to log when lasting trouble begins and when it is over. */
export interface AlarmChange {
  readonly alarm: "unreachable" | "shortage";
  readonly over: boolean;
  readonly message: string;
  readonly fields: object;
}

/**
 * The failed delivery may have been replayed while its manual attempt was loaded, so everything that waits is read
 * again.
 */
const WHEREVER = 0;

/**
 * Hands claims to the sender if their endpoint may get them now, and otherwise back to the disk. Claims of an unknown
 * endpoint wait until it is looked up.
 */
export function handOver(memory: Memory, claims: readonly Claim[], effects: Effects): void {
  const { endpoints, withdrawn } = memory;
  for (const claim of claims) {
    if (withdrawn.size > 0 && withdrawn.has(claim.delivery)) letGo(memory, claim, effects);
    else if (memory.elsewhere?.(claim.endpoint) === true) effects.park.push(claim);
    else if (endpoints.isOpen(claim.endpoint)) send(memory, claim, effects);
    else handOverToClosed(memory, claim, effects);
  }
}

/** Removes a delivery from memory: its attempt was recorded, or there will be none for now. */
export function release(memory: Memory, endpoint: string, delivery: string, effects: Effects): void {
  const { lines, manual, watched, windows, withdrawn } = memory;
  windows.release(endpoint, delivery);
  if (withdrawn.size > 0) withdrawn.delete(delivery);
  if (watched.size > 0 && watched.delete(delivery)) effects.released.push(delivery);
  if (manual.requested.size > 0) effects.askFor.push(...manual.released(delivery));
  if (lines.some) handOver(memory, lines.released(delivery), effects);
}

/** A claim that waits for another one of its ordering key is handed over when that one is released. */
function send({ lines }: Memory, claim: Claim, effects: Effects): void {
  if (lines.enter(claim)) effects.send.push(claim);
}

/** A disabled endpoint still gets tests and attempts requested by hand; a damaged one gets nothing. */
function handOverToClosed(memory: Memory, claim: Claim, effects: Effects): void {
  const { endpoint, trigger } = claim;
  const target = memory.endpoints.get(endpoint);
  if (target === undefined) {
    if (memory.endpoints.lookUp(endpoint)) effects.lookUp.push(endpoint);
    memory.endpoints.await(claim);
  } else if (!isDamaged(target) && (trigger === "test" || trigger === "manual")) send(memory, claim, effects);
  else effects.park.push(claim);
}

function letGo(memory: Memory, { endpoint, delivery, event }: Claim, effects: Effects): void {
  const { windows } = memory;
  release(memory, endpoint, delivery, effects);
  windows.noteWaiting({ endpoint, event, dueAt: WHEREVER });
  windows.plan(windows.of(endpoint));
}
