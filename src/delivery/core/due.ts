/** Something has fallen due: it is read from the disk, as far as memory has room for it, and handed over. */
import type { Position } from "../../domain/deliveries/delivery.ts";
import type { DuePage } from "../../store/store.ts";
import type { Memory } from "../memory/memory.ts";
import type { Window } from "../memory/window.ts";
import { Effects } from "./effects.ts";
import { handOver } from "./hand-over.ts";

/** Rows of one read. */
export const READ_LIMIT = 256;
const AGAIN_MS = 1000;

/** What is to be read of one endpoint: at most `limit` deliveries after this position that are due by `until`. */
export interface Read {
  readonly window: Window;
  readonly after: Position;
  readonly until: number;
  readonly limit: number;
}

/** `now` is of the wall clock. Null when nothing of the endpoint may be loaded now: it is disabled, or its window is full. */
export function beginRead({ capOf, endpoints, windows }: Memory, window: Window, now: number): Read | null {
  const room = windows.roomForDue(window, capOf(window.endpoint));
  if (room <= 0 || !endpoints.isOpen(window.endpoint)) return null;
  return { window, after: window.beginRead(), until: now, limit: Math.min(room, READ_LIMIT) };
}

export function endRead(memory: Memory, { window, until, limit }: Read, page: DuePage, now: number): Effects {
  const effects = new Effects();
  if (page.cancelling) {
    // What it was owed is being cancelled; new events go on meanwhile.
    window.cancelRead();
    window.nextDueAt = now + AGAIN_MS;
    memory.windows.plan(window);
  } else handOver(memory, memory.windows.endRead(window, page, until, limit), effects);
  return effects;
}
