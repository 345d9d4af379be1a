/** Deliveries were committed: the fresh ones are sent at once, the others wait on disk and are due. */
import type { Handover } from "../../store/store.ts";
import type { Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";
import { clampDue } from "./clock-set.ts";
import { Effects } from "./effects.ts";
import { handOver } from "./hand-over.ts";

export function published(memory: Memory, { fresh, waiting }: Handover, now: Now): Effects {
  const effects = new Effects();
  const { windows } = memory;
  for (const each of waiting) {
    // It was due at once: if that lies ahead now, the clock was set back while it was being committed.
    if (each.dueAt > now.wall) clampDue(memory, [each.endpoint], now);
    windows.noteWaiting(each);
  }
  for (const claim of fresh) windows.load(claim);
  handOver(memory, fresh, effects);
  effects.readDue = waiting.length > 0;
  return effects;
}

/** Whether one more fresh delivery of the endpoint may be loaded: one that may not waits on disk. */
export function hasRoom({ capOf, endpoints, halts, windows }: Memory, endpoint: string): boolean {
  if (halts.stopping || halts.onTrial || endpoints.isDamaged(endpoint)) return false;
  return windows.hasRoom(endpoint, capOf(endpoint));
}
