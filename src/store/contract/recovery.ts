/** What must be set right after a death of the process, and after the clock was set. */
import type { ClockChange } from "../../domain/deliveries/due-time.ts";
import type { Claim, Position, Send } from "../../domain/deliveries/delivery.ts";
import type { Waiting } from "./deliveries.ts";

export interface RecoveryStore {
  /**
   * Takes up what the last process left, which an opening does too: true once that is done, false while the disk has no
   * room for it. Until then nothing new is stored, and nothing is known of deliveries that had not waited yet.
   */
  takeUp(): Promise<boolean>;

  // --- careful mode: finding the delivery that the process dies of ---

  /**
   * True after the process died in the first minute of its life twice in a row: then each delivery must be marked
   * before it is dialled. Recording its attempt takes the mark away.
   */
  readonly careful: boolean;
  markStarted(sends: readonly Send[]): Promise<void>;
  /** Deliveries that were marked when the process died, and at how many deaths. */
  suspects(): Promise<Suspect[]>;
  /** The process has lived for a minute. */
  outlived(): Promise<void>;

  // --- the clock ---

  /** The latest instant known when the store was opened; it lies ahead of now if the clock was set back meanwhile. */
  readonly lastInstant: number;
  /**
   * After the clock was set: moves the due times of at most 500 of the endpoint's waiting deliveries. `next` is where
   * to go on, null when all were moved; `moved` says where they wait now.
   */
  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted>;
  /** Due times are about to be moved: until `clockSettled`, an open finds `lastInstant` ahead of any clock. */
  clockUnsettled(): Promise<void>;
  /** All due times are reckoned by the clock as it is now: later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
}

export interface Suspect {
  readonly claim: Claim;
  readonly interruptions: number;
}

export interface Shift extends ClockChange {
  /** Ids of events whose deliveries to this endpoint are right already. */
  readonly except: ReadonlySet<string>;
}

export interface Shifted {
  readonly moved: readonly Waiting[];
  readonly next: Position | null;
}
