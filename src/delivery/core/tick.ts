/** Each second: what the store did not take, or what could not start, is tried again. */
import type { Now } from "../memory/ended.ts";
import type { Memory } from "../memory/memory.ts";
import type { Effects } from "./effects.ts";
import { handOver } from "./hand-over.ts";
import { recordAgain } from "./recorded.ts";

export function tick(memory: Memory, now: Now): Effects {
  const effects = recordAgain(memory, now);
  const { refused } = memory;
  memory.refused = [];
  handOver(memory, refused, effects);
  effects.askFor.push(...memory.manual.retry());
  effects.readDue = true;
  return effects;
}
