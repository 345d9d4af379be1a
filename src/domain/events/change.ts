/** Changes to deliveries, for watchers: kept one by one while there are few, and counted when there are many. */
import type { AttemptError, Outcome } from "../deliveries/attempt.ts";
import type { DeliveryStatus } from "../deliveries/delivery.ts";

export interface Change {
  readonly kind: "attempt" | "delivery" | "endpoint";
  /** Epoch milliseconds. */
  readonly at: number;
  readonly endpoint: string;
  readonly event: string | null;
  readonly delivery: string | null;
  /** The new status of the delivery. Null if it did not change. A held delivery counts as pending here. */
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

/** The number of changes of one kind that were not kept one by one. */
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

  /** `limit` is how many changes are kept one by one. */
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
  /** The part of the ring's capacity that it takes up. */
  readonly size: number;
}

/**
 * Keeps the latest batches, so that a watcher who was disconnected for a moment misses nothing. Their total size is
 * bounded.
 */
export class BatchRing<B extends Numbered> {
  readonly #capacity: number;
  #batches: B[] = [];
  #held = 0;
  /** The number of the last batch that was dropped. */
  #gone = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(batch: B): void {
    this.#batches.push(batch);
    this.#held += batch.size;
    let first = 0;
    while (this.#held > this.#capacity) this.#held -= this.#batches[first++]!.size;
    if (first === 0) return;
    this.#gone = this.#batches[first - 1]!.number;
    this.#batches = this.#batches.slice(first);
  }

  /** Returns all batches after that number, or null if some of them were dropped. */
  after(number: number): readonly B[] | null {
    return number < this.#gone ? null : this.#batches.filter((batch) => batch.number > number);
  }

  /** Drops everything up to that number. */
  clear(upTo: number): void {
    this.#batches = [];
    this.#held = 0;
    this.#gone = upTo;
  }
}
