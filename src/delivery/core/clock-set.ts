/** The wall clock was set: due times move with it. */
import type { Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";

/** By so many milliseconds: forward, or back if negative. */
export function clockSet({ dueMoves, rules: { ladder }, windows }: Memory, by: number, { wall: now }: Now): void {
  dueMoves.begin({ by, at: now, ladder }, windows.endpoints());
}

/** The clock was set back, and nobody knows by how much; but no retry waits longer than its rung. */
export function clampDue(memory: Memory, endpoints: Iterable<string>, { wall: now }: Now): void {
  const { ladder } = memory.rules;
  memory.dueMoves.begin({ by: null, at: now, ladder }, endpoints);
}
