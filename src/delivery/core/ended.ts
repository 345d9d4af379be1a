/** Attempts have ended: whose fault that was, and what becomes of their deliveries by the ladder. */
import type { Ended } from "../../domain/deliveries/attempt.ts";
import { settle } from "../../domain/deliveries/delivery.ts";
import type { EndedAttempt } from "../../store/store.ts";
import type { DecidedAttempt, EndedClaim, Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";
import type { Judgement } from "../memory/reachability.ts";
import { Effects } from "./effects.ts";
import { handOver } from "./hand-over.ts";

/** All of them are loaded. */
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

/** An instant has come for which memory waits: `wakeAt` of the reachability, or of the shortage. */
export function timePassed(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  const { reachability, shortage } = memory;
  if (now.monotonic >= reachability.wakeAt) act(memory, reachability.timePassed(now.monotonic), now, effects);
  const { again, isOver } = shortage.timePassed(now.monotonic);
  handOver(memory, again, effects);
  if (isOver) {
    const message = "what attempts had run out of is available again";
    effects.alarms.push({ alarm: "shortage", over: true, message, fields: {} });
  }
  return effects;
}

/** The daemon stops: nothing is started any more, and what is undecided is recorded as it is. */
export function stopping(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  memory.halts.begin("stopping", "the daemon stops", now.wall);
  effects.sending = "pause";
  act(memory, memory.reachability.stop(), now, effects);
  memory.shortage.stop();
  return effects;
}

/** With its verdict, reckoned by the clock as it is now. */
export function decided(
  { dueMoves, rules: { ladder, maxRetryAfter } }: Memory,
  attempt: Omit<EndedAttempt, "verdict">,
  endedAt: number,
  now: Now,
  isRetried = false,
): DecidedAttempt {
  const at = now.wall - Math.floor(now.monotonic - endedAt);
  const verdict = settle(attempt.claim, attempt.outcome, ladder, at, maxRetryAfter);
  const { epoch } = dueMoves;
  // What stays as it was moves with the clock like all the rest.
  if (dueMoves.pending.length > 0 && verdict.status !== "unchanged") dueMoves.noteWrite(attempt.claim, epoch);
  return { ...attempt, verdict, epoch, endedAt, isRetried };
}

function act(memory: Memory, judgement: Judgement, now: Now, effects: Effects): void {
  const { halts } = memory;
  for (const each of judgement.rest) rest(memory, each, now, effects);
  const again = judgement.again.map(({ claim }) => claim);
  if (again.length > 0) handOver(memory, again, effects);
  for (const { claim, ended: end, endedAt } of judgement.record) {
    disableIfTold(memory, claim.trigger === "test", end, effects);
    const { url, startedAt, secretVersion, outcome } = end;
    effects.record.push(decided(memory, { claim, url, startedAt, secretVersion, outcome }, endedAt, now));
  }
  if (judgement.change?.out === true) {
    halts.begin("unreachable", judgement.change.why, now.wall);
    effects.sending = "pause";
  }
  if (judgement.change?.out === false) {
    const message = "receivers can be reached again: what waited is being sent";
    effects.alarms.push({ alarm: "unreachable", over: true, message, fields: {} });
    if (halts.end("unreachable")) effects.sending = "resume";
  }
  if (judgement.probe !== null) {
    const { why, silentMs } = judgement.probe;
    const message = `nothing can be sent: ${why}. Until that is over one probe a second is made, and no delivery loses an attempt. Check this host's network and DNS`;
    const fields = { reason: "unreachable", silent_ms: silentMs };
    effects.alarms.push({ alarm: "unreachable", over: false, message, fields });
    effects.probe = halts.isOnly("unreachable");
  }
  effects.askResolvers ||= judgement.askResolvers;
}

/** Our own fault: it is made again in a second, and loses no rung. */
function rest(memory: Memory, { claim, ended: { outcome } }: EndedClaim, now: Now, effects: Effects): void {
  const { detail } = outcome;
  memory.shortage.wait(claim, detail, now);
  const message = `attempts cannot be made: ${detail}; they will be tried again, fewer at once, and no delivery loses one`;
  effects.alarms.push({ alarm: "shortage", over: false, message, fields: { reason: "shortage" } });
}

/** A test says nothing of how its endpoint fares. */
function disableIfTold({ rules }: Memory, isTest: boolean, { endpoint, url, outcome }: Ended, effects: Effects): void {
  const { onGone, afterMs } = rules.autoDisable;
  if (outcome.outcome !== "failed" || isTest) return;
  if (onGone && outcome.statusCode === 410) effects.disable.push({ endpoint, url, reason: "gone" });
  else if (afterMs > 0) effects.disable.push({ endpoint, url, reason: "failing" });
}
