/**
 * Notices when the wall clock was set. Instants are wall clock, so a retry that was planned before a step would come
 * early or late by its size. A suspended machine is no step, because time really passed.
 */
import type { Clock } from "../clock.ts";

const SLACK_MS = 2000;
/** A clock that is slewed drifts from the other slowly: measured anew this often, it never adds up to a step. */
const SLEW_MS = 60_000;

export class ClockSteps {
  readonly #clock: Clock;
  #wall: number;
  #monotonic: number;
  #uptime: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wall = clock.now();
    this.#monotonic = clock.monotonic();
    this.#uptime = clock.uptime();
  }

  /** Milliseconds by which the clock was set forward (or back, if negative) since the last check; 0 if it was not. */
  check(): number {
    const wall = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    const apart = wall - this.#wall - (monotonic - this.#monotonic);
    // Asked often, so the costly look at the uptime is for when something is up.
    if (Math.abs(apart) <= SLACK_MS) {
      if (monotonic - this.#monotonic > SLEW_MS) this.#restart(wall, monotonic);
      return 0;
    }
    const suspended = this.#clock.uptime() - this.#uptime - (monotonic - this.#monotonic);
    this.#restart(wall, monotonic);
    // The uptime is coarse: it is believed only where it clearly differs.
    const step = Math.abs(suspended) > SLACK_MS ? apart - suspended : apart;
    return Math.abs(step) > SLACK_MS ? step : 0;
  }

  #restart(wall: number, monotonic: number): void {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#uptime = this.#clock.uptime();
  }
}
