/** The interface that delivery offers to the rest of the daemon. The dispatcher implements it. */
import type { Claim } from "../domain/deliveries/delivery.ts";
import type { Halt } from "../domain/deliveries/pause.ts";
import type { DisabledReason } from "../domain/endpoints/endpoint.ts";
import type { Capacity } from "../domain/events/routing.ts";
import type { Queue } from "./memory/memory.ts";
import type { EndedAttempt, EventDelivery, Handover, Recorded, Waiting, WithdrawnDelivery } from "../store/store.ts";

export interface Deliveries {
  /** Passed to `store.publish`. It changes as memory does. */
  readonly capacity: Capacity;
  /** Takes over the deliveries of new events. It must be called in the same turn in which their commit resolved. */
  accept(handover: Handover): void;
  /** Takes over deliveries that a replay or a job has made pending again. */
  replayed(waiting: readonly Waiting[]): void;
  /**
   * Reads the endpoint's settings and secrets again. Resolves once nothing is sent with the old ones. If the endpoint
   * is now disabled, only tests are started for it from then on; attempts on the wire are still recorded. `isHeard` is
   * true if another node made the change and has notified the watchers.
   */
  refresh(endpoint: string, isHeard?: boolean): Promise<void>;
  /** Does the same for each of these endpoints. */
  refreshAll(endpoints: readonly string[]): Promise<void>;
  /**
   * Resolves when memory has released the delivery (its attempt was recorded, or there will be none for now), or when
   * `enough` aborts. Only one caller at a time may wait for a delivery.
   */
  released(claim: Claim, enough: AbortSignal): Promise<void>;
  /** Resolves once nothing more is started for the endpoint. Attempts on the wire are still recorded. */
  drop(endpoint: string): Promise<void>;
  /** The number of attempts on the wire. */
  readonly inFlight: number;
  /** True while an operator has paused all sending. */
  readonly paused: boolean;
  /** Every reason why nothing is sent, or less than could be. Empty if there is none. */
  readonly halts: readonly Halt[];
  /**
   * The number of this process's deliveries, since the start, that a wrong clock had put off for longer than their
   * ladder allows.
   */
  readonly putOff: number;
  /** Resolves once no attempt starts any more, including tests and attempts requested by hand. */
  pause(): Promise<void>;
  resume(): void;
  /**
   * The due time of the oldest delivery that is due by `now` and has had no attempt recorded since. Null if there is
   * none.
   */
  oldestDueAt(now: number): number | null;
  /** The endpoints with more deliveries due than can be attempted at a time, the longest wait first. */
  queues(now: number): readonly Queue[];
  /**
   * The number of attempts that the endpoint may have on the wire at a time, given how fast it answers. Null if another
   * node sends.
   */
  atOnce(endpoint: string): number | null;
  /** Makes the one attempt of this delivery, outside the ladder, that the store has noted. */
  attempt(requested: EventDelivery): void;
  /**
   * Takes back deliveries that were cancelled or erased. Resolves once no more of them are started and memory holds
   * none of their data. Attempts on the wire are still recorded. `isHeard` is as in `refresh`.
   */
  withdraw(deliveries: readonly WithdrawnDelivery[], isHeard?: boolean): Promise<void>;
}

/**
 * Receives the changes to deliveries once they are on the disk. Each watcher implements the methods that it needs,
 * which must return quickly.
 */
export interface DeliveryWatcher {
  attempted?(attempt: EndedAttempt, recorded: Recorded): void;
  /** Deliveries were published or replayed. */
  accepted?(handover: Handover): void;
  withdrawn?(deliveries: readonly WithdrawnDelivery[]): void;
  /** The endpoint was changed or deleted, so its deliveries may show another status. */
  changed?(endpoint: string): void;
  /** The daemon itself disabled the endpoint. */
  disabled?(endpoint: string, reason: DisabledReason): void;
}

/** Reading thousands of endpoints at once would make everything else wait. */
const REFRESHED_AT_ONCE = 100;

/** Calls `refresh` for each endpoint. Resolves once nothing is sent with their old settings and secrets. */
export async function refreshAll(
  endpoints: readonly string[],
  refresh: (endpoint: string) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < endpoints.length; at += REFRESHED_AT_ONCE) {
    await Promise.all(endpoints.slice(at, at + REFRESHED_AT_ONCE).map((endpoint) => refresh(endpoint)));
  }
}
