/** All state that the dispatcher keeps in memory. The parts that must not be lost are on the disk as well. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { Ladder } from "../../domain/deliveries/due-time.ts";
import type { Capacity } from "../../domain/events/routing.ts";
import type { EndedAttempt } from "../../store/store.ts";
import { DueMoves } from "./clock.ts";
import { Endpoints } from "./endpoints.ts";
import { Halts, Shortage } from "./halts.ts";
import { Lines } from "./lines.ts";
import { ManualAttempts } from "./manual-attempts.ts";
import { Reachability } from "./reachability.ts";
import { Windows, type Window } from "./windows.ts";

/** An endpoint with more deliveries due than can be attempted at a time. */
export interface Queue {
  readonly endpoint: string;
  readonly atOnce: number;
  readonly oldestDueAt: number;
}

export interface DeliveryRules {
  readonly ladder: Ladder;
  /** The longest time, in milliseconds, by which a receiver may postpone its next attempt. 0 keeps the ladder exact. */
  readonly maxRetryAfter: number;
  /** The time limit of an attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** The number of body bytes that memory may hold. */
  readonly loadedBytes: number;
  readonly autoDisable: AutoDisableRules;
}

/** The conditions under which endpoints are disabled automatically. */
export interface AutoDisableRules {
  /** True to disable an endpoint that answers 410. */
  readonly onGone: boolean;
  /** Disable after this many milliseconds of failures without a success. 0 for never. */
  readonly afterMs: number;
}

/**
 * An attempt with its verdict, and the inputs of its due time: the clock's epoch, and the monotonic time at which the
 * attempt ended.
 */
export interface DecidedAttempt extends EndedAttempt {
  readonly epoch: number;
  readonly endedAt: number;
  /** True if the disk refused it before, so that it is already in the log. */
  readonly isRetried: boolean;
}

export class Memory {
  readonly rules: DeliveryRules;
  /** The number of attempts to the endpoint that may be in flight at a time, as far as is known. */
  readonly capOf: (endpoint: string) => number;
  readonly windows: Windows;
  readonly endpoints = new Endpoints();
  readonly halts = new Halts();
  readonly manual: ManualAttempts;
  readonly reachability: Reachability;
  readonly shortage = new Shortage();
  readonly lines = new Lines();
  readonly dueMoves: DueMoves;
  /** Deliveries that were withdrawn while they were loaded, and still are. None of them is started any more. */
  readonly withdrawn = new Set<string>();
  /**
   * Returns true if another node sends for the endpoint, so that nothing of it is started here. Null if there are no
   * other nodes.
   */
  elsewhere: ((endpoint: string) => boolean) | null = null;
  /** Deliveries whose release somebody is waiting for. */
  readonly watched = new Set<string>();
  /** Results, and claims to be given back, that the store refused. The next tick tries again. */
  unrecorded: readonly DecidedAttempt[] = [];
  refused: readonly Claim[] = [];

  constructor(rules: DeliveryRules, capOf: (endpoint: string) => number) {
    this.rules = rules;
    this.capOf = capOf;
    this.dueMoves = new DueMoves(rules.ladder);
    this.windows = new Windows(rules.loadedBytes, capOf);
    this.manual = new ManualAttempts(
      this.windows,
      this.endpoints,
      this.halts,
      (endpoint) => this.elsewhere?.(endpoint) === true,
    );
    this.reachability = new Reachability(rules.timeoutMs);
  }

  /** The facts on which a publish decides which of its deliveries start at once. */
  get capacity(): Capacity {
    const { endpoints, halts, windows } = this;
    const isShut = halts.stopping || halts.onTrial;
    return { isShut, isFull: windows.isFull, damaged: endpoints.damaged, windows: windows.byEndpoint };
  }

  /** The endpoints whose due times this process moves when its clock is set. */
  ownEndpoints(): Iterable<string> {
    const { elsewhere } = this;
    const all = this.windows.endpoints();
    return elsewhere === null ? all : [...all].filter((endpoint) => !elsewhere(endpoint));
  }

  /** Returns the time at which the oldest delivery fell due, or null if none is due. Scans all of memory. */
  oldestDueAt(now: number): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const window of this.windows.all()) {
      if (this.endpoints.isOpen(window.endpoint)) oldest = Math.min(oldest, oldestOf(window));
    }
    return oldest <= now ? oldest : null;
  }

  /**
   * Returns the endpoints with more deliveries due than can be attempted at a time, the longest wait first. Scans all
   * of memory.
   */
  queues(now: number): Queue[] {
    const queues: Queue[] = [];
    for (const window of this.windows.all()) {
      const { endpoint, loaded, nextDueAt } = window;
      const atOnce = this.capOf(endpoint);
      const oldestDueAt = oldestOf(window);
      const isLong = loaded.size > atOnce || nextDueAt <= now;
      if (isLong && oldestDueAt <= now && this.endpoints.isOpen(endpoint))
        queues.push({ endpoint, atOnce, oldestDueAt });
    }
    return queues.sort((one, other) => one.oldestDueAt - other.oldestDueAt);
  }
}

/** Loaded deliveries are due or being attempted. For those on disk, `nextDueAt` has the time. */
function oldestOf({ loaded, nextDueAt }: Window): number {
  let oldest = nextDueAt;
  for (const { dueAt } of loaded.values()) oldest = Math.min(oldest, dueAt);
  return oldest;
}
