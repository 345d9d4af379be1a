/**
 * The contract for processes: the endpoints that a process sends for, and recovery after a crash or after the clock was
 * set.
 */
import type { EventDelivery, Waiting } from "./events.ts";
import type { HaltReason } from "../../domain/deliveries/pause.ts";
import type { ClockChange, Waits } from "../../domain/deliveries/due-time.ts";
import type { Claim, Position, Send } from "../../domain/deliveries/delivery.ts";

/**
 * Decides which endpoints this process sends for. On a store of one process that is all of them, always. If several
 * processes share a store, each endpoint is owned by one of them at a time, because the limits on its attempts in
 * flight and on its rate are kept in the memory of one process. If another process owns the endpoint of a commit, the
 * owner sends it. The `waiting` of a method's result includes it anyway, but the caller ignores it, because the owner
 * is notified. A process that has lost what it owned commits nothing more: it starts over, owning nothing, or ends.
 */
export interface OwnershipStore {
  /** Returns true if this process owns the endpoint, which it knows from its memory. Null if it owns all endpoints. */
  readonly owns: ((endpoint: string) => boolean) | null;
  /**
   * Renews what is owned, and takes what no process owns any more. Call it before the first read of due deliveries, and
   * every second from then on. Start nothing for slots that are `leaving`: this process owned them before, and others
   * should have them. The other processes see the report.
   */
  renew(report?: NodeReport): Promise<Ownership>;
  /**
   * Does the same as `renew` when the process is stopping: nothing is taken any more, and all slots should go to other
   * processes, if there are any.
   */
  leave(): Promise<Ownership>;
  /**
   * Gives up the slots that are leaving, except those of these endpoints, whose deliveries this process still holds.
   */
  give(busy: ReadonlySet<string>): Promise<void>;
  /**
   * Returns commits by other processes that concern endpoints of this one, some hundreds at most. Call it repeatedly.
   * It may return what the caller already knows, and returns the same again until `acknowledgeChanges` is called.
   */
  remoteChanges(): Promise<RemoteChanges>;
  /** Tells the store that the caller has handled everything that `remoteChanges` last returned. */
  acknowledgeChanges(): Promise<void>;
  /** Resolves once the owners of these endpoints have been notified of the commit, or if they do not answer. */
  untilNotified(endpoints: readonly string[]): Promise<void>;
  /** Lists all processes that share the store, sorted by name. Empty on a store of one process. */
  nodes(): Promise<readonly StoreNode[]>;
  /**
   * Makes the node of that name give up what it owns and take no more, until this is called with `on` false or the node
   * restarts. If every node is draining, they all keep sending. Returns false if no node has that name.
   */
  drain(name: string, on: boolean): Promise<boolean>;
  /** Present if a process that has lost what it owned may start over. */
  readonly comeback?: Comeback;
  /** The alerts of all nodes, about which one node notifies people. Null on a store of one process. */
  readonly alerts: SharedAlerts | null;
  /** The activity of all nodes, for those who watch it. Null on a store of one process. */
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
  /** The time at which the oldest due delivery fell due. Null if none is due. */
  readonly oldestDueAt: number | null;
  /** Attempts on the wire. */
  readonly inFlight: number;
  /** The reasons why the process sends nothing, or less than it could. */
  readonly halts: readonly HaltReason[];
  /**
   * The number of milliseconds by which the host's clock is ahead of the store's clock, which decides what is due. Null
   * if unknown.
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
  /** True if its lease has run out, so that other nodes take over its slots. */
  readonly isLost: boolean;
  readonly draining: boolean;
  /** The number of slots that it has, of 1,024, and the number of endpoints in them. */
  readonly slots: number;
  readonly endpoints: number;
  /** The report at its last renewal. Null if its version makes none. */
  readonly report: NodeReport | null;
}

export interface SharedAlerts {
  hand(notices: readonly string[]): Promise<void>;
  /**
   * Removes and returns the notices handed over before that instant, in order and some hundreds at most. Only one
   * caller gets each of them.
   */
  take(before: number): Promise<readonly string[]>;
  /**
   * Records the endpoints that people are about to be told are failing. Returns those that people had not been told
   * about.
   */
  failing(endpoints: readonly ReportedFailing[]): Promise<ReadonlySet<string>>;
  /** Records that these endpoints recovered or were disabled. */
  ended(endpoints: readonly string[]): Promise<void>;
  /**
   * Returns the endpoints of this process that people were told are failing. Null if nothing can have changed since the
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
   * and all nodes report their activity.
   */
  follow(take: (batch: StreamBatch) => void): Promise<void>;
  /** Makes this node stop listening. */
  rest(): void;
  /** Null stands for activity that could not be reported. */
  tell(text: string | null): Promise<void>;
}

export interface StreamBatch {
  readonly number: number;
  /** Null if some activity before this batch was not reported. */
  readonly text: string | null;
}

export interface RemoteChanges {
  /** The endpoints for which deliveries wait, from these positions on. */
  readonly waiting: readonly Waiting[];
  /** Attempts that were requested by hand and have yet to be made. */
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
   * The time for which this holds, in milliseconds of monotonic time from the beginning of the call. A process that has
   * not renewed it by then has lost everything, even if nobody told it so, and must start nothing more.
   */
  readonly holdsForMs: number;
}

/** An endpoint belongs to one of `total` slots, by a hash of its id. */
export interface OwnedSlots {
  readonly total: number;
  readonly owned: ReadonlySet<number>;
  /** The slots that this process still has, and must give up once it holds no more deliveries in them. */
  readonly leaving: ReadonlySet<number>;
  /**
   * The milliseconds after which another `renew` is worthwhile, because another process may have lost what it owns by
   * then. Null if that is not soon.
   */
  readonly againInMs: number | null;
}

/** Repairs what a crash of the process, or a change of the clock, has left wrong. */
export interface RecoveryStore {
  /**
   * Takes over what the last process left, as opening the store does too. Returns true once that is done, and false
   * while the disk is too full for it. Until then nothing new is stored, and deliveries that were fresh are unknown.
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

  /** The latest instant known when the store was opened. It is in the future if the clock has been set back since. */
  readonly lastInstant: number;
  /**
   * Moves the due times of at most 500 of the endpoint's waiting deliveries after the clock was set. `next` is where to
   * continue, and null when all have been moved. `moved` has their new positions.
   */
  shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted>;
  /**
   * Lowers due times that a wrong clock set later than any allowed wait to the latest allowed instant. Takes at most
   * 500 of this process's waiting deliveries, whichever process wrote their due times, and returns their new positions.
   */
  hasten(waits: Waits, now: number): Promise<readonly Waiting[]>;
  /** Called before due times are moved. Until `clockSettled`, every open finds `lastInstant` ahead of the clock. */
  clockUnsettled(): Promise<void>;
  /** Called when all due times follow the clock as it is now. Later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
}

/**
 * Commits whose result is unknown. After each commit that turns out to have succeeded late, memory must read the disk
 * again, because nobody was notified of it.
 */
export interface Doubt {
  /** True while there is a commit whose caller was told that it failed, although it may still succeed. */
  readonly isOpen: boolean;
  /** The number of such commits since the start that turned out to have succeeded. */
  readonly madeLate: number;
}

export interface Suspect {
  readonly claim: Claim;
  readonly interruptions: number;
}

export interface Shift extends ClockChange {
  /** The ids of events whose deliveries to this endpoint already have the right due time. */
  readonly except: ReadonlySet<string>;
}

export interface Shifted {
  readonly moved: readonly Waiting[];
  readonly next: Position | null;
}
