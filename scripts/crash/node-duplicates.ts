/**
 * Finds requests that a receiver should not have seen twice when several processes send. Each endpoint is owned by one
 * of them, so another one repeats an attempt for only one reason: the first was killed, or suspended for longer than
 * its lease, while the attempt was in flight or its result was not recorded.
 */
import type { ShownAttempt } from "./api.ts";
import { faultOfKill, type Duplicates, type Facts } from "./duplicates.ts";
import { isSuccess, type Request } from "./history.ts";
import { TIMEOUT_MS } from "./site.ts";

/** Adds the duplicates among one delivery's requests, which are in the order of their arrival. */
export function judgeAcrossNodes(
  requests: readonly Request[],
  attempts: readonly ShownAttempt[],
  facts: Facts,
  found: Duplicates,
): void {
  requests.forEach((request, index) => {
    const earlier = requests.slice(0, index);
    const fault =
      faultOfOrder(request, earlier, attempts, facts) ??
      faultAfterSettled(request, attempts, facts) ??
      faultOfRepeat(request, earlier, facts, found) ??
      faultAfterSuccess(request, earlier, attempts, facts, found);
    if (fault !== null) found.unexplained.push(`${request.delivery} attempt ${request.attempt}: ${fault}`);
  });
}

/** A slow receiver may see a request that timed out after the request that followed it. */
function faultOfOrder(
  request: Request,
  earlier: readonly Request[],
  attempts: readonly ShownAttempt[],
  facts: Facts,
): string | null {
  const later = earlier.find(({ attempt }) => attempt > request.attempt);
  if (later === undefined || hasEnded(request, later, facts)) return null;
  const isLate = attempts.find(({ number }) => number === request.attempt)?.error === "timeout";
  return isLate ? null : `came after attempt ${later.attempt}`;
}

/** A status that any node has shown is durable for all of them. */
function faultAfterSettled(request: Request, attempts: readonly ShownAttempt[], facts: Facts): string | null {
  const view = facts.settled.get(request.delivery);
  if (view === undefined || request.at <= view.at) return null;
  if (view.status === "failed" && facts.replays.has(request.event)) return null;
  const isLate = attempts.find(({ number }) => number === request.attempt)?.error === "timeout";
  return isLate ? null : `came after the API had shown the delivery as ${view.status}`;
}

function faultOfRepeat(request: Request, earlier: readonly Request[], facts: Facts, found: Duplicates): string | null {
  const same = earlier.filter(({ attempt }) => attempt === request.attempt);
  const before = same.at(-1);
  if (before === undefined) return null;
  const { generation } = request;
  if (before.generation === generation) {
    const isResend = before.answer === "reset" && before.reused && !request.reused;
    const isOnly = same.filter((one) => one.generation === generation).length === 1;
    if (!isResend || !isOnly) return `was made twice by process ${generation}`;
    found.resent++;
    return null;
  }
  if (!hasEnded(before, request, facts))
    return `was made by process ${before.generation}, which lived, and ${generation}`;
  return faultOfKill(before, facts, found);
}

/** No request follows a 2xx that was recorded. */
function faultAfterSuccess(
  request: Request,
  earlier: readonly Request[],
  attempts: readonly ShownAttempt[],
  facts: Facts,
  found: Duplicates,
): string | null {
  const number = request.attempt - 1;
  const before = earlier.findLast(({ attempt, answer }) => attempt === number && isSuccess(answer));
  if (before === undefined || earlier.some(({ attempt }) => attempt === request.attempt)) return null;
  const recorded = attempts.find((attempt) => attempt.number === number);
  if (recorded?.error === "timeout" && recorded.duration_ms >= TIMEOUT_MS) {
    found.resent++;
    return null;
  }
  // The node that got the 2xx died before recording it, and the repeat by another node failed. That is counted
  // elsewhere.
  const wasRepeated = earlier.some(({ attempt, generation }) => attempt === number && generation !== before.generation);
  if (recorded?.outcome !== "succeeded" && wasRepeated && hasEnded(before, request, facts)) return null;
  return `came after a 2xx to attempt ${number}, recorded as ${recorded?.error ?? recorded?.outcome}`;
}

/** Returns true if the first request's process had ended by the time of the later request. */
function hasEnded({ generation }: Request, { at }: Request, { endedAt }: Facts): boolean {
  return (endedAt.get(generation) ?? Infinity) <= at;
}
