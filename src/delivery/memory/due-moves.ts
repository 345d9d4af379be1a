/**
 * Due times that move because the wall clock was set, so that a retry still comes its rung after the attempt before it:
 * never early, never later. Until an endpoint's deliveries are moved, nothing of it is read. A longer wait that a
 * receiver asked for may be cut to its rung by this: no row says which of the two it waits for.
 */
import type { ClockChange } from "../../domain/deliveries/due-time.ts";
import type { Position } from "../../domain/deliveries/delivery.ts";

/** One setting of the clock, for every endpoint that memory knew then. */
export interface Move {
  readonly epoch: number;
  readonly change: ClockChange;
  /** By endpoint, the events whose due times were reckoned by the new clock already. */
  readonly settled: Map<string, Set<string>>;
  /** Still to be moved; `from` is how far the first of them has come. */
  readonly endpoints: string[];
  from: Position | null;
}

export class DueMoves {
  /** Counts the times that the clock was set: a due time belongs to the epoch in which it was reckoned. */
  epoch = 0;
  /** In the order in which they are to be made. */
  readonly pending: Move[] = [];

  begin(change: ClockChange, endpoints: Iterable<string>): void {
    this.epoch++;
    this.pending.push({ epoch: this.epoch, change, settled: new Map(), endpoints: [...endpoints], from: null });
  }

  /** The first move, at the first of its endpoints, has come as far as `next`; null for the end. */
  advance(next: Position | null): void {
    const move = this.pending[0]!;
    move.from = next;
    if (next === null) move.endpoints.shift();
  }

  /** The first move was made everywhere. */
  end(): void {
    this.pending.shift();
  }

  /**
   * A due time that was reckoned in `epoch` is about to be written: moves that come from later still apply to it. Said
   * before the write, because a move may share its commit.
   */
  noteWrite({ endpoint, event }: { endpoint: string; event: string }, epoch: number): void {
    for (const move of this.pending) if (move.epoch <= epoch) settledOf(move, endpoint).add(event);
  }
}

/** The events of the endpoint that the move must leave alone. */
export function settledOf({ settled }: Move, endpoint: string): Set<string> {
  let events = settled.get(endpoint);
  if (events === undefined) settled.set(endpoint, (events = new Set()));
  return events;
}
