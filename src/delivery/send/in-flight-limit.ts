/**
 * How many attempts may be in flight: as many as are configured and as there is room for. After a shortage it is as many
 * as got through then, and with each second twice as many. Times are monotonic milliseconds.
 */
const GROWS_MS = 1000;
/** The room changes when this process's limits are changed. */
const LOOK_MS = 10_000;

export class InFlightLimit {
  readonly #most: () => number;
  #ceiling: number;
  #lookedAt: number;
  #limit = Number.POSITIVE_INFINITY;
  #since = 0;

  constructor(most: () => number, now: number) {
    this.#most = most;
    this.#ceiling = most();
    this.#lookedAt = now;
  }

  at(now: number): number {
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      this.#ceiling = this.#most();
    }
    while (this.#limit < this.#ceiling && now - this.#since >= GROWS_MS) {
      this.#limit = Math.max(1, 2 * this.#limit);
      this.#since += GROWS_MS;
    }
    if (this.#limit < this.#ceiling) return this.#limit;
    this.#limit = Number.POSITIVE_INFINITY;
    return this.#ceiling;
  }

  /** When it will be more; Infinity if it will not. */
  get growsAt(): number {
    return this.#limit === Number.POSITIVE_INFINITY ? this.#limit : this.#since + GROWS_MS;
  }

  /** An attempt could not be made while so many others are in flight. */
  short(inFlight: number, now: number): void {
    this.#limit = Math.min(this.#limit, inFlight);
    this.#since = now;
  }
}
