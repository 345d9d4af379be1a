/** What one process has of the store: the endpoints that it sends for, and what one before it left. */
import type { Waiting } from "./events.ts";
import type { ClockChange } from "../../domain/deliveries/due-time.ts";
import type { Claim, Position, Send } from "../../domain/deliveries/delivery.ts";

/**
 * Which endpoints this process sends for. On a store of one process that is all of them, for as long as it lives. Where
 * several share a store, each endpoint lives on one of them at a time, so that what an endpoint may have in flight or
 * begin in a second is kept in that one's memory.
 *
 * What was committed for an endpoint that is not owned is the owner's to send: the `fresh` and `waiting` of a verb's
 * answer name it all the same, and the caller lets it be. An outcome that comes after the endpoint was lost
 * is `superseded` once the new owner has moved the delivery: it adds its attempt, and only a success changes anything.
 */
export interface OwnershipStore {
  /**
   * Keeps what is owned, takes what nobody owns any more, and gives up what others should have: before the first read of
   * what is due, and each second from then on. What was owned before and is not in the answer was lost.
   */
  renew(): Promise<Ownership>;
  /**
   * What other processes have committed since the last call that waits for endpoints of this one, at most 500; asked
   * every 50 ms. It may name a delivery again, and one that this process holds.
   */
  arrived(): Promise<readonly Waiting[]>;
  /** At a stop, when nothing is in flight: others take over at once, and need not wait until what is owned runs out. */
  release(): Promise<void>;
}

export interface Ownership {
  /** Slots of endpoints; `everything` on a store of one process, where the others of these verbs need not be called. */
  readonly endpoints: "everything" | OwnedSlots;
  /**
   * For how long this holds, in milliseconds of monotonic time from the call's begin. A process that has not renewed it
   * by then has lost everything, whatever it could not hear: it starts nothing more.
   */
  readonly holdsForMs: number;
}

/** An endpoint belongs to one of `total` slots, by a hash of its id. */
export interface OwnedSlots {
  readonly total: number;
  readonly owned: ReadonlySet<number>;
}

/** What must be set right after a death of the process, and after the clock was set. */
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
