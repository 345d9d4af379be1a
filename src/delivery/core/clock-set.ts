/** The wall clock was set: due times move with it. */
import { delayBefore } from "../../domain/ladder.ts";
import type { Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";

/** By so many milliseconds: forward, or back if negative. */
export function clockSet({ dueMoves, rules: { ladder }, windows }: Memory, by: number, { wall: now }: Now): void {
  // The old clock never showed what the new one shows now: by that, what was reckoned since can be told.
  const isNew = (dueAt: number, retry: number) => by > 0 && dueAt - delayBefore(ladder, retry) >= now;
  const move = (dueAt: number, retry: number) => (isNew(dueAt, retry) ? dueAt : Math.ceil(dueAt + by));
  // What was due on the old clock is due now, whatever the new one says; only a clock set back must move it.
  dueMoves.begin({ later: by > 0, after: Math.min(now, now - by), move }, windows.endpoints());
}

/** The clock was set back, and nobody knows by how much; but no retry waits longer than its rung. */
export function clampDue(memory: Memory, endpoints: Iterable<string>, { wall: now }: Now): void {
  const { ladder } = memory.rules;
  const move = (dueAt: number, retry: number) => Math.min(dueAt, now + delayBefore(ladder, retry));
  memory.dueMoves.begin({ later: false, after: now, move }, endpoints);
}
