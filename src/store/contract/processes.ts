/** The contract for processes: the endpoints that a process sends for, and recovery after a crash or a set clock. */
import type { EventDelivery, Waiting } from "./events.ts";
import type { HaltReason } from "../../domain/deliveries/pause.ts";
import type { ClockChange, Waits } from "../../domain/deliveries/due-time.ts";
import type { Claim, Position, Send } from "../../domain/deliveries/delivery.ts";

/**
 * Decides which endpoints this process sends for. On a store of one process that is all of them, always. If several
 * processes share a store, each endpoint is owned by one of them at a time, because the limits on its attempts in
 * flight and on its rate are kept in the memory of one process. A commit for an endpoint that another process owns is
 * for the owner to send. The `waiting` of a method's result names it all the same; the caller ignores it, because the
 * owner is notified. A process that has lost what it owned commits nothing more: it starts over, owning nothing, or
 * ends.
 */
export interface OwnershipStore {
  /**
   * Returns true if the endpoint is owned, from this process's memory alone. Null if this process owns all endpoints.
   */
  readonly owns: ((endpoint: string) => boolean) | null;
  /**
   * Renews what is owned, and takes what no process owns any more. Call it before the first read of due deliveries, and
   * every second from then on. Start nothing for slots that are `leaving`: they were owned before, and other processes
   * should have them. The other processes see the report.
   */
  renew(report?: NodeReport): Promise<Ownership>;
  /**
   * Does the same as `renew`, when the process stops: nothing is taken any more, and all slots should go to other
   * processes, if there are any.
   */
  leave(): Promise<Ownership>;
  /**
   * Gives up the slots that are leaving, except those of these endpoints, whose deliveries this process still holds.
   */
  give(busy: ReadonlySet<string>): Promise<void>;
  /**
   * Returns commits by other processes that concern endpoints of this one, some hundreds at most. Call it all the time.
   * It may return what the caller knows already, and returns the same again until `acknowledgeChanges` is called.
   */
  remoteChanges(): Promise<RemoteChanges>;
  /** Tells the store that the caller has handled all of the last answer. */
  acknowledgeChanges(): Promise<void>;
  /** Resolves once the owners of these endpoints have been notified of the commit, or do not answer. */
  untilNotified(endpoints: readonly string[]): Promise<void>;
  /** Lists all processes that share the store, sorted by name; none on a store of one process. */
  nodes(): Promise<readonly StoreNode[]>;
  /**
   * Makes the node of that name give up what it owns and take no more, until this is called with `on` false or the node
   * restarts. If every node is draining, they all go on sending. Returns false if no node has that name.
   */
  drain(name: string, on: boolean): Promise<boolean>;
  /** Present if a process that has lost what it owned may start over. */
  readonly comeback?: Comeback;
  /** Alerts of all nodes, of which one node notifies people; null on a store of one process. */
  readonly alerts: SharedAlerts | null;
  /** The activity of all nodes, for those who watch it; null on a store of one process. */
  readonly stream: SharedStream | null;
  /**
   * Called at a stop, when nothing is in flight. Other processes take over at once, without waiting for the lease to
   * run out.
   */
  release(): Promise<void>;
}

/** Used after a renewal has found that other processes have what this one owned. */
export interface Comeback {
  readonly isDue: boolean;
  /**
   * Starts over like a new process that owns nothing. The caller must have forgotten what it knew about what was owned.
   */
  rejoin(): Promise<Ownership>;
  /** Makes the process end. */
  giveUp(): void;
}

/** The state of a process, from its memory. */
export interface NodeReport {
  /** The time at which the oldest due delivery fell due; null if none is due. */
  readonly oldestDueAt: number | null;
  /** Attempts on the wire. */
  readonly inFlight: number;
  /** The reasons why the process sends nothing, or less than it could. */
  readonly halts: readonly HaltReason[];
  /**
   * The milliseconds that the host's clock is ahead of the store's clock, which decides what is due; null if not known.
   */
  readonly clockAheadMs?: number | null;
}

export interface StoreNode {
  /** The name of the host, with a number if another node has that name already. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** True for the process that was asked. */
  readonly isThis: boolean;
  readonly since: number;
  readonly renewedAt: number;
  /** True if its lease has run out, so that other nodes take over what it has. */
  readonly isLost: boolean;
  readonly draining: boolean;
  /** The number of slots that it has, of 1,024, and the number of endpoints in them. */
  readonly slots: number;
  readonly endpoints: number;
  /** The report at its last renewal; null if its version makes none. */
  readonly report: NodeReport | null;
}

export interface SharedAlerts {
  hand(notices: readonly string[]): Promise<void>;
  /**
   * Removes and returns the notices handed over before that instant, some hundreds at most, in their order. Only one
   * caller gets each of them.
   */
  take(before: number): Promise<readonly string[]>;
  /**
   * Notes the endpoints that people are about to be told are failing. Returns those that they were not told of before.
   */
  failing(endpoints: readonly ReportedFailing[]): Promise<ReadonlySet<string>>;
  /** Notes that these endpoints recovered or were disabled. */
  ended(endpoints: readonly string[]): Promise<void>;
  /**
   * Returns the endpoints of this process that people were told are failing; null if nothing can have changed since the
   * last call.
   */
  reported(): Promise<readonly ReportedFailing[] | null>;
}

