/**
 * What the daemon knows for Prometheus: `docs/interface.md` §8, where the names are a contract. Nothing is added up for it
 * on the way of an event but what the store counts anyway; all else is looked at when somebody scrapes.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Clock } from "../clock.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import { Histogram } from "../domain/tally.ts";
import type { Census, Store } from "../store/store.ts";

/** What a metric may be read from. */
export interface MetricsParts {
  readonly store: Store;
  readonly deliveries: Deliveries;
  /** Endpoints of which something cannot be read. */
  readonly damaged: () => readonly unknown[];
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

  /** In Prometheus's text format; with a tenant, its series alone. What writes it is loaded when it is first asked for. */
  async text(tenant: string | null): Promise<string> {
    const { exposition } = await import("./exposition.ts");
    return exposition(this, tenant);
  }
}

const BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000];

/** How long the API's requests took, by route and status. */
export class RequestTimes {
  /** By route, then by status. */
  readonly all = new Map<string, Map<number, Histogram>>();

  took(route: string, status: number, ms: number): void {
    let ofRoute = this.all.get(route);
    if (ofRoute === undefined) this.all.set(route, (ofRoute = new Map()));
    let times = ofRoute.get(status);
    if (times === undefined) ofRoute.set(status, (times = new Histogram(BOUNDS_MS)));
    times.add(ms);
  }
}

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

/** How late the main thread's event loop gets to things that are ready. */
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

const SPARING = 20;
const MOST_KEPT_MS = 30_000;
/** A scrape waits for the count no longer than this; after that it is answered with the one before. */
const PATIENCE_MS = 500;
const REST_MS = 1;

/**
 * How many deliveries and endpoints there are of each kind. Nobody keeps that count on the way of an event: it is taken
 * when somebody asks, in steps with rests between them, and holds for twenty times as long as it took.
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

  /** Null while there is none yet. */
  async get(patienceMs = PATIENCE_MS): Promise<(Census & { readonly at: number }) | null> {
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
