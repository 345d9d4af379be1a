/**
 * Moves due times along when the wall clock was set, so that a retry still comes its rung after the attempt before it:
 * never early, never later. Until an endpoint's deliveries are moved, nothing of it is read. A longer wait that a
 * receiver asked for may be cut to its rung by this: no row says which of the two it waits for.
 */
import type { Clock } from "../clock.ts";
import { delayBefore, type Ladder } from "../domain/ladder.ts";
import type { Position } from "../domain/delivery.ts";
import type { Shift, Store, Waiting } from "../store/store.ts";
import { ClockSteps } from "./clock-steps.ts";

interface Move {
  readonly epoch: number;
  readonly shift: Omit<Shift, "except">;
  /** By endpoint, the events whose due times were reckoned by the new clock already. */
  readonly settled: Map<string, Set<string>>;
  /** Still to be moved; `from` is how far the first of them has come. */
  readonly endpoints: string[];
  from: Position | null;
}

export interface ClockShiftParts {
  readonly clock: Clock;
  readonly ladder: Ladder;
  readonly store: Pick<Store, "recovery">;
  readonly endpoints: () => Iterable<string>;
  /** Resolves once everything is committed whose due time was reckoned before this call. */
  readonly written: () => Promise<void>;
  readonly onMoved: (waiting: Waiting) => void;
  readonly onStep: (byMs: number) => void;
}

export class ClockShift {
  /** Counts the times that the clock was set: a due time belongs to the epoch in which it was reckoned. */
  epoch = 0;
  readonly #parts: ClockShiftParts;
  readonly #steps: ClockSteps;
  readonly #pending: Move[] = [];

  constructor(parts: ClockShiftParts) {
    this.#parts = parts;
    this.#steps = new ClockSteps(parts.clock);
  }

  /** Looks whether the clock was set since the last look; the answer is the epoch. */
  look(): number {
    const by = this.#steps.check();
    if (by === 0) return this.epoch;
    const now = this.#parts.clock.now();
    const { ladder } = this.#parts;
    // The old clock never showed what the new one shows now: by that, what was reckoned since can be told.
    const isNew = (dueAt: number, retry: number) => by > 0 && dueAt - delayBefore(ladder, retry) >= now;
    const move = (dueAt: number, retry: number) => (isNew(dueAt, retry) ? dueAt : Math.ceil(dueAt + by));
    // What was due on the old clock is due now, whatever the new one says; only a clock set back must move it.
    this.#begin({ later: by > 0, after: Math.min(now, now - by), move }, this.#parts.endpoints());
    this.#parts.onStep(by);
    return this.epoch;
  }

  /** The clock was set back, and nobody knows by how much; but no retry waits longer than its rung. */
  clamp(endpoints: Iterable<string> = this.#parts.endpoints()): void {
    const now = this.#parts.clock.now();
    const { ladder } = this.#parts;
    const move = (dueAt: number, retry: number) => Math.min(dueAt, now + delayBefore(ladder, retry));
    this.#begin({ later: false, after: now, move }, endpoints);
  }

  /**
   * A due time that was reckoned in `epoch` is about to be written: moves that come from later still apply to it. Said
   * before the write, because a move may share its commit.
   */
  noteWrite({ endpoint, event }: { endpoint: string; event: string }, epoch: number): void {
    for (const move of this.#pending) if (move.epoch <= epoch) settledOf(move, endpoint).add(event);
  }

  /** Moves everything that is to be moved, at most 500 in a turn of the event loop. After an error it can go on. */
  async run(): Promise<void> {
    if (this.#pending.length === 0) return;
    await this.#parts.written();
    // A process that dies half-way leaves word that the next one must clamp.
    await this.#parts.store.recovery.clockUnsettled();
    for (let move = this.#pending[0]; move !== undefined; move = this.#pending[0]) {
      for (let endpoint = move.endpoints[0]; endpoint !== undefined; endpoint = move.endpoints[0]) {
        await this.#step(endpoint, move);
      }
      this.#pending.shift();
    }
    await this.#parts.store.recovery.clockSettled(this.#parts.clock.now());
  }

  #begin(shift: Omit<Shift, "except">, endpoints: Iterable<string>): void {
    this.epoch++;
    this.#pending.push({ epoch: this.epoch, shift, settled: new Map(), endpoints: [...endpoints], from: null });
  }

  async #step(endpoint: string, move: Move): Promise<void> {
    const shift = { ...move.shift, except: settledOf(move, endpoint) };
    const { moved, next } = await this.#parts.store.recovery.shiftDue(endpoint, shift, move.from);
    for (const waiting of moved) this.#parts.onMoved(waiting);
    move.from = next;
    if (next === null) move.endpoints.shift();
    if (moved.length > 0) await new Promise<void>((resolve) => this.#parts.clock.nextTurn(resolve));
  }
}

function settledOf({ settled }: Move, endpoint: string): Set<string> {
  let events = settled.get(endpoint);
  if (events === undefined) settled.set(endpoint, (events = new Set()));
  return events;
}