export interface ReportedFailing {
  readonly endpoint: string;
  readonly failingSince: number;
}

/** Batches of activity from all nodes, in one order, so that each batch has the same number everywhere. */
export interface SharedStream {
  /** Distinguishes the numbers of this store from those of another store. */
  readonly life: string;
  /** True if some node listens. Otherwise `tell` need not be called. */
  readonly isWanted: boolean;
  /**
   * Makes this node listen: `take` gets each batch. Once this resolves, `take` has had the batches of the last minute,
   * and all nodes tell what happens on them.
   */
  follow(take: (batch: StreamBatch) => void): Promise<void>;
  /** Makes this node stop listening. */
  rest(): void;
  /** Null stands for activity that cannot be told. */
  tell(text: string | null): Promise<void>;
}

export interface StreamBatch {
  readonly number: number;
  /** Null if some activity before this batch was not told. */
  readonly text: string | null;
}

export interface RemoteChanges {
  /** The endpoints for which deliveries wait, from these positions on. */
  readonly waiting: readonly Waiting[];
  /** Attempts that were requested by hand and are to be made. */
  readonly requested: readonly EventDelivery[];
  /** Deliveries for which no more attempts may start. */
  readonly withdrawn: readonly EventDelivery[];
  /** Endpoints that were changed or deleted. */
  readonly changed: readonly string[];
}

export interface Ownership {
  /** The slots of endpoints, or `everything` on a store of one process, where the other methods need not be called. */
  readonly endpoints: "everything" | OwnedSlots;
  /**
   * The milliseconds of monotonic time for which this holds, from the beginning of the call. A process that has not
   * renewed it by then has lost everything, even if it was not told so, and must start nothing more.
   */
  readonly holdsForMs: number;
}

/** An endpoint belongs to one of `total` slots, by a hash of its id. */
export interface OwnedSlots {
  readonly total: number;
  readonly owned: ReadonlySet<number>;
  /** The slots that this process still has, and must give up once it holds no deliveries of them. */
  readonly leaving: ReadonlySet<number>;
  /**
   * The milliseconds after which another `renew` is worthwhile, because another process may have lost what it owns by
   * then; null if that is not soon.
   */
  readonly againInMs: number | null;
}

/** Repairs what a crash of the process, or a change of the clock, leaves wrong. */
export interface RecoveryStore {
  /**
   * Takes over what the last process left, as opening the store does too. Returns true once that is done, and false
   * while the disk is too full for it. Until then nothing new is stored, and deliveries that were fresh are not known.
   */
  takeUp(): Promise<boolean>;

  // --- commits whose answers were lost ---

  readonly doubt: Doubt;

  // --- careful mode: finding the delivery that crashes the process ---

  /**
   * True if the process crashed in its first minute twice in a row. Then each delivery must be marked before its
   * attempt starts. Recording the attempt removes the mark.
   */
  readonly careful: boolean;
  markStarted(sends: readonly Send[]): Promise<void>;
  /** Returns the deliveries that were marked when the process crashed, each with the number of crashes. */
  suspects(): Promise<Suspect[]>;
  /** Called when the process has run for a minute. */
  outlived(): Promise<void>;

  // --- the clock ---

  /** The latest instant known when the store was opened. It is ahead of now if the clock was set back meanwhile. */
  readonly lastInstant: number;
  /**
   * Moves the due times of at most 500 of the endpoint's waiting deliveries after the clock was set. `next` is where to
   * go on, and null when all were moved; `moved` has their new positions.
   */
  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted>;
  /**
   * Lowers due times that a wrong clock set later than any allowed wait, to the latest allowed instant. Takes at most
   * 500 of this process's waiting deliveries, whichever process wrote their due times, and returns their new positions.
   */
  hasten(waits: Waits, now: number): Promise<readonly Waiting[]>;
  /** Called before due times are moved. Until `clockSettled`, every open finds `lastInstant` ahead of the clock. */
  clockUnsettled(): Promise<void>;
  /** Called when all due times follow the clock as it is now. Later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
}

/**
 * Commits whose result is not known. After each commit that turns out to have been made late, memory must read the disk
 * again, because nobody was notified of it.
 */
export interface Doubt {
  /** True while there is a commit whose caller was told that it failed, although it may still have been made. */
  readonly isOpen: boolean;
  /** The number of such commits since the start that turned out to have been made. */
  readonly madeLate: number;
}

export interface Suspect {
  readonly claim: Claim;
  readonly interruptions: number;
}

export interface Shift extends ClockChange {
  /** The ids of events whose deliveries to this endpoint have the right due time already. */
  readonly except: ReadonlySet<string>;
}

export interface Shifted {
  readonly moved: readonly Waiting[];
  readonly next: Position | null;
}
