/** How much there was to do, and how it went: from counters, whatever the size of the history. */
import { DELAY_BOUNDS, DURATION_BOUNDS, percentile, sum } from "../domain/tally.ts";
import type { Counted, Stats } from "../store/store.ts";
import { formatInstant } from "../domain/instant.ts";
import { getStatistics } from "./operations/statistics.ts";
import { choiceParameter, idParameter } from "./pipeline/query.ts";
import type { ApiParts } from "./parts.ts";
import { notFound } from "./pipeline/problem.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./pipeline/access.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** How long each window is, and the parts of its series: milliseconds. */
const WINDOWS = {
  "5m": { length: 5 * MINUTE, step: MINUTE },
  "1h": { length: HOUR, step: MINUTE },
  "6h": { length: 6 * HOUR, step: 5 * MINUTE },
  "24h": { length: 24 * HOUR, step: 15 * MINUTE },
  "7d": { length: 168 * HOUR, step: 2 * HOUR },
} as const;

type WindowName = keyof typeof WINDOWS;

const Window = choiceParameter(
  "window",
  Object.keys(WINDOWS) as WindowName[],
  "How far back to look; the step under way is in it.",
  "1h",
);
const Endpoint = idParameter("endpoint", "ep", "Only attempts to this endpoint.");

export function statisticsRoutes({ store }: ApiParts): Route[] {
  async function stats({ principal, query, now }: Call): Promise<Reply> {
    const window = Window.read(query) ?? "1h";
    const { length, step } = WINDOWS[window];
    const until = Math.floor(now / MINUTE + 1) * MINUTE;
    const since = Math.floor(now / step + 1) * step - length;
    const endpoint = Endpoint.read(query);
    const tenant = tenantToRead(principal, namedTenant(query));
    const found = await store.statistics.period({ tenant, ...(endpoint && { endpoint }), since, until, stepMs: step });
    if (found === null) throw notFound();
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
    duration_p95_ms: rounded(percentile(DURATION_BOUNDS, attempts.durations, 0.95)),
  };
}

function percentiles(bounds: readonly number[], counts: readonly number[]) {
  const at = (part: number) => rounded(percentile(bounds, counts, part));
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** Three decimals: one event an hour is still a rate. */
function rate(count: number, seconds: number): number {
  return Math.round((count / seconds) * 1000) / 1000;
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10) / 10;
}
