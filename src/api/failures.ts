/** What does not arrive, grouped by endpoint and cause: the page for bad days. */
import type { FailureGroup } from "../domain/failure.ts";
import { formatInstant } from "../domain/instant.ts";
import { listFailures } from "./operations/failures.ts";
import { idParameter, instantParameter } from "./pipeline/query.ts";
import type { ApiParts } from "./parts.ts";
import { notFound } from "./pipeline/problem.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { namedTenant, TenantParameter, tenantToRead } from "./pipeline/access.ts";

const DEFAULT_PERIOD_MS = 7 * 86_400_000;
const PARTS = 24;
const MAX_GROUPS = 500;

const Since = instantParameter("since", "Only events received at this instant or later; seven days ago by default.");
const Endpoint = idParameter("endpoint", "ep", "Only what is owed to this endpoint.");

export function failureRoutes({ store }: ApiParts): Route[] {
  async function list({ principal, query, now }: Call): Promise<Reply> {
    const since = Math.min(Since.read(query) ?? now - DEFAULT_PERIOD_MS, now);
    const stepMs = Math.max(1000, Math.ceil((now - since) / PARTS / 1000) * 1000);
    const endpoint = Endpoint.read(query);
    const report = await store.statistics.failures({
      tenant: tenantToRead(principal, namedTenant(query)),
      ...(endpoint !== undefined && { endpoint }),
      since,
      stepMs,
      parts: PARTS,
      limit: MAX_GROUPS,
    });
    if (report === null) throw notFound();
    return json(200, {
      since: formatInstant(report.since),
      series_since: formatInstant(since),
      step_seconds: stepMs / 1000,
      total: report.total,
      data: report.groups.map(presentGroup),
    });
  }

  return [
    {
      method: "GET",
      path: "/v1/webhooks/failures",
      access: "read",
      query: [TenantParameter, Since, Endpoint],
      operation: listFailures,
      handle: list,
    },
  ];
}

function presentGroup(group: FailureGroup) {
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
