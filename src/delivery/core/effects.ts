/**
 * What a transition wants done: the closed list. The dispatcher does it, and what comes of it is the input of the next
 * transition.
 */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { DisabledReason } from "../../domain/endpoints/endpoint.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { DecidedAttempt } from "../memory/ended.ts";

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
