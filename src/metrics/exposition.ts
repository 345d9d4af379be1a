/**
 * Writes the metrics in Prometheus's text format. Only this file knows prom-client.
 *
 * Each metric is declared only here: as a `gauge(…)`, or a family of another type, in the function for its subject. The
 * store and the deliveries are in `parts`, and `census` has the counts of deliveries and endpoints, up to 30 s old. The
 * name of a metric is a contract: `docs/interface.md` §8.
 */
import { sum } from "../domain/tally.ts";
import { Registry, type Metric } from "prom-client";
import { ATTEMPT_ERRORS } from "../domain/deliveries/attempt.ts";
import { HALT_REASONS } from "../domain/deliveries/pause.ts";
import { WebhookdError } from "../domain/errors.ts";
import { MAX_COUNTED, type OutboxStanding } from "../domain/outbox/outbox.ts";
import { DELAY_BOUNDS, DURATION_BOUNDS, type Histogram } from "../domain/tally.ts";
import type { Metrics, MetricsParts } from "./metrics.ts";

type Labels = Readonly<Record<string, string | number>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Follows the family's name. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
}

type Buckets = Readonly<Pick<Histogram, "bounds" | "sum">> & { readonly counts: readonly number[] };

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** Returns the current samples, or none if there is nothing to report. */
  samples(): readonly Sample[] | Promise<readonly Sample[]>;
}

/** Only failing endpoints have a series: one for each endpoint would mean one for each customer. */
const FAILING_LIMIT = 100;
const HOLDING_LIMIT = 1000;

/** Returns only the tenant's own series if `tenant` is not null. */
export function exposition(metrics: Metrics, tenant: string | null): Promise<string> {
  const families =
    tenant === null
      ? [
          ...countersOf(metrics),
          ...sendingOf(metrics),
          ...nodesOf(metrics),
          ...orderOf(metrics),
          ...outboxesOf(metrics),
          ...spansOf(metrics),
          ...keepingOf(metrics),
          ...timesOf(metrics),
        ]
      : [failingOf(metrics.parts, tenant)];
  const registry = new Registry();
  for (const family of families) {
    const { name, help, type } = family;
    const get = async () => {
      const values = (await samplesOf(family)).map(({ labels, value, suffix = "" }) => {
        return { labels, value, metricName: name + suffix };
      });
      return { name, help, type, values, aggregator: "sum" };
    };
    // The library's own classes would have to be updated at each change of a value. This reads the values at each
    // scrape.
    registry.registerMetric({ name, get } as unknown as Metric);
  }
  return registry.metrics();
}

/** Returns no samples if the store cannot be read. The other families matter even more then. */
async function samplesOf(family: Family): Promise<readonly Sample[]> {
  try {
    return await family.samples();
  } catch (error) {
    if (error instanceof WebhookdError) return [];
    throw error;
  }
}

