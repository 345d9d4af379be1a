/**
 * Whether an endpoint's connections may carry more than one request. A response that nobody asked for cannot be told
 * from an answer once the next request is out, so the receiver must first have been seen to keep silent: one connection
 * rests after a 2xx and is watched, and until it has rested long enough each of the others carries a single request.
 * Bytes that come while no request is out prove the opposite, and that counts for a while.
 *
 *   unknown ──a connection rested in silence──► silent
 *      └──────── a stray byte ────────┬─────────────┘
 *                                     ▼
 *                                  straying ──ten minutes──► unknown
 */
import type { Clock } from "../../clock.ts";

const STRAYING_MS = 600_000;

export class Silence {
  readonly #clock: Clock;
  readonly #restMs: number;
  #silent: boolean;
  /** In monotonic milliseconds. */
  #straysUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, restMs: number) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#silent = restMs === 0;
  }

  /** Whether a connection is worth keeping beside `others` that rest already. */
  keeps(others: number): boolean {
    return this.#silent || (others === 0 && this.#clock.monotonic() >= this.#straysUntil);
  }

  /** Whether a connection that has been silent since then may carry the next request. */
  allows(restingSince: number): boolean {
    if (!this.#silent && this.#clock.monotonic() - restingSince >= this.#restMs) this.#confirm();
    return this.#silent;
  }

  broken(): void {
    this.#silent = false;
    this.#straysUntil = this.#clock.monotonic() + STRAYING_MS;
  }

  /** What came while this process stood still is yet to be read: in the second turn all of it was. */
  #confirm(): void {
    const before = this.#straysUntil;
    const { nextTurn } = this.#clock;
    nextTurn(() => nextTurn(() => (this.#silent ||= this.#straysUntil === before)));
  }
}
