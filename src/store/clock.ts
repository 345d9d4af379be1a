/** What becomes of due times when the clock is set. */
import type { Position } from "../domain/delivery.ts";
import type { Waiting } from "./deliveries.ts";

export interface ClockStore {
  /**
   * After the clock was set: moves the due times of at most 500 of the endpoint's waiting deliveries. `next` is where
   * to go on, null when all were moved; `moved` says where they wait now.
   */
  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted>;
  /** Due times are about to be moved: until `clockSettled`, an open finds `lastInstant` ahead of any clock. */
  clockUnsettled(): Promise<void>;
  /** All due times are reckoned by the clock as it is now: later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
  /** The latest instant known when the store was opened; it lies ahead of now if the clock was set back meanwhile. */
  readonly lastInstant: number;
}

/** A change of due times that moves all of them the same way. */
export interface Shift {
  readonly later: boolean;
  /** What is due by this instant stays where it is. */
  readonly after: number;
  /** Where a delivery at this place of the ladder goes. */
  readonly move: (dueAt: number, retry: number) => number;
  /** Ids of events whose deliveries to this endpoint are right already. */
  readonly except: ReadonlySet<string>;
}

export interface Shifted {
  readonly moved: readonly Waiting[];
  readonly next: Position | null;
}
