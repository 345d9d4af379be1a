/**
 * What the daemon tells Prometheus: `docs/interface.md` §8, where the names are a contract. Nothing is added up for it on
 * the way of an event but what the store counts anyway; all else is looked at when somebody scrapes.
 */
import type { Clock } from "../clock.ts";
import type { Deliveries } from "../delivery/deliveries.ts";
import { type Histogram, DELAY_BOUNDS, DURATION_BOUNDS } from "../domain/tally.ts";
import { HALT_REASONS } from "../domain/deliveries/pause.ts";
import type { Store } from "../store/store.ts";
import { LatestCensus } from "./census.ts";
import { LoopDelay } from "./loop-delay.ts";
import { RequestTimes } from "./request-times.ts";

export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** After the family's name. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
}

type Buckets = Readonly<Pick<Histogram, "bounds" | "sum">> & { readonly counts: readonly number[] };

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** As they are now; none where there is nothing to tell. */
  samples(): readonly Sample[] | Promise<readonly Sample[]>;
}

export interface MetricsParts {
  readonly store: Pick<Store, "statistics" | "operations" | "upkeep">;
  readonly deliveries: Pick<Deliveries, "paused" | "halts" | "oldestDueAt" | "inFlight">;
  /** Endpoints of which something cannot be read. */
  readonly damaged: () => readonly unknown[];
  readonly clock: Clock;
  readonly version: string;
}

/** One series an endpoint would be a series for each customer: only those that fail have one. */
const FAILING_LIMIT = 100;

export class Metrics {
  readonly requests = new RequestTimes();
  readonly loopDelay = new LoopDelay();
  readonly census: LatestCensus;
  readonly families: readonly Family[];
  readonly #parts: MetricsParts;
  #text: (() => Promise<string>) | null = null;

