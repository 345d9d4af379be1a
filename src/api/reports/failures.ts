/** The report on deliveries that do not arrive, grouped by endpoint and cause. */
import * as v from "valibot";
import type { FailureGroup as StoredGroup, Parts } from "../../domain/deliveries/failure.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import { anAttempt } from "../deliveries/attempts.ts";
import type { ApiParts } from "../parts.ts";
import { namedTenant, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { requireNames } from "../pipeline/names.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { idParameter, instantParameter, invalidQuery } from "../pipeline/query.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { AttemptError, Count, described, id, Instant, titled } from "../pipeline/shapes.ts";
import { callerOf } from "../pipeline/lists.ts";

const FailureGroup = titled(
  "FailureGroup",
  v.object({
    endpoint: id("ep"),
    error: AttemptError,
    status_code: described(
      v.nullable(v.pipe(v.number(), v.integer())),
      "The status code that the receiver answered with, if it answered.",
    ),
    failed: described(Count, "Deliveries that have failed for good, until they are replayed."),
    pending: described(Count, "Deliveries that failed this way and will be retried."),
    held: described(Count, "The same, but for a disabled endpoint: kept, not sent."),
    first_at: described(Instant, "When the first of them began to fail this way."),
    last_at: described(Instant, "When the latest of these attempts began."),
    series: described(v.array(Count), "How many deliveries last failed in each step, oldest first."),
    sample_attempt: described(id("att"), "The latest of these attempts."),
  }),
);

export const Failures = titled(
  "Failures",
  v.object({
    since: described(
      Instant,
      "Only events received since this instant were counted. It is later than you asked for if more deliveries have failed than can be counted.",
    ),
    series_since: described(
      Instant,
      "When the first step of each series begins: a full minute, or a full hour if a step is an hour or longer. What failed earlier counts in that step.",
    ),
    step_seconds: described(Count, "How long each step of a series is."),
    total: described(Count, "How many groups there are; at most 500 are returned."),
    data: described(v.array(FailureGroup), "The groups with the most deliveries first."),
  }),
);

export const someFailures = {
  since: "2026-11-19T09:55:00.000Z",
  series_since: "2026-11-19T10:00:00.000Z",
  step_seconds: 3600,
  total: 1,
  data: [
    {
      endpoint: anAttempt.endpoint,
      error: "http_status",
      status_code: 503,
      failed: 441,
      pending: 1978,
      held: 0,
      first_at: "2026-11-20T08:24:10.004Z",
      last_at: "2026-11-20T09:54:59.120Z",
      series: [...Array<number>(22).fill(0), 419, 2000],
      sample_attempt: anAttempt.id,
    },
  ],
};

export const listFailures: Operation = {
  id: "listFailures",
  tag: "Deliveries",
  summary: "List what is not being delivered, grouped by endpoint and cause",
  description:
    "Each delivery that has failed, or whose last attempt failed, counts in the group of that attempt. Delivered and cancelled deliveries and test events are left out.",
  replies: { 200: { description: "The groups.", schema: Failures, example: someFailures } },
};

const DEFAULT_PERIOD_MS = 7 * 86_400_000;
const PARTS = 24;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MAX_GROUPS = 500;
const Since = instantParameter(
  "since",
  "Only events received at this instant or later; by default the full hour seven days ago.",
);
const Endpoint = idParameter("endpoint", "ep", "Only deliveries to this endpoint.");

export function failureRoutes(parts: ApiParts): Route[] {
  const { store } = parts;
  async function list(call: Call): Promise<Reply> {
    const { principal, query, now } = call;
    const since = Math.min(Since.read(query) ?? Math.floor((now - DEFAULT_PERIOD_MS) / HOUR_MS) * HOUR_MS, now);
    const series = seriesOf(since, now);
    const endpoint = Endpoint.read(query);
    const asked = {
      tenant: tenantToRead(principal, namedTenant(query)),
      ...(endpoint !== undefined && { endpoint }),
      since,
      ...series,
      limit: MAX_GROUPS,
    };
    await requireNames(parts, asked.tenant, { endpoint });
    const report = await store.statistics.failures(asked, callerOf(call));
    if (report === null) throw invalidQuery("endpoint", "was removed just now", "unknown_endpoint");
    return json(200, {
      since: formatInstant(report.since),
      series_since: formatInstant(series.from),
      step_seconds: series.stepMs / 1000,
      total: report.total,
      data: report.groups.map(presentGroup),
    });
  }

  return [
    {
      method: "GET",
      path: "/v1/webhooks/failures",
      access: "read",
      reach: "filter",
      query: [TenantParameter, Since, Endpoint],
      operation: listFailures,
      handle: list,
    },
  ];
}

/**
 * The series ends at the next full minute, or full hour if a step is an hour or longer. The period may begin up to a
 * minute or an hour before the 24 steps, and the first step includes that time.
 */
function seriesOf(since: number, now: number): Parts {
  const stepOf = (unit: number) => Math.max(1, Math.ceil((now - since - unit) / PARTS / unit)) * unit;
  const unit = stepOf(MINUTE_MS) < HOUR_MS ? MINUTE_MS : HOUR_MS;
  const stepMs = stepOf(unit);
  return { from: Math.ceil(now / unit) * unit - PARTS * stepMs, stepMs, parts: PARTS };
}

function presentGroup(group: StoredGroup) {
  return {
    endpoint: group.endpoint,
    error: group.error,
    status_code: group.statusCode,
    failed: group.failed,
    pending: group.pending,
    held: group.held,
    first_at: formatInstant(group.firstAt),
    last_at: formatInstant(group.lastAt),
    series: group.series,
    sample_attempt: group.sampleAttempt,
  };
}
