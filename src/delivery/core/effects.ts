/**
 * What a transition wants done: the closed list. The executor does it, and what comes of it is the input of the next
 * transition. Each transition ends with what memory has loaded going to the sender, or back to the disk, or memory
 * letting go of it.
 */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { isDamaged, type DisabledReason } from "../../domain/endpoints/endpoint.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { DecidedAttempt, Memory } from "../memory/memory.ts";

export class Effects {
  /** Start attempts: they are loaded, and the sender knows their endpoints. → `ended` */
  readonly send: Claim[] = [];
  /** Write down what came of attempts. → `recorded` or `notRecorded` */
  readonly record: DecidedAttempt[] = [];
  /** Give these back to the disk. → `parked` or `notParked` */
  readonly park: Claim[] = [];
  /** Look these endpoints up, and tell the sender of them. → `endpointKnown` */
  readonly lookUp: string[] = [];
  /** Ask the store whether it still owes these attempts, asked for by hand. → `manualAnswered` */
  readonly askFor: EventDelivery[] = [];
  /** Disable these endpoints. */
  readonly disable: Disabling[] = [];
  /** Memory has let go of these deliveries, and somebody waits for that. */
  readonly released: string[] = [];
  readonly alarms: AlarmChange[] = [];
  /** Something on disk is due, or there is room for it now. → `beginRead` */
  readDue = false;
  /** Start one attempt though all is paused. → `ended` */
  probe = false;
  /** Find out whether this host's resolvers answer anything. → `resolversAsked` */
  askResolvers = false;
  /** Have the sender start nothing, or go on. */
  sending: "pause" | "resume" | null = null;
}

export interface Disabling {
  readonly endpoint: string;
  /** The URL that failed: the endpoint may have another by now. */
  readonly url: string;
  /** `failing`: only if it has failed for long enough. */
  readonly reason: DisabledReason;
}

/** Trouble that lasts, as the log hears of it. */
export interface AlarmChange {
  readonly alarm: "unreachable" | "shortage";
  readonly over: boolean;
  readonly message: string;
  readonly fields: object;
}

/** A failed delivery may have been replayed while its manual attempt was loaded: whatever waits is read again. */
const WHEREVER = 0;

/** To the sender what its endpoint may be sent now, to the disk what it may not; the rest waits for a look-up. */
export function handOver(memory: Memory, claims: readonly Claim[], effects: Effects): void {
  const { endpoints, withdrawn } = memory;
  for (const claim of claims) {
    if (withdrawn.size > 0 && withdrawn.has(claim.delivery)) letGo(memory, claim, effects);
    else if (memory.elsewhere?.(claim.endpoint) === true) effects.park.push(claim);
    else if (endpoints.isOpen(claim.endpoint)) effects.send.push(claim);
    else handOverToClosed(memory, claim, effects);
  }
}

/** Memory lets go of a delivery: its attempt was recorded, or there will be none for now. */
export function release(memory: Memory, endpoint: string, delivery: string, effects: Effects): void {
  const { manual, watched, windows, withdrawn } = memory;
  windows.release(endpoint, delivery);
  if (withdrawn.size > 0) withdrawn.delete(delivery);
  if (watched.size > 0 && watched.delete(delivery)) effects.released.push(delivery);
  if (manual.owed.size > 0) effects.askFor.push(...manual.released(delivery));
}

/** A disabled endpoint is sent what was asked for all the same; a damaged one nothing. */
function handOverToClosed(memory: Memory, claim: Claim, effects: Effects): void {
  const { endpoint, trigger } = claim;
  const target = memory.endpoints.get(endpoint);
  if (target === undefined) {
    if (memory.endpoints.lookUp(endpoint)) effects.lookUp.push(endpoint);
    memory.endpoints.await(claim);
  } else if (!isDamaged(target) && (trigger === "test" || trigger === "manual")) effects.send.push(claim);
  else effects.park.push(claim);
}

function letGo(memory: Memory, { endpoint, delivery, event }: Claim, effects: Effects): void {
  const { windows } = memory;
  release(memory, endpoint, delivery, effects);
  windows.noteWaiting({ endpoint, event, dueAt: WHEREVER });
  windows.plan(windows.of(endpoint));
}
