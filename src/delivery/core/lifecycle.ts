/**
 * Takes a delivery through memory: it is published and sent, its attempts end, and their results are recorded. This
 * decides who is to blame for a failure, and what it means on the ladder.
 */
import type { Ended } from "../../domain/deliveries/attempt.ts";
import { settle } from "../../domain/deliveries/delivery.ts";
import type { EndedAttempt, Handover, Recorded, Waiting } from "../../store/store.ts";
import type { Now } from "../memory/clock.ts";
import type { DecidedAttempt, Memory } from "../memory/memory.ts";
import type { EndedClaim, Judgement } from "../memory/reachability.ts";
import { Effects, handOver, release } from "./effects.ts";

/** New deliveries were committed: the fresh ones are sent at once, and the others wait on disk, due now. */
export function published(memory: Memory, { fresh, waiting }: Handover, now: Now): Effects {
  const effects = replayed(memory, waiting, now);
  const { windows } = memory;
  // All that come after these wait too, so that first attempts start in order.
  for (const { endpoint } of waiting) if (memory.elsewhere?.(endpoint) !== true) windows.of(endpoint).overflow();
  for (const claim of fresh) windows.load(claim);
  handOver(memory, fresh, effects);
  return effects;
}

/** Deliveries were made pending again. They wait on disk, due now. */
export function replayed(memory: Memory, waiting: readonly Waiting[], now: Now): Effects {
  const effects = new Effects();
  for (const each of waiting) {
    // The node that owns the endpoint is notified of it.
    if (memory.elsewhere?.(each.endpoint) === true) continue;
    // It was due at once. If its due time is now in the future, the clock was set back during the commit.
    if (each.dueAt > now.wall) memory.dueMoves.begin(null, now, [each.endpoint]);
    memory.windows.noteWaiting(each);
  }
  effects.readDue = waiting.length > 0;
  return effects;
}

/** Other nodes have committed these, by their own clocks. More deliveries may wait behind them. */
export function arrived({ windows }: Memory, waiting: readonly Waiting[]): Effects {
  const effects = new Effects();
  for (const first of waiting) {
    windows.of(first.endpoint).overflow();
    windows.noteWaiting(first);
  }
  effects.readDue = waiting.length > 0;
  return effects;
}

/** Attempts have ended. All of them are loaded. */
export function ended(memory: Memory, batch: readonly Ended[], now: Now): Effects {
  const effects = new Effects();
  const claims: EndedClaim[] = [];
  for (const each of batch) {
    const claim = memory.windows.find(each.endpoint, each.delivery);
    if (claim === undefined) throw new Error(`${each.delivery} ended and was not loaded`);
    const end = { claim, ended: each, endedAt: now.monotonic };
    const { evidence, ours } = each.outcome;
    if (ours && evidence !== "cut_off" && !memory.halts.stopping) rest(memory, end, now, effects);
    else claims.push(end);
  }
  act(memory, memory.reachability.ended(claims, now.monotonic), now, effects);
  return effects;
}

export function resolversAsked(memory: Memory, why: string | null, now: Now): Effects {
  const effects = new Effects();
  act(memory, memory.reachability.resolversAsked(why, now.monotonic), now, effects);
  return effects;
}

/** A timer of reachability or of the shortage (`wakeAt`) has run out. */
export function timePassed(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  const { reachability, shortage } = memory;
  if (now.monotonic >= reachability.wakeAt) act(memory, reachability.timePassed(now.monotonic), now, effects);
  const { again, isOver } = shortage.timePassed(now.monotonic);
  handOver(memory, again, effects);
  if (isOver) {
    const message = "attempts can be made again: what had run out is available";
    effects.alarms.push({ alarm: "shortage", over: true, message, fields: {} });
  }
  return effects;
}

/** The daemon is stopping. Start nothing more, and record results that have not been judged yet as they are. */
export function stopping(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  memory.halts.begin("stopping", "the daemon is stopping", now.wall);
  effects.sending = "pause";
  act(memory, memory.reachability.stop(), now, effects);
  memory.shortage.stop();
  return effects;
}

/** The results were recorded. `results` says, for each attempt, where its delivery waits now, if it does. */
export function recorded(
  memory: Memory,
  attempts: readonly DecidedAttempt[],
  results: readonly Recorded[],
  now: Now,
): Effects {
  const effects = new Effects();
  const { capOf, halts, windows } = memory;
  attempts.forEach(({ claim: { endpoint, delivery } }, at) => {
    const { waiting } = results[at]!;
    release(memory, endpoint, delivery, effects);
    if (waiting !== null) windows.noteWaiting(waiting);
    const window = windows.of(endpoint);
    if (window.nextDueAt > now.wall || !windows.isHalfEmpty(window, capOf(endpoint))) return;
    windows.plan(window);
    effects.readDue = true;
  });
  if (memory.unrecorded.length === 0 && halts.end("unrecorded")) effects.sending = "resume";
  return effects;
}

