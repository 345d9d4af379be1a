/** Acts that nobody has answered, and those whose effect nobody has seen: what became of each is told in the end. */
import type { Act, Effect, State, Step } from "../model.ts";
import { toast } from "./toast.ts";

/** For the attempt that tells how an act went: the brake may be on, or it was told as one of many. */
const PATIENCE_MS = 60_000;

/** What waits for the daemon goes out again, under the same idempotency keys; what nothing was heard of is let go. */
export function tendActs(state: State): Step {
  const waiting = state.acts.filter(({ phase }) => phase === "waiting");
  const isOver = ({ phase, at }: Act) => phase === "done" && state.now - at >= PATIENCE_MS;
  const over = state.acts.find(isOver);
  if (waiting.length === 0 && over === undefined) return { state, effects: [] };
  const acts = state.acts
    .filter((act) => !isOver(act))
    .map((act) => (waiting.includes(act) ? { ...act, phase: "sent" as const, tries: act.tries + 1 } : act));
  const next = { ...state, acts };
  return {
    state: over === undefined ? next : toast(next, `${over.label}: no attempt was seen in a minute; look at the event`),
    effects: waiting.map(({ call }): Effect => ({ do: "call", call })),
  };
}

/** What a refusal means of an act that was sent before, and whose first answer got lost. */
export function doubt({ tries, event }: Act, failure: string): string {
  if (tries < 2 || (failure !== "conflict" && failure !== "not_found")) return "";
  return `; it may have been done before its answer was lost, look at ${event === null ? "5 Activity" : "the event"}`;
}
