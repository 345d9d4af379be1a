/** How late the main thread's event loop gets to things that are ready. */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Each look wakes the process: at 100 ms, they are most of what wakes a daemon with nothing to do. */
const RESOLUTION_MS = 250;
const NANOSECONDS = 1e9;
const QUANTILES = [0.5, 0.9, 0.99, 1];

export interface Delays {
  /** Seconds, by quantile, since they were read last. */
  readonly quantiles: readonly (readonly [quantile: number, seconds: number])[];
  /** Since the start. */
  readonly sum: number;
  readonly count: number;
}

export class LoopDelay {
  readonly #monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #sum = 0;
  #count = 0;

  start(): void {
    this.#monitor.enable();
  }

  stop(): void {
    this.#monitor.disable();
  }

  read(): Delays {
    const { count, mean } = this.#monitor;
    // It measures from timer to timer: what it was asked to wait is no delay.
    const delay = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000);
    const quantiles = QUANTILES.map((quantile) => {
      return [quantile, count === 0 ? 0 : delay(this.#monitor.percentile(quantile * 100))] as const;
    });
    this.#count += count;
    if (count > 0) this.#sum += count * delay(mean);
    this.#monitor.reset();
    return { quantiles, sum: this.#sum, count: this.#count };
  }
}
