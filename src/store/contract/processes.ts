/** What one process has of the store: the endpoints that it sends for, and what one before it left. */
import type { EventDelivery, Waiting } from "./events.ts";
import type { HaltReason } from "../../domain/deliveries/pause.ts";
import type { ClockChange, Waits } from "../../domain/deliveries/due-time.ts";
import type { Claim, Position, Send } from "../../domain/deliveries/delivery.ts";

/**
 * Which endpoints this process sends for. On a store of one process that is all of them, for as long as it lives. Where
 * several share a store, each endpoint lives on one of them at a time, so that what an endpoint may have in flight or
 * begin in a second is kept in that one's memory.
 *
 * What was committed for an endpoint that is not owned is the owner's to send: the `waiting` of a verb's answer names it
 * all the same, and the caller lets it be, because its owner hears of it. A process that has lost what it owned commits
 * nothing more: it begins anew, owning nothing, or ends.
 */
export interface OwnershipStore {
  /** Whether the endpoint is owned, by this process's memory alone; null where all are. */
  readonly owns: ((endpoint: string) => boolean) | null;
  /**
   * Keeps what is owned, and takes what nobody owns any more: before the first read of what is due, and each second from
   * then on. What was owned before and is `leaving` now, others should have: nothing of it is to be started. The others
   * see the report.
   */
  renew(report?: NodeReport): Promise<Ownership>;
  /** As `renew`, at a stop: nothing is taken any more, and all should go to others, if there are any. */
  leave(): Promise<Ownership>;
  /** Gives up what is leaving, all but the slots of these endpoints, of which this process still holds deliveries. */
  give(busy: ReadonlySet<string>): Promise<void>;
  /**
   * What other processes have committed that endpoints of this one must hear of, some hundreds at most; asked all the
   * time. It may say what is known already, and says the same again until that was taken in.
   */
  news(): Promise<News>;
  /** All of the last answer was taken in. */
  tookIn(): Promise<void>;
  /** Resolves when the owners of these endpoints have heard of what was committed, or do not answer. */
  heard(endpoints: readonly string[]): Promise<void>;
  /** All that share the store, in the order of their names; none on a store of one process. */
  nodes(): Promise<readonly StoreNode[]>;
  /**
   * Has the node of that name give up what it owns and take no more, until this is called with `on` false, or it is
   * restarted. As long as every node is draining, they go on all the same. False where no node has that name.
   */
  drain(name: string, on: boolean): Promise<boolean>;
  /** Where one that has lost what it owned may begin anew. */
  readonly comeback?: Comeback;
  /** What nodes have to tell people, which one of them does for all; null on a store of one process. */
  readonly alerts: SharedAlerts | null;
  /** What happens on all nodes, for those that look on; null on a store of one process. */
  readonly stream: SharedStream | null;
  /** At a stop, when nothing is in flight: others take over at once, and need not wait until what is owned runs out. */
  release(): Promise<void>;
}

/** After a renewal has found that others have what was owned. */
export interface Comeback {
  readonly isDue: boolean;
  /** As one that has just started, and owns nothing. Whoever calls it has forgotten what it knew of what was owned. */
  rejoin(): Promise<Ownership>;
  /** Has the process end. */
  giveUp(): void;
}

/** How a process stands, by what it keeps in memory. */
export interface NodeReport {
  /** When the oldest delivery fell due that is due by now; null when none is. */
  readonly oldestDueAt: number | null;
  /** Attempts on the wire. */
  readonly inFlight: number;
  /** Why it sends nothing, or less than it could. */
  readonly halts: readonly HaltReason[];
  /** By how many milliseconds the clock of its host is ahead of the store's, by which all goes; null if that is not known. */
  readonly clockAheadMs?: number | null;
}

export interface StoreNode {
  /** That of its host, with a number where another node has that already. */
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** The process that was asked. */
  readonly isThis: boolean;
  readonly since: number;
  readonly renewedAt: number;
  /** Its lease has run out: others take over what it has. */
  readonly isLost: boolean;
  readonly draining: boolean;
  /** Of 1,024, how many it has, and the endpoints in them. */
  readonly slots: number;
  readonly endpoints: number;
  /** As of its last renewal; null of a version that makes none. */
  readonly report: NodeReport | null;
}

export interface SharedAlerts {
  hand(notices: readonly string[]): Promise<void>;
  /** What was handed over before that instant, some hundreds at most, in that order; to one who takes it alone. */
  take(before: number): Promise<readonly string[]>;
  /** People are about to be told that these are failing: those of them that they were not told of before. */
  failing(endpoints: readonly ToldFailing[]): Promise<ReadonlySet<string>>;
  /** They recovered, or were disabled. */
  ended(endpoints: readonly string[]): Promise<void>;
  /**
   * Those of the endpoints that this process owns of which people were told; null where nothing can be new since it was
   * asked last.
   */
  told(): Promise<readonly ToldFailing[] | null>;
}

export interface ToldFailing {
  readonly endpoint: string;
  readonly failingSince: number;
}

/** Batches of what happened, of all nodes in one order, so that each has the same number everywhere. */
export interface SharedStream {
  /** Tells the numbers of this store from those of another one. */
  readonly life: string;
  /** Whether some node listens: only then is there a use in telling. */
  readonly isWanted: boolean;
  /**
   * From now on this node listens, and `take` gets each batch. What was told in the last minute is there by the time this
   * resolves, and then all nodes tell what happens to them.
   */
  follow(take: (batch: ToldBatch) => void): Promise<void>;
  /** This node listens no more. */
  rest(): void;
  /** Null where something happened that cannot be told. */
  tell(text: string | null): Promise<void>;
}

export interface ToldBatch {
  readonly number: number;
  /** Null: before it something was not told. */
  readonly text: string | null;
}

export interface News {
  /** Something waits for these endpoints, from there on. */
  readonly waiting: readonly Waiting[];
  /** Attempts that are owed. */
  readonly requested: readonly EventDelivery[];
  /** Deliveries that were taken back. */
  readonly withdrawn: readonly EventDelivery[];
  /** Endpoints that were changed or deleted. */
  readonly changed: readonly string[];
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
  /** Still this process's, and to be given up once it holds nothing of them. */
  readonly leaving: ReadonlySet<number>;
  /** When another process may have lost what it owns, if that is soon: it is worth another `renew` then. */
  readonly againInMs: number | null;
}

/** What must be set right after a death of the process, and after the clock was set. */
export interface RecoveryStore {
  /**
   * Takes up what the last process left, which an opening does too: true once that is done, false while the disk has no
   * room for it. Until then nothing new is stored, and nothing is known of deliveries that had not waited yet.
   */
  takeUp(): Promise<boolean>;

  // --- commits whose answers were lost ---

  readonly doubt: Doubt;

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
  /**
   * Makes due at the latest instant that is allowed at most 500 of this process's waiting deliveries that a wrong clock has
   * put off for longer, whoever wrote their due times. The answer says where they wait now.
   */
  hasten(waits: Waits, now: number): Promise<readonly Waiting[]>;
  /** Due times are about to be moved: until `clockSettled`, an open finds `lastInstant` ahead of any clock. */
  clockUnsettled(): Promise<void>;
  /** All due times are reckoned by the clock as it is now: later instants that were known before are forgotten. */
  clockSettled(now: number): Promise<void>;
}

/** After each commit that is made late, memory must read again what is on the disk: nobody has told it. */
export interface Doubt {
  /** Whether there is a commit whose caller was told that it had failed, and that may have been made. */
  readonly isOpen: boolean;
  /** Those that turned out to have been made, since the start. */
  readonly madeLate: number;
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
