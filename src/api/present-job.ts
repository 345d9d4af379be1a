/** A job as callers see it: `interface.md` §7. */
import type { Job, JobFilter } from "../domain/job.ts";
import { statusCodesText } from "./filters.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";
import { EVERY_TENANT } from "./tenant.ts";

export function presentJob(job: Job) {
  return {
    id: job.id,
    tenant: job.tenant ?? EVERY_TENANT,
    action: job.action,
    status: job.status,
    filter: presentFilter(job.filter),
    matched: job.matched,
    done: job.done,
    delivered: job.delivered,
    failed: job.failed,
    skipped: job.skipped,
    rate_per_second: job.ratePerSecond,
    canary: job.canary,
    reason: job.reason,
    paused_reason: job.pausedReason,
    created_at: formatInstant(job.createdAt),
    ended_at: formatInstantOrNull(job.endedAt),
  };
}

/** As it was asked for; what was left out stays out. */
function presentFilter({ statusCode, since, until, test, missing, ...rest }: JobFilter) {
  return {
    ...rest,
    ...(statusCode !== undefined && { status_code: statusCodesText(statusCode) }),
    ...(since !== undefined && { since: formatInstant(since) }),
    ...(until !== undefined && { until: formatInstant(until) }),
    ...(test && { test }),
    ...(missing && { missing }),
  };
}
