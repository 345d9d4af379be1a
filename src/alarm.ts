/**
 * Logs trouble that lasts: when it begins, once a minute while it goes on, and how long it took when it ends. Trouble
 * that comes and goes is logged no more often.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

const PACE_MS = 60_000;

export class Alarm {
  readonly #clock: Clock;
  readonly #log: Log;
  #since: number | null = null;
  #wasTold = false;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Trouble has begun, or goes on. */
  raise(message: string, fields: object = {}): void {
    const now = this.#clock.monotonic();
    this.#since ??= now;
    if (now - this.#toldAt < PACE_MS) return;
    this.#toldAt = now;
    this.#log.error({ ...fields, lasted_ms: Math.round(now - this.#since) }, message);
    this.#wasTold = true;
  }

  /** The trouble is over. */
  clear(message: string): void {
    if (this.#since === null) return;
    const lasted_ms = Math.round(this.#clock.monotonic() - this.#since);
    if (this.#wasTold) this.#log.info({ lasted_ms }, message);
    this.#since = null;
    this.#wasTold = false;
  }
}
