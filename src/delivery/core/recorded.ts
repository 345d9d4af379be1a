/** The results of attempts are on the disk, or the disk did not take them. */
import type { Recorded } from "../../store/store.ts";
import type { DecidedAttempt, Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";
import { Effects } from "./effects.ts";
import { decided } from "./ended.ts";
import { release } from "./hand-over.ts";

/** `results` says of each attempt where its delivery waits now, if it does. */
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
    // Its end leaves room for what waits behind the window, which is read in halves of a window, not row by row.
    if (window.nextDueAt > now.wall || window.loaded.size > capOf(endpoint)) return;
    windows.plan(window);
    effects.readDue = true;
  });
  if (memory.unrecorded.length === 0 && halts.end("unrecorded")) effects.sending = "resume";
  return effects;
}

/** Nothing may be started until they are: an attempt that cannot be recorded would be made again and again. */
export function notRecorded(memory: Memory, attempts: readonly DecidedAttempt[], now: Now): Effects {
  const effects = new Effects();
  memory.unrecorded = [...memory.unrecorded, ...attempts];
  if (memory.halts.has("unrecorded")) return effects;
  memory.halts.begin("unrecorded", "results of attempts cannot be recorded", now.wall);
  effects.sending = "pause";
  return effects;
}

/** What the store did not take is tried again, reckoned anew: the clock may have been set meanwhile. */
export function recordAgain(memory: Memory, now: Now): Effects {
  const effects = new Effects();
  for (const { claim, url, startedAt, secretVersion, outcome, endedAt } of memory.unrecorded) {
    effects.record.push(decided(memory, { claim, url, startedAt, secretVersion, outcome }, endedAt, now, true));
  }
  memory.unrecorded = [];
  return effects;
}
