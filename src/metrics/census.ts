/**
 * How many deliveries and endpoints there are of each kind. Nobody keeps that count on the way of an event: it is taken
 * when somebody asks, in steps with rests between them, and holds for half a minute.
 */
import type { Clock } from "../clock.ts";
import type { Census, Store } from "../store/store.ts";

const KEPT_MS = 30_000;
/** A scrape waits for the count no longer than this; after that it is answered with the one before. */
const PATIENCE_MS = 500;
const REST_MS = 1;

export class LatestCensus {
  readonly #store: Pick<Store, "census">;
  readonly #clock: Clock;
  #latest: Census | null = null;
  #takenAt = Number.NEGATIVE_INFINITY;
  #taking: Promise<void> | null = null;

  constructor(store: Pick<Store, "census">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Null while there is none yet. */
  async get(): Promise<Census | null> {
    if (this.#clock.monotonic() < this.#takenAt + KEPT_MS) return this.#latest;
    // A store that cannot be read says so elsewhere.
    this.#taking ??= this.#take()
      .catch(() => {})
      .finally(() => (this.#taking = null));
    await Promise.race([this.#taking, this.#pause(PATIENCE_MS)]);
    return this.#latest;
  }

  async #take(): Promise<void> {
    const sum = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0 };
    for (let from: string | null = null; ;) {
      const { next, ...counts } = await this.#store.census(from);
      for (const name of Object.keys(sum) as (keyof Census)[]) sum[name] += counts[name];
      if (next === null) break;
      from = next;
      await this.#pause(REST_MS);
    }
    this.#latest = sum;
    this.#takenAt = this.#clock.monotonic();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