/** Start nothing until the results are recorded: an attempt that cannot be recorded would be made again and again. */
export function notRecorded(memory: Memory, attempts: readonly DecidedAttempt[], now: Now): Effects {
  const effects = new Effects();
  memory.unrecorded = [...memory.unrecorded, ...attempts];
  if (memory.halts.has("unrecorded")) return effects;
  memory.halts.begin("unrecorded", "results of attempts cannot be recorded", now.wall);
  effects.sending = "pause";
  return effects;
}

/**
 * Records again what the store did not take. Due times are computed again, because the clock may have been set in the
 * meantime.
 */
export function recordAgain(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  for (const { claim, url, startedAt, secretVersion, outcome, endedAt } of memory.unrecorded) {
    effects.record.push(decided(memory, { claim, url, startedAt, secretVersion, outcome }, endedAt, now, true));
  }
  memory.unrecorded = [];
  return effects;
}

/** Called every second: retries what the store did not take and what could not start. */
export function tick(memory: Memory, now: Now): Effects {
  const effects = recordAgain(memory, now);
  const { refused } = memory;
  memory.refused = [];
  handOver(memory, refused, effects);
  effects.askFor.push(...memory.manual.retry());
  effects.readDue = true;
  return effects;
}

/** Adds the verdict, computed by the clock as it is now. */
function decided(
  { dueMoves, rules: { ladder, maxRetryAfter } }: Memory,
  attempt: Omit<EndedAttempt, "verdict">,
  endedAt: number,
  now: Now,
  isRetried = false,
): DecidedAttempt {
  const at = now.wall - Math.floor(now.monotonic - endedAt);
  const verdict = settle(attempt.claim, attempt.outcome, ladder, at, maxRetryAfter);
  const { epoch } = dueMoves;
  // An unchanged delivery keeps its due time, which moves with the clock like all others.
  if (dueMoves.pending.length > 0 && verdict.status !== "unchanged") dueMoves.noteWrite(attempt.claim, epoch);
  return { ...attempt, verdict, epoch, endedAt, isRetried };
}

function act(memory: Memory, judgement: Judgement, now: Now, effects: Effects): void {
  const { halts } = memory;
  for (const each of judgement.rest) rest(memory, each, now, effects);
  const again = judgement.again.map(({ claim }) => claim);
  if (again.length > 0) handOver(memory, again, effects);
  for (const { claim, ended: end, endedAt } of judgement.record) {
    disableByRule(memory, claim.trigger === "test", end, effects);
    const { url, startedAt, secretVersion, outcome } = end;
    effects.record.push(decided(memory, { claim, url, startedAt, secretVersion, outcome }, endedAt, now));
  }
  if (judgement.change?.out === true) {
    halts.begin("unreachable", judgement.change.why, now.wall);
    effects.sending = "pause";
  }
  if (judgement.change?.out === false) {
    const message = "receivers can be reached again: what was waiting is being sent";
    effects.alarms.push({ alarm: "unreachable", over: true, message, fields: {} });
    if (halts.end("unreachable")) effects.sending = "resume";
  }
  if (judgement.probe !== null) {
    const { why, silentMs } = judgement.probe;
    const message = `nothing can be sent: ${why}. Until this is over, one probe is made per second, and no delivery loses an attempt. Check this host's network and DNS`;
    const fields = { reason: "unreachable", silent_ms: silentMs };
    effects.alarms.push({ alarm: "unreachable", over: false, message, fields });
    effects.probe = halts.isOnly("unreachable");
  }
  effects.askResolvers ||= judgement.askResolvers;
}

/** The failure is our own fault, so repeat the attempt in a second, without using up a rung. */
function rest(memory: Memory, { claim, ended: { outcome } }: EndedClaim, now: Now, effects: Effects): void {
  const { detail } = outcome;
  memory.shortage.wait(claim, detail, now);
  const message = `attempts cannot be made: ${detail}; they will be retried, fewer at a time, and no delivery loses an attempt`;
  effects.alarms.push({ alarm: "shortage", over: false, message, fields: { reason: "shortage" } });
}

/** A test does not count for or against its endpoint. */
function disableByRule({ rules }: Memory, isTest: boolean, { endpoint, url, outcome }: Ended, effects: Effects): void {
  const { onGone, afterMs } = rules.autoDisable;
  if (outcome.outcome !== "failed" || isTest) return;
  if (onGone && outcome.statusCode === 410) effects.disable.push({ endpoint, url, reason: "gone" });
  else if (afterMs > 0) effects.disable.push({ endpoint, url, reason: "failing" });
}
