/** An operator asks for one attempt, outside the ladder. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { EventDelivery } from "../../store/store.ts";
import type { Memory } from "../memory/memory.ts";
import { Effects } from "./effects.ts";
import { handOver } from "./hand-over.ts";

/** The store owes it from now on. */
export function requested({ manual }: Memory, owed: EventDelivery): Effects {
  const effects = new Effects();
  effects.askFor.push(...manual.request(owed));
  return effects;
}

/** The store said what to make it from, or null when it owes it no more. */
export function requestAnswered(memory: Memory, owed: EventDelivery, claim: Claim | null): Effects {
  const effects = new Effects();
  const { isMade, ask } = memory.manual.answered(owed, claim !== null);
  effects.askFor.push(...ask);
  if (isMade) load(memory, claim!, effects);
  return effects;
}

/** It is on trial, because the process may have died of it: it goes alone, or is not sent again. */
export function tried(memory: Memory, claim: Claim, isSent: boolean): Effects {
  const effects = new Effects();
  if (isSent) load(memory, claim, effects);
  else memory.windows.load(claim);
  return effects;
}

function load(memory: Memory, claim: Claim, effects: Effects): void {
  memory.windows.load(claim);
  handOver(memory, [claim], effects);
}
