/** The line of the log for an attempt, with all that is needed to find it and its like again. */
import type { Claim, Verdict } from "../domain/deliveries/delivery.ts";
import type { EndedAttempt } from "../store/store.ts";

/** `tenant` is null while the endpoint is not known. */
export function attemptFields({ claim, outcome, verdict }: EndedAttempt, tenant: string | null): object {
  return {
    event: claim.event,
    delivery: claim.delivery,
    endpoint: claim.endpoint,
    tenant,
    attempt: claim.number,
    round: claim.round,
    retry: claim.trigger === "manual" || claim.trigger === "test" ? null : claim.retry,
    trigger: claim.trigger,
    outcome: outcome.outcome,
    error: outcome.error,
    status_code: outcome.statusCode,
    duration_ms: Math.round(outcome.durationMs),
    ...stateOf(claim, verdict),
  };
}

function stateOf(claim: Claim, verdict: Verdict): { status: string; next_attempt_at: string | null } {
  // A manual attempt that failed leaves what is due as it is, and what has failed is due never.
  const due = verdict.status === "pending" ? verdict.dueAt : verdict.status === "unchanged" ? claim.dueAt : Infinity;
  if (due !== Infinity) return { status: "pending", next_attempt_at: new Date(due).toISOString() };
  return { status: verdict.status === "unchanged" ? "failed" : verdict.status, next_attempt_at: null };
}
