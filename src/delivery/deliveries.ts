/** What the rest of the daemon asks of the delivery side, and hears of it; the dispatcher keeps it. */
import type { Claim } from "../domain/deliveries/delivery.ts";
import type { Halt } from "../domain/deliveries/pause.ts";
import type { DisabledReason } from "../domain/endpoints/endpoint.ts";
import type { Queue } from "./memory/memory.ts";
import type { EndedAttempt, EventDelivery, HasRoom, Handover, Recorded, WithdrawnDelivery } from "../store/store.ts";

export interface Deliveries {
  /** Passed to `store.publish`. */
  readonly hasRoom: HasRoom;
  /** Takes what a commit made, in the same turn in which the commit's answer arrived. */
  accept(handover: Handover): void;
  /**
   * Reads the endpoint's settings and secrets anew. Resolves once nothing is sent with the old ones and, if it is disabled
   * now, nothing more but tests is started for it; what is on the wire is still recorded. `isHeard`: those who look on
   * were told by the node that changed it.
   */
  refresh(endpoint: string, isHeard?: boolean): Promise<void>;
  /**
   * Resolves when memory has let go of the delivery (its attempt was recorded, or there will be none for now), or when
   * nobody waits any more. One at a time waits for a delivery.
   */
  released(claim: Claim, enough: AbortSignal): Promise<void>;
  /** Resolves once nothing more is started for the endpoint. What is on the wire is still recorded. */
  drop(endpoint: string): Promise<void>;
  /** How many attempts are on the wire. */
  readonly inFlight: number;
  /** Whether the brake is on. */
  readonly paused: boolean;
  /** Every reason why nothing is sent, or less than could be; none when all goes on. */
  readonly halts: readonly Halt[];
  /** Deliveries of this process that a wrong clock had put off for longer than their ladder allows, since the start. */
  readonly putOff: number;
  /** Resolves once no attempt starts any more, tests and those that were asked for included. */
  pause(): Promise<void>;
  resume(): void;
  /** When the oldest delivery fell due that is due by `now` and has no attempt recorded since; null when none is. */
  oldestDueAt(now: number): number | null;
  /** Where more is due than is attempted at a time, the longest wait first. */
  queues(now: number): readonly Queue[];
  /** How many attempts the endpoint may have on the wire at a time, as fast as it answers; null if another node sends. */
  atOnce(endpoint: string): number | null;
  /** The store owes one attempt of this delivery, outside the ladder. */
  attempt(requested: EventDelivery): void;
  /**
   * These were taken back: resolves once none of them is started any more, and memory has let go of what they said. What
   * is on the wire is still recorded. `isHeard` as in `refresh`.
   */
  withdraw(deliveries: readonly WithdrawnDelivery[], isHeard?: boolean): Promise<void>;
}

/** Hears of what happens to deliveries once it is on the disk, each of what it cares for. It must be quick. */
export interface DeliveryWatcher {
  attempted?(attempt: EndedAttempt, recorded: Recorded): void;
  /** Published, or replayed. */
  accepted?(handover: Handover): void;
  withdrawn?(deliveries: readonly WithdrawnDelivery[]): void;
  /** The endpoint was changed or deleted, and what it is owed may show another status. */
  changed?(endpoint: string): void;
  /** By the daemon itself. */
  disabled?(endpoint: string, reason: DisabledReason): void;
}
