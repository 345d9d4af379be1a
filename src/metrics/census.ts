/**
 * How many deliveries and endpoints there are of each kind. Nobody keeps that count on the way of an event: it is taken
 * when somebody asks, in steps with rests between them, and holds for twenty times as long as it took.
 */
import type { Clock } from "../clock.ts";
import type { Census, Store } from "../store/store.ts";

const SPARING = 20;
const LEAST_KEPT_MS = 5000;
const MOST_KEPT_MS = 30_000;
/** A scrape waits for the count no longer than this; after that it is answered with the one before. */
const PATIENCE_MS = 500;
const REST_MS = 1;

export class LatestCensus {
  readonly #store: Pick<Store, "statistics">;
  readonly #clock: Clock;
  #latest: Census | null = null;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #taking: Promise<void> | null = null;

  constructor(store: Pick<Store, "statistics">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Null while there is none yet. */
  async get(patienceMs = PATIENCE_MS): Promise<Census | null> {
    if (this.#clock.monotonic() < this.#freshUntil) return this.#latest;
    // A store that cannot be read says so elsewhere.
    this.#taking ??= this.#take()
      .catch(() => {})
      .finally(() => (this.#taking = null));
    await Promise.race([this.#taking, this.#pause(patienceMs)]);
    return this.#latest;
  }

  async #take(): Promise<void> {
    const began = this.#clock.monotonic();
    const sum = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0 };
    for (let from: string | null = null; ;) {
      const { next, ...counts } = await this.#store.statistics.census(from);
      for (const name of Object.keys(sum) as (keyof Census)[]) sum[name] += counts[name];
      if (next === null) break;
      from = next;
      await this.#pause(REST_MS);
    }
    this.#latest = sum;
    const now = this.#clock.monotonic();
    this.#freshUntil = now + Math.min(MOST_KEPT_MS, Math.max(LEAST_KEPT_MS, SPARING * (now - began)));
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
