/**
 * Finds requests that a receiver should not have seen twice. A duplicate is explained in two cases. The process that
 * made the attempt was killed while it was in flight, or moments after its response. Or a kept connection was reset
 * before the response, so that the request was sent once more inside the same attempt.
 */
import type { ShownAttempt } from "./api.ts";
import type { RoundTrip } from "./entries.ts";
import { isSuccess, type History, type Request } from "./history.ts";
import { TIMEOUT_MS } from "./site.ts";

/**
 * The limits on how long a response may stay unrecorded. Results share the next commit, so the limit is in commits,
 * which a busy machine does not change. The time applies while nobody publishes. If the machine starves the process,
 * the part of a publish beyond a second does not count, because no commit came through in that time.
 */
const COMMITS = 20;
const MOMENTS_MS = 3000;
const STARVED_MS = 1000;

export interface Duplicates {
  /** Duplicates explained by a kill. */
  explained: number;
  /** Duplicates explained by a reset of a kept connection, or by a response after the time limit. */
  resent: number;
  readonly unexplained: string[];
  /**
   * The longest time that a response was unrecorded when its process was killed, in milliseconds without starvation.
   */
  longestMs: number;
  /** The same number, in commits. */
  mostCommits: number;
}

export function noDuplicates(): Duplicates {
  return { explained: 0, resent: 0, unexplained: [], longestMs: 0, mostCommits: 0 };
}

export type Facts = Pick<History, "endedAt" | "clean" | "roundTrips" | "settled" | "replays">;

/** Adds the duplicates among one delivery's requests, which are sorted by generation and attempt. */
export function judgeDuplicates(
  requests: readonly Request[],
  attempts: readonly ShownAttempt[],
  facts: Facts,
  found: Duplicates,
): void {
  requests.forEach((request, index) => {
    const earlier = requests.slice(0, index);
    const fault =
      faultOfOrder(request, earlier) ??
      faultAfterSettled(request, { ...facts, attempts }) ??
      faultOfRepeat(request, earlier, facts, found) ??
      faultAfterSuccess(request, earlier, { ...facts, attempts }, found);
    if (fault !== null) found.unexplained.push(`${request.delivery} attempt ${request.attempt}: ${fault}`);
  });
}

/** The next attempt is made only once the result of the previous one is durable. */
function faultOfOrder(request: Request, earlier: readonly Request[]): string | null {
  const later = earlier.find(({ attempt }) => attempt > request.attempt);
  return later === undefined ? null : `came after attempt ${later.attempt}`;
}

/** A status that the API has shown is durable. */
function faultAfterSettled(
  request: Request,
  { settled, replays, attempts }: Facts & { attempts: readonly ShownAttempt[] },
): string | null {
  const view = settled.get(request.delivery);
  if (view === undefined || (view.status === "failed" && replays.has(request.event))) return null;
  // The receiver may read a request later if its attempt timed out.
  const isLate = attempts.find(({ number }) => number === request.attempt)?.error === "timeout";
  const isAfter =
    request.generation > view.generation || (request.generation === view.generation && request.at > view.at && !isLate);
  return isAfter ? `came after the API had shown the delivery as ${view.status}` : null;
}

function faultOfRepeat(request: Request, earlier: readonly Request[], facts: Facts, found: Duplicates): string | null {
  const same = earlier.filter(({ attempt }) => attempt === request.attempt);
  const before = same.at(-1);
  if (before === undefined) return null;
  if (before.generation === request.generation) {
    const isResend = before.answer === "reset" && before.reused && !request.reused;
    const isOnly = same.filter(({ generation }) => generation === request.generation).length === 1;
    if (!isResend || !isOnly) return `was made twice by process ${request.generation}`;
    found.resent++;
    return null;
  }
  return faultOfKill(before, facts, found);
}

/**
 * Checks that the kill of the process that made this request explains why nothing is known about it. Returns the fault,
 * or null.
 */
export function faultOfKill(before: Request, { endedAt, clean, roundTrips }: Facts, found: Duplicates): string | null {
  if (clean.has(before.generation)) return "was made again after a clean stop";
  const killedAt = endedAt.get(before.generation) ?? Infinity;
  const trips = roundTrips.get(before.generation) ?? [];
  const unrecordedMs = killedAt - before.endedAt - starvedBetween(before.endedAt, killedAt, trips);
  const commits = commitsBetween(before.endedAt, killedAt, trips);
  if (commits > COMMITS || unrecordedMs > MOMENTS_MS) {
    const passed = `${commits} commits and ${Math.round(unrecordedMs)} ms`;
    return `was made again although ${passed} lay between its answer and the kill`;
  }
  found.explained++;
  found.mostCommits = Math.max(found.mostCommits, commits);
  found.longestMs = Math.max(found.longestMs, unrecordedMs);
  return null;
}

/** Returns how many publishes were made in that time, one after another. There were at least as many commits. */
function commitsBetween(from: number, until: number, roundTrips: readonly RoundTrip[]): number {
  let commits = 0;
  let at = from;
  for (const { sentAt, ackedAt } of roundTrips) {
    if (sentAt < at || ackedAt > until) continue;
    commits++;
    at = ackedAt;
  }
  return commits;
}

/** Returns how much of that time a publish had been waiting for more than a second. */
function starvedBetween(from: number, until: number, roundTrips: readonly RoundTrip[]): number {
  let starvedMs = 0;
  let at = from;
  for (const { sentAt, ackedAt } of roundTrips.toSorted((a, b) => a.sentAt - b.sentAt)) {
    const start = Math.max(at, sentAt + STARVED_MS);
    const end = Math.min(ackedAt, until);
    if (end <= start) continue;
    starvedMs += end - start;
    at = end;
  }
  return starvedMs;
}

/** After a 2xx there is no next attempt, unless the response was late, or the repeat after a kill failed. */
function faultAfterSuccess(
  request: Request,
  earlier: readonly Request[],
  facts: Facts & { attempts: readonly ShownAttempt[] },
  found: Duplicates,
): string | null {
  const before = earlier.at(-1);
  if (before === undefined || before.attempt === request.attempt || !isSuccess(before.answer)) return null;
  const recorded = facts.attempts.find(({ number }) => number === before.attempt);
  // Careful mode gave up the attempt after the process had died repeatedly.
  if (recorded?.error === "interrupted") return faultOfKill(before, facts, found);
  if (recorded?.error !== "timeout" || recorded.duration_ms < TIMEOUT_MS) {
    return `came after a 2xx to attempt ${before.attempt}, recorded as ${recorded?.error ?? recorded?.outcome}`;
  }
  found.resent++;
  return null;
}
