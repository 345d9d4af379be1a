/**
 * Which endpoints this process sends for. On a store of one process that is all of them, for as long as it lives. Where
 * several share a store, each endpoint lives on one of them at a time, so that what an endpoint may have in flight or
 * begin in a second is kept in that one's memory.
 *
 * What was committed for an endpoint that is not owned is the owner's to send: the `fresh` and `waiting` of a verb's
 * answer name it all the same, and the caller lets it be. An outcome that comes after the endpoint was lost
 * is `superseded` once the new owner has moved the delivery: it adds its attempt, and only a success changes anything.
 */
import type { Waiting } from "./deliveries.ts";

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
