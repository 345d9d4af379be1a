/** Detects when the wall clock was set, and tracks the due times that must move with it. */
import type { Position } from "../../domain/deliveries/delivery.ts";
import type { ClockChange, Ladder } from "../../domain/deliveries/due-time.ts";

/** One reading of both clocks, in milliseconds. Instants use the wall clock, durations the monotonic one. */
export interface Now {
  readonly wall: number;
  readonly monotonic: number;
}

const SLACK_MS = 2000;
/** A slewed clock drifts slowly. Measuring this often keeps the drift from adding up to a step. */
const SLEW_MS = 60_000;

/**
 * Detects when the wall clock was set. Due times are instants of the wall clock, so without this a retry planned before
 * a step would be early or late by the size of the step. Suspending the machine is not a step, because time really
 * passed.
 */
export class ClockSteps {
  readonly #uptimeNow: () => number;
  #last: Now;
  #uptime: number;

  /**
   * `uptime` returns the milliseconds since the machine started, including suspended time. The call is costly, and its
   * result coarse.
   */
  constructor(now: Now, uptime: () => number) {
    this.#uptimeNow = uptime;
    this.#last = now;
    this.#uptime = uptime();
  }

  /**
   * Returns the milliseconds by which the clock was set forward (or, if negative, back) since the last check. 0 if it
   * was not set.
   */
  check(now: Now): number {
    const passed = now.monotonic - this.#last.monotonic;
    const apart = now.wall - this.#last.wall - passed;
    // This runs often, so read the costly uptime only if the clocks disagree.
    if (Math.abs(apart) <= SLACK_MS) {
      if (passed > SLEW_MS) this.#restart(now);
      return 0;
    }
    const suspended = this.#uptimeNow() - this.#uptime - passed;
    this.#restart(now);
    // The uptime is coarse, so it counts only if the difference is clear.
    const step = Math.abs(suspended) > SLACK_MS ? apart - suspended : apart;
    return Math.abs(step) > SLACK_MS ? step : 0;
  }

  #restart(now: Now): void {
    this.#last = now;
    this.#uptime = this.#uptimeNow();
  }
}

/** One setting of the clock, for every endpoint that memory knew at the time. */
export interface Move {
  readonly epoch: number;
  readonly change: ClockChange;
  /** The events, by endpoint, whose due times were already computed with the new clock. */
  readonly settled: Map<string, Set<string>>;
  /** The endpoints that are still to be moved. `from` is the position reached in the first of them. */
  readonly endpoints: string[];
  from: Position | null;
}

/**
 * Moves due times after the wall clock was set, so that a retry still comes one rung after the attempt before it,
 * neither early nor late. An endpoint's deliveries are not read until they have been moved. This may cut a longer wait
 * that a receiver asked for to its rung, because a row does not say which of the two it waits for.
 */
export class DueMoves {
  /** Counts how often the clock was set. A due time belongs to the epoch in which it was computed. */
  epoch = 0;
  /** The moves still to be made, in order. */
  readonly pending: Move[] = [];
  readonly #ladder: Ladder;

  constructor(ladder: Ladder) {
    this.#ladder = ladder;
  }

  /** `by` is in milliseconds, and negative for back. Null if the clock was set back by an unknown amount. */
  begin(by: number | null, { wall: at }: Now, endpoints: Iterable<string>): void {
    this.epoch++;
    const change = { by, at, ladder: this.#ladder };
    this.pending.push({ epoch: this.epoch, change, settled: new Map(), endpoints: [...endpoints], from: null });
  }

  /** The first move has reached `next` in the first of its endpoints. Null means the end. */
  advance(next: Position | null): void {
    const move = this.pending[0]!;
    move.from = next;
    if (next === null) move.endpoints.shift();
  }

  /** The first move is done for all endpoints. */
  end(): void {
    this.pending.shift();
  }

  /**
   * A due time that was computed in `epoch` is about to be written. Later moves still apply to it. Call this before the
   * write, because a move may share its commit.
   */
  noteWrite({ endpoint, event }: { endpoint: string; event: string }, epoch: number): void {
    for (const move of this.pending) if (move.epoch <= epoch) settledOf(move, endpoint).add(event);
  }
}

/** Returns the events of the endpoint that the move must leave alone. */
export function settledOf({ settled }: Move, endpoint: string): Set<string> {
  let events = settled.get(endpoint);
  if (events === undefined) settled.set(endpoint, (events = new Set()));
  return events;
}
