/**
 * The report on traffic and its results. It is read from counters, so its cost does not depend on the size of the
 * history.
 */
import * as v from "valibot";
import { formatInstant } from "../../domain/time/instant.ts";
import { periodOf, type WindowName, WINDOWS } from "../../domain/time/window.ts";
import { DELAY_BOUNDS, DURATION_BOUNDS, percentile, sum } from "../../domain/tally.ts";
import type { Counted, Stats } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { requireNames } from "../pipeline/names.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { choiceParameter, idParameter, invalidQuery } from "../pipeline/query.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { Count, described, id, Instant, titled } from "../pipeline/shapes.ts";
import { callerOf } from "../pipeline/lists.ts";

const Rate = v.pipe(v.number(), v.minValue(0));
const Milliseconds = v.nullable(v.pipe(v.number(), v.minValue(0)));
const Percentiles = v.object({ p50: Milliseconds, p95: Milliseconds, p99: Milliseconds });

export const Statistics = titled(
  "Statistics",
  v.object({
    window: v.string(),
    since: Instant,
    until: Instant,
    step_seconds: described(Count, "How long each step of the series is; the last step is not over yet."),
    endpoint: v.nullable(id("ep")),
    published: described(
      v.nullable(v.object({ total: Count, per_second: Rate, by_type: v.record(v.string(), Count) })),
      "Events; null for one endpoint, because events are published to a tenant.",
    ),
    attempts: v.object({
      total: Count,
      per_second: Rate,
      succeeded: Count,
      failed: Count,
      interrupted: described(Count, "Attempts that the daemon ended itself; they are made again."),
      by_error: described(v.record(v.string(), Count), "Failed attempts, by their `error`."),
    }),
    deliveries: described(v.object({ delivered: Count, failed: Count }), "Deliveries that reached this status."),
    duration_ms: described(
      Percentiles,
      "The durations of attempts, estimated from buckets and so up to a fifth off; null if there were none. `first_attempt_delay_ms` and the durations of the series are estimated the same way.",
    ),
    first_attempt_delay_ms: described(Percentiles, "From the publish request to the start of the first attempt."),
    series: v.array(
      v.object({
        at: Instant,
        published: Count,
        succeeded: Count,
        failed: Count,
        duration_p50_ms: Milliseconds,
        duration_p95_ms: Milliseconds,
      }),
    ),
  }),
);

export const someStatistics = {
  window: "1h",
  since: "2026-11-20T08:56:00.000Z",
  until: "2026-11-20T09:55:30.000Z",
  step_seconds: 60,
  endpoint: null,
  published: { total: 3570, per_second: 1, by_type: { "budget.exceeded": 3570 } },
  attempts: {
    total: 3600,
    per_second: 1.008,
    succeeded: 3560,
    failed: 40,
    interrupted: 0,
    by_error: { http_status: 30, timeout: 10 },
  },
  deliveries: { delivered: 3560, failed: 2 },
  duration_ms: { p50: 41.2, p95: 180.5, p99: 1020.4 },
  first_attempt_delay_ms: { p50: 3.1, p95: 7.5, p99: 18.2 },
  series: [
    {
      at: "2026-11-20T08:56:00.000Z",
      published: 60,
      succeeded: 59,
      failed: 1,
      duration_p50_ms: 40.8,
      duration_p95_ms: 172.4,
    },
  ],
};

export const getStatistics: Operation = {
  id: "getStatistics",
  tag: "Deliveries",
  summary: "Read counts, rates and latencies of the last minutes, hours or days",
  description:
    "Everything is counted in the minute in which it was recorded. Test events are not counted. A crash loses the counts of the last second.",
  replies: { 200: { description: "What was counted.", schema: Statistics, example: someStatistics } },
};

const Window = choiceParameter(
  "window",
  Object.keys(WINDOWS) as WindowName[],
  "How far back to look, including the current step.",
  "1h",
);

const Endpoint = idParameter("endpoint", "ep", "Only attempts to this endpoint.");

export function statisticsRoutes(parts: ApiParts): Route[] {
  const { store } = parts;
  async function stats(call: Call): Promise<Reply> {
    const { principal, query, now } = call;
    const window = Window.read(query) ?? "1h";
    const period = periodOf(WINDOWS[window], now);
    const { since, stepMs: step } = period;
    const endpoint = Endpoint.read(query);
    const tenant = tenantToRead(principal, namedTenant(query));
    const asked = { tenant, ...(endpoint && { endpoint }), ...period };
    await requireNames(parts, tenant, { endpoint });
    const found = await store.statistics.period(asked, callerOf(call));
    if (found === null) throw invalidQuery("endpoint", "was removed just now", "unknown_endpoint");
    const seconds = (now - since) / 1000;
    return json(200, {
      window,
      since: formatInstant(since),
      until: formatInstant(now),
      step_seconds: step / 1000,
      endpoint: endpoint ?? null,
      ...presentTotals(found, seconds, endpoint === undefined),
      series: found.series.map((part, at) => presentPart(part, since + at * step)),
    });
  }

  const query = [TenantParameter, Window, Endpoint];
  return [
    {
      method: "GET",
      path: "/v1/webhooks/stats",
      access: "read",
      reach: "filter",
      query,
      operation: getStatistics,
      handle: stats,
    },
  ];
}

function presentTotals({ attempts, published }: Stats, seconds: number, ofTenant: boolean) {
  const { succeeded, interrupted, failed, delivered, deliveriesFailed } = attempts;
  const failures = sum(failed.values());
  const events = sum(published.values());
  return {
    published: ofTenant
      ? { total: events, per_second: rate(events, seconds), by_type: Object.fromEntries(published) }
      : null,
    attempts: {
      total: succeeded + failures + interrupted,
      per_second: rate(succeeded + failures + interrupted, seconds),
      succeeded,
      failed: failures,
      interrupted,
      by_error: Object.fromEntries(failed),
    },
    deliveries: { delivered, failed: sum(deliveriesFailed.values()) },
    duration_ms: percentiles(DURATION_BOUNDS, attempts.durations),
    first_attempt_delay_ms: percentiles(DELAY_BOUNDS, attempts.delays),
  };
}

function presentPart({ attempts, published }: Counted, at: number) {
  return {
    at: formatInstant(at),
    published: sum(published.values()),
    succeeded: attempts.succeeded,
    failed: sum(attempts.failed.values()),
    duration_p50_ms: rounded(percentile(DURATION_BOUNDS, attempts.durations, 0.5)),
    duration_p95_ms: rounded(percentile(DURATION_BOUNDS, attempts.durations, 0.95)),
  };
}

function percentiles(bounds: readonly number[], counts: readonly number[]) {
  const at = (part: number) => rounded(percentile(bounds, counts, part));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Rounds to three decimals: one event per hour is still a rate. */
function rate(count: number, seconds: number): number {
  return Math.round((count / seconds) * 1000) / 1000;
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}