  constructor(parts: MetricsParts) {
    this.#parts = parts;
    this.census = new LatestCensus(parts.store, parts.clock);
    this.families = [...countersOf(parts), ...gaugesOf(parts, this.census), ...this.#timesOf(parts)];
  }

  /** In Prometheus's text format; with a tenant, its series alone. What writes it is loaded when it is first asked for. */
  async text(tenant: string | null): Promise<string> {
    const { exposition } = await import("./exposition.ts");
    if (tenant !== null) return exposition([failingOf(this.#parts, tenant)])();
    return (this.#text ??= exposition(this.families))();
  }

  #timesOf({ store }: MetricsParts): Family[] {
    return [
      {
        name: "webhookd_store_commit_duration_seconds",
        help: "How long commits took.",
        type: "histogram",
        samples: async () => histogram({}, (await store.statistics.sinceStart()).commitTimes),
      },
      {
        name: "webhookd_api_request_duration_seconds",
        help: "How long requests took, by route and status.",
        type: "histogram",
        samples: () =>
          [...this.requests.all].flatMap(([route, byStatus]) =>
            [...byStatus].flatMap(([status, times]) => histogram({ route, status }, times)),
          ),
      },
      {
        name: "webhookd_event_loop_delay_seconds",
        help: "How late the main thread ran what was ready, since the last scrape.",
        type: "summary",
        samples: () => {
          const { quantiles, sum, count } = this.loopDelay.read();
          return [
            ...quantiles.map(([quantile, value]) => ({ labels: { quantile }, value })),
            { labels: {}, value: sum, suffix: "_sum" },
            { labels: {}, value: count, suffix: "_count" },
          ];
        },
      },
    ];
  }
}

function countersOf({ store }: MetricsParts): Family[] {
  const attempts = async () => (await store.statistics.sinceStart()).attempts;
  return [
    {
      name: "webhookd_events_published_total",
      help: "Published events by type.",
      type: "counter",
      samples: async () =>
        [...(await store.statistics.sinceStart()).published].map(([type, value]) => ({ labels: { type }, value })),
    },
    {
      name: "webhookd_attempts_total",
      help: "Recorded attempts by outcome; error is empty for a success.",
      type: "counter",
      samples: async () => {
        const { succeeded, interrupted, failed } = await attempts();
        return [
          { labels: { outcome: "succeeded", error: "" }, value: succeeded },
          { labels: { outcome: "interrupted", error: "interrupted" }, value: interrupted },
          ...[...failed].map(([error, value]) => ({ labels: { outcome: "failed", error }, value })),
        ];
      },
    },
    {
      name: "webhookd_deliveries_failed_total",
      help: "Deliveries that failed for good, by the error of their last attempt.",
      type: "counter",
      samples: async () =>
        [...(await attempts()).deliveriesFailed].map(([error, value]) => ({ labels: { error }, value })),
    },
    {
      name: "webhookd_attempt_duration_seconds",
      help: "How long attempts took, from their start until their outcome was known.",
      type: "histogram",
      samples: async () => {
        const { durations: counts, durationMs: sum } = await attempts();
        return histogram({}, { bounds: DURATION_BOUNDS, counts, sum });
      },
    },
    {
      name: "webhookd_first_attempt_delay_seconds",
      help: "How long events waited for their first attempt.",
      type: "histogram",
      samples: async () => {
        const { delays: counts, delayMs: sum } = await attempts();
        return histogram({}, { bounds: DELAY_BOUNDS, counts, sum });
      },
    },
  ];
}

function gaugesOf(parts: MetricsParts, census: LatestCensus): Family[] {
  const { store, deliveries, damaged, clock, version } = parts;
  const one = (value: number): Sample[] => [{ labels: {}, value }];
  const counted = async (label: string, ...names: ("pending" | "held" | "failed" | "enabled" | "disabled")[]) => {
    const counts = await census.get();
    return counts === null ? [] : names.map((name) => ({ labels: { [label]: name }, value: counts[name] }));
  };
  const gauge = (name: string, help: string, samples: Family["samples"]): Family => {
    return { name, help, type: "gauge", samples };
  };
  return [
    gauge(
      "webhookd_deliveries",
      "Deliveries that are pending, held or failed now, as counted within the last 30 s.",
      () => counted("status", "pending", "held", "failed"),
    ),
    gauge("webhookd_endpoints", "Endpoints, enabled or disabled, as counted within the last 30 s.", () =>
      counted("state", "enabled", "disabled"),
    ),
    gauge("webhookd_damaged_endpoints", "Endpoints with data that cannot be read.", () => one(damaged().length)),
    gauge("webhookd_oldest_due_age_seconds", "How long the oldest due delivery has been due.", () => {
      const now = clock.now();
      return one(Math.max(0, now - (deliveries.oldestDueAt(now) ?? now)) / 1000);
    }),
    gauge("webhookd_in_flight", "Attempts on the wire.", () => one(deliveries.inFlight)),
    gauge(
      "webhookd_not_sending",
      "1 for each reason why nothing, or less than could be, is being sent; otherwise 0.",
      () => {
        const reasons = new Set(deliveries.halts.map(({ reason }) => reason));
        return HALT_REASONS.map((reason) => ({ labels: { reason }, value: reasons.has(reason) ? 1 : 0 }));
      },
    ),
    gauge("webhookd_paused", "Whether all sending is paused.", () => one(deliveries.paused ? 1 : 0)),
    gauge("webhookd_store_bytes", "Size of the store's files.", async () => {
      const { databaseBytes, logBytes } = await store.operations.size();
      return [
        { labels: { file: "database" }, value: databaseBytes },
        { labels: { file: "wal" }, value: logBytes },
      ];
    }),
    gauge("webhookd_store_log_growing", "Whether the write-ahead log is too large and cannot be emptied.", async () =>
      one((await store.upkeep.condition()).trouble === null ? 0 : 1),
    ),
    gauge("webhookd_disk_free_bytes", "Free disk space, which is compared with [data] disk_floor.", async () =>
      one((await store.upkeep.checkSpace()).freeBytes),
    ),
    failingOf(parts, null),
    gauge("webhookd_backup_last_success_timestamp_seconds", "When the last backup was made.", async () => {
      const last = await store.operations.lastBackup();
      return last === null ? [] : one(last.at / 1000);
    }),
    gauge(
      "webhookd_store_damaged",
      "Whether the database was damaged and repaired, and the damaged file is still there.",
      async () => one((await store.operations.damage()) === null ? 0 : 1),
    ),
    gauge("webhookd_build_info", "The versions of webhookd and Node.", () => [
      { labels: { version, node: process.version }, value: 1 },
    ]),
  ];
}

/** The only series that are somebody's: all others are about the daemon as a whole. */
function failingOf({ store, clock }: MetricsParts, tenant: string | null): Family {
  return {
    name: "webhookd_endpoint_consecutive_failures",
    help: `Consecutive failures of the ${FAILING_LIMIT} endpoints that have failed most often in a row.`,
    type: "gauge",
    samples: async () =>
      (await store.statistics.failing(tenant, clock.now(), FAILING_LIMIT)).map(({ endpoint, consecutiveFailures }) => {
        return { labels: { endpoint }, value: consecutiveFailures };
      }),
  };
}

/** Of milliseconds, in seconds. */
function histogram(labels: Labels, { bounds, counts, sum }: Buckets): Sample[] {
  let count = 0;
  const buckets = counts.map((inBucket, at): Sample => {
    count += inBucket;
    const le = at < bounds.length ? bounds[at]! / 1000 : "+Inf";
    return { labels: { ...labels, le }, value: count, suffix: "_bucket" };
  });
  return [...buckets, { labels, value: sum / 1000, suffix: "_sum" }, { labels, value: count, suffix: "_count" }];
}
