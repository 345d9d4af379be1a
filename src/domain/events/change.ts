/** What happened to deliveries, for whoever looks on: one by one while it is little, counted when it is much. */
import type { AttemptError, Outcome } from "../deliveries/attempt.ts";
import type { DeliveryStatus } from "../deliveries/delivery.ts";

export interface Change {
  readonly kind: "attempt" | "delivery" | "endpoint";
  /** Epoch milliseconds. */
  readonly at: number;
  readonly endpoint: string;
  readonly event: string | null;
  readonly delivery: string | null;
  /** What the delivery became; null where that did not change. Pending is also what a disabled endpoint holds. */
  readonly status: DeliveryStatus | null;
  /** Null unless it is an attempt. */
  readonly attempt: AttemptResult | null;
}

export interface AttemptResult {
  readonly number: number;
  readonly outcome: Outcome["outcome"];
  readonly error: AttemptError | null;
  readonly statusCode: number | null;
  readonly durationMs: number;
  readonly nextAttemptAt: number | null;
}

/** Changes of one kind that were not kept one by one. */
export interface ChangeCount {
  readonly kind: Change["kind"];
  readonly endpoint: string;
  readonly status: DeliveryStatus | null;
  readonly outcome: Outcome["outcome"] | null;
  readonly error: AttemptError | null;
  readonly count: number;
}

export class FoldedChanges {
  readonly #limit: number;
  readonly changes: Change[] = [];
  readonly #counts = new Map<string, { -readonly [K in keyof ChangeCount]: ChangeCount[K] }>();

  /** So many are kept one by one. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get counts(): ChangeCount[] {
    return [...this.#counts.values()];
  }

  get isEmpty(): boolean {
    return this.changes.length === 0;
  }

  add(change: Change): void {
    if (this.changes.length < this.#limit) {
      this.changes.push(change);
      return;
    }
    const { kind, endpoint, status, attempt } = change;
    const [outcome, error] = [attempt?.outcome ?? null, attempt?.error ?? null];
    const key = `${kind} ${endpoint} ${status} ${outcome} ${error}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { kind, endpoint, status, outcome, error, count: 1 });
    else known.count++;
  }
}

export interface Numbered {
  /** Counts the batches, from 1. */
  readonly number: number;
  /** How much of the room it takes. */
  readonly size: number;
}

/** The latest batches, so that anyone who was cut off for a moment misses nothing. Bounded, by what they hold. */
export class BatchRing<B extends Numbered> {
  readonly #room: number;
  #batches: B[] = [];
  #held = 0;
  /** The number of the last batch that is no longer here. */
  #gone = 0;

  constructor(room: number) {
    this.#room = room;
  }

  push(batch: B): void {
    this.#batches.push(batch);
    this.#held += batch.size;
    let first = 0;
    while (this.#held > this.#room) this.#held -= this.#batches[first++]!.size;
    if (first === 0) return;
    this.#gone = this.#batches[first - 1]!.number;
    this.#batches = this.#batches.slice(first);
  }

  /** All that came after that one; null when some of them are gone. */
  after(number: number): readonly B[] | null {
    return number < this.#gone ? null : this.#batches.filter((batch) => batch.number > number);
  }

  /** Forgets everything, up to that number. */
  clear(upTo: number): void {
    this.#batches = [];
    this.#held = 0;
    this.#gone = upTo;
  }
}