function countersOf({ parts: { store } }: Metrics): Family[] {
  const attempts = async () => (await store.statistics.sinceStart()).attempts;
  return [
    {
      name: "webhookd_events_published_total",
      help: "Events that were published, by type.",
      type: "counter",
      samples: async () =>
        [...(await store.statistics.sinceStart()).published].map(([type, value]) => ({ labels: { type }, value })),
    },
    {
      name: "webhookd_attempts_total",
      help: "Recorded attempts by outcome: succeeded, failed or interrupted. The error is empty for a success.",
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
      // Each series starts at 0, because `increase` does not count a series' first value.
      samples: async () => {
        const { deliveriesFailed } = await attempts();
        return ATTEMPT_ERRORS.map((error) => ({ labels: { error }, value: deliveriesFailed.get(error) ?? 0 }));
      },
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

/** The families about deliveries that wait to be sent. */
function sendingOf({ parts, census }: Metrics): Family[] {
  const { deliveries, damaged, clock } = parts;
  const counted = async (label: string, ...names: ("pending" | "held" | "failed" | "enabled" | "disabled")[]) => {
    const counts = await census.get();
    return counts === null ? [] : names.map((name) => ({ labels: { [label]: name }, value: counts[name] }));
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
    gauge("webhookd_oldest_due_age_seconds", "How long the oldest due delivery has been due; 0 if none is.", () => {
      const now = clock.now();
      return one(Math.max(0, now - (deliveries.oldestDueAt(now) ?? now)) / 1000);
    }),
    gauge("webhookd_in_flight", "Attempts that are on the wire now.", () => one(deliveries.inFlight)),
    gauge(
      "webhookd_not_sending",
      "1 for each reason why nothing is being sent, or less than could be; otherwise 0. The reasons are operator, unrecorded, unreachable, shortage, lease and stopping.",
      () => {
        const reasons = new Set(deliveries.halts.map(({ reason }) => reason));
        return HALT_REASONS.map((reason) => ({ labels: { reason }, value: reasons.has(reason) ? 1 : 0 }));
      },
    ),
    gauge("webhookd_paused", "1 if an operator paused all sending, otherwise 0.", () => one(deliveries.paused ? 1 : 0)),
  ];
}

/** Families about the nodes that share the store, if there are several. */
function nodesOf({ parts: { store } }: Metrics): Family[] {
  let asked: ReturnType<typeof store.ownership.nodes> | undefined;
  const nodes = () => (asked ??= store.ownership.nodes());
  const own = async () => (await nodes()).find(({ isThis }) => isThis);
  return [
    gauge("webhookd_nodes", "Nodes that share the store: sending, draining or lost.", async () => {
      const all = await nodes();
      const states = all.map(({ isLost, draining }) => (isLost ? "lost" : draining ? "draining" : "sending"));
      const counted = (state: string) => states.filter((one) => one === state).length;
      const labels = ["sending", "draining", "lost"].map((state) => ({ labels: { state }, value: counted(state) }));
      return all.length === 0 ? [] : labels;
    }),
    gauge("webhookd_node_slots", "How many of the 1,024 slots this node has.", async () => {
      const node = await own();
      return node === undefined ? [] : one(node.slots);
    }),
    gauge("webhookd_node_endpoints", "How many endpoints live on this node.", async () => {
      const node = await own();
      return node === undefined ? [] : one(node.endpoints);
    }),
  ];
}

function outboxesOf({ parts }: Metrics): Family[] {
  const known = (value: (standing: OutboxStanding) => number | null) => () =>
    parts.outboxes().flatMap(({ outbox, standing }) => {
      const known = value(standing);
      return known === null ? [] : [{ labels: { outbox: outbox.name }, value: known }];
    });
  return [
    gauge(
      "webhookd_outbox_up",
      "1 while the outbox can be read, else 0.",
      known(({ isUp }) => Number(isUp)),
    ),
    gauge(
      "webhookd_outbox_waiting_rows",
      `Rows that wait to be published, counted up to ${MAX_COUNTED}.`,
      known(({ waiting }) => waiting),
    ),
    gauge(
      "webhookd_outbox_oldest_seconds",
      "Age of the first row that waits to be published; 0 if none does.",
      known(({ oldestMs }) => (oldestMs ?? 0) / 1000),
    ),
    gauge(
      "webhookd_outbox_set_aside_rows",
      `Rows that cannot be events, counted up to ${MAX_COUNTED}.`,
      known(({ setAside }) => setAside),
    ),
  ];
}

/** Families about traces, if they are on. `target_info` is how Prometheus has the attributes of a resource. */
function spansOf({ parts: { traces } }: Metrics): Family[] {
  const labels = Object.entries(traces?.resource ?? {}).map(([name, value]) => [labelOf(name), value]);
  return [
    {
      name: "webhookd_spans_total",
      help: "Spans that the collector has taken (exported), or that were dropped because it did not. Absent without [telemetry] otlp.",
      type: "counter",
      samples: () =>
        traces === null
          ? []
          : (["exported", "dropped"] as const).map((result) => ({
              labels: { result },
              value: traces.standing[result],
            })),
    },
    gauge("target_info", "Always 1; the labels are the resource attributes of the spans. Absent without them.", () =>
      traces === null ? [] : [{ labels: Object.fromEntries(labels) as Labels, value: 1 }],
    ),
  ];
}

/** Returns a name that Prometheus accepts: its labels have letters, digits and `_`, and begin with no digit. */
function labelOf(name: string): string {
  return name.replaceAll(/\W|^(?=\d)/g, "_");
}

/** Families about ordering keys. */
function orderOf({ parts: { store, clock } }: Metrics): Family[] {
  let asked: ReturnType<typeof store.statistics.heldKeys> | undefined;
  const held = () => (asked ??= store.statistics.heldKeys(HOLDING_LIMIT));
  return [
    gauge(
      "webhookd_held_keys",
      `Ordering keys that are held after a failure, at the ${HOLDING_LIMIT} endpoints that have held any for longest; the count stops at 100,000.`,
      async () => one(sum((await held()).map(({ count }) => count))),
    ),
    gauge("webhookd_held_key_oldest_seconds", "For how long a key has been held at most; 0 if none is.", async () => {
      const [oldest] = await held();
      return one(oldest === undefined ? 0 : Math.max(0, clock.now() - oldest.since) / 1000);
    }),
  ];
}

/** Families about the store and the process. */
function keepingOf({ parts }: Metrics): Family[] {
  const { store, version } = parts;
  return [
    gauge("webhookd_store_bytes", "Bytes of the store: database, and wal, its write-ahead log.", async () => {
      const { databaseBytes, logBytes } = await store.operations.size();
      return [
        { labels: { file: "database" }, value: databaseBytes },
        { labels: { file: "wal" }, value: logBytes },
      ];
    }),
    gauge(
      "webhookd_store_log_growing",
      "1 if the write-ahead log is too large and cannot be emptied, otherwise 0.",
      async () => one((await store.upkeep.condition()).trouble === null ? 0 : 1),
    ),
    gauge(
      "webhookd_disk_free_bytes",
      "Free space on the disk of the data directory. Below [data] disk_floor new events are refused.",
      async () => {
        const { freeBytes } = await store.upkeep.checkSpace();
        return freeBytes === null ? [] : one(freeBytes);
      },
    ),
    failingOf(parts, null),
    gauge("webhookd_portal_links", "Portal links that work now.", async () =>
      one(await store.keys.countLinks(parts.clock.now())),
    ),
    gauge(
      "webhookd_backup_last_success_timestamp_seconds",
      "When the last backup was made, in Unix time; absent if there is none.",
      async () => {
        const last = await store.operations.lastBackup();
        return last === null ? [] : one(last.at / 1000);
      },
    ),
    gauge(
      "webhookd_store_damaged",
      "1 if the database was repaired after damage and the damaged file is still there, otherwise 0.",
      async () => one((await store.operations.damage()) === null ? 0 : 1),
    ),
    gauge("webhookd_build_info", "Always 1; the labels are the versions of webhookd and Node.", () => [
      { labels: { version, node: process.version }, value: 1 },
    ]),
  ];
}

function gauge(name: string, help: string, samples: Family["samples"]): Family {
  return { name, help, type: "gauge", samples };
}

function one(value: number): Sample[] {
  return [{ labels: {}, value }];
}

/** The only series that belong to a tenant. All others are about the daemon as a whole. */
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

function timesOf({ parts: { store }, requests, loopDelay }: Metrics): Family[] {
  return [
    {
      name: "webhookd_store_commit_duration_seconds",
      help: "How long commits of the store took.",
      type: "histogram",
      samples: async () => histogram({}, (await store.statistics.sinceStart()).commitTimes),
    },
    {
      name: "webhookd_api_request_duration_seconds",
      help: "How long requests to the API took, by route and status.",
      type: "histogram",
      samples: () =>
        [...requests.all].flatMap(([route, byStatus]) =>
          [...byStatus].flatMap(([status, times]) => histogram({ route, status }, times)),
        ),
    },
    {
      name: "webhookd_event_loop_delay_seconds",
      help: "How late the main thread ran work that was ready, since the last scrape.",
      type: "summary",
      samples: () => {
        const { quantiles, sum, count } = loopDelay.read();
        return [
          ...quantiles.map(([quantile, value]) => ({ labels: { quantile }, value })),
          { labels: {}, value: sum, suffix: "_sum" },
          { labels: {}, value: count, suffix: "_count" },
        ];
      },
    },
  ];
}

/** Converts a histogram of milliseconds into samples in seconds. */
function histogram(labels: Labels, { bounds, counts, sum }: Buckets): Sample[] {
  let count = 0;
  const buckets = counts.map((inBucket, at): Sample => {
    count += inBucket;
    const le = at < bounds.length ? bounds[at]! / 1000 : "+Inf";
    return { labels: { ...labels, le }, value: count, suffix: "_bucket" };
  });
  return [...buckets, { labels, value: sum / 1000, suffix: "_sum" }, { labels, value: count, suffix: "_count" }];
}
