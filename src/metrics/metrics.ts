/**
 * The daemon's metrics for Prometheus: `docs/interface.md` §8, where the names are a contract. They add no cost to an
 * event beyond what the store counts anyway. Everything else is read when somebody scrapes.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../clock.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import type { OutboxStanding } from "../domain/outbox/outbox.ts";
import { Histogram } from "../domain/tally.ts";
import type { ExportStanding } from "../telemetry/exporter.ts";
import type { Census, Store } from "../store/store.ts";

/** The sources that a metric may be read from. */
export interface MetricsParts {
  readonly store: Store;
  readonly deliveries: Deliveries;
  /** Returns the endpoints with a part that cannot be read. */
  readonly damaged: () => readonly unknown[];
  readonly outboxes: () => readonly { readonly outbox: { readonly name: string }; readonly standing: OutboxStanding }[];
  /** Null if no spans are recorded. */
  readonly traces: { readonly standing: ExportStanding; readonly resource: Readonly<Record<string, string>> } | null;
  readonly clock: Clock;
  readonly version: string;
}

export class Metrics {
  readonly requests = new RequestTimes();
  readonly loopDelay = new LoopDelay();
  readonly census: LatestCensus;
  readonly parts: MetricsParts;

  constructor(parts: MetricsParts) {
    this.parts = parts;
    this.census = new LatestCensus(parts.store, parts.clock);
  }

  /**
   * Returns the metrics in Prometheus's text format, or only the tenant's own if `tenant` is not null. The writer is
   * loaded at the first call.
   */
  async text(tenant: string | null): Promise<string> {
    const { exposition } = await import("./exposition.ts");
    return exposition(this, tenant);
  }
}

const BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000];

/** Durations of the API's requests, by route and status. */
export class RequestTimes {
  /** Histograms by route, then by status. */
  readonly all = new Map<string, Map<number, Histogram>>();

  took(route: string, status: number, ms: number): void {
    let ofRoute = this.all.get(route);
    if (ofRoute === undefined) this.all.set(route, (ofRoute = new Map()));
    let times = ofRoute.get(status);
    if (times === undefined) ofRoute.set(status, (times = new Histogram(BOUNDS_MS)));
    times.add(ms);
  }
}

/** Each sample wakes the process. At 100 ms, most of an idle daemon's wake-ups would be for samples. */
const RESOLUTION_MS = 250;
const NANOSECONDS = 1e9;
const QUANTILES = [0.5, 0.9, 0.99, 1];

export interface Delays {
  /** Seconds by quantile, since the last read. */
  readonly quantiles: readonly (readonly [quantile: number, seconds: number])[];
  /** Seconds since the start. */
  readonly sum: number;
  readonly count: number;
}

/** Measures how late the main thread's event loop handles events that are ready. */
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
    // The monitor measures from timer to timer, so subtract its own interval.
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

const SPARING = 20;
const MOST_KEPT_MS = 30_000;
/** A scrape waits this long for the count. After that it gets the previous one. */
const PATIENCE_MS = 500;
const REST_MS = 1;

/**
 * Counts deliveries and endpoints of each kind. No counter is kept per event. Instead the count is taken when somebody
 * asks, in steps with pauses between them, and is used for twenty times as long as it took.
 */
class LatestCensus {
  readonly #store: Pick<Store, "statistics">;
  readonly #clock: Clock;
  #latest: (Census & { readonly at: number }) | null = null;
  #freshUntil = Number.NEGATIVE_INFINITY;
  #taking: Promise<void> | null = null;

  constructor(store: Pick<Store, "statistics">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Resolves to null while there is no count yet. */
  async get(patienceMs = PATIENCE_MS): Promise<(Census & { readonly at: number }) | null> {
    if (this.#clock.monotonic() < this.#freshUntil) return this.#latest;
    // A store that cannot be read is reported elsewhere.
    this.#taking ??= this.#take()
      .catch(() => {})
      .finally(() => (this.#taking = null));
    await Promise.race([this.#taking, this.#pause(patienceMs)]);
    return this.#latest;
  }

  async #take(): Promise<void> {
    const began = this.#clock.monotonic();
    const at = this.#clock.now();
    const sum = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0 };
    const due = new Map<number, number>();
    for (let from: string | null = null; ;) {
      const { next, ...counts } = await this.#store.statistics.census(from);
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
      for (const [minute, count] of counts.due) due.set(minute, (due.get(minute) ?? 0) + count);
      if (next === null) break;
      from = next;
      await this.#pause(REST_MS);
    }
    this.#latest = { ...sum, due, at };
    const now = this.#clock.monotonic();
    this.#freshUntil = now + Math.min(MOST_KEPT_MS, SPARING * (now - began));
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
