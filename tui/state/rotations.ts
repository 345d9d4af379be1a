/** Rotations of signing secrets that were begun from here: no answer about an endpoint tells of them. */
import type { Answers } from "../../src/client/answers.ts";
import type { Answered, Known, State } from "../model.ts";

export function rotationKnown(known: Known, { call, answer }: Answered): Known {
  const { id = "" } = call.ask;
  const rotations = new Map(known.rotations);
  switch (call.operation) {
    case "rotateSecret": {
      const { switches_at: at } = answer as Answers["rotateSecret"];
      if (at === undefined) return known;
      return { ...known, rotations: rotations.set(id, at) };
    }
    case "completeRotation":
    case "abandonRotation":
      rotations.delete(id);
      return { ...known, rotations };
    default:
      return known;
  }
}

/** The instant at which the next secret takes over; null without a rotation that is known of. */
export function switchesAt({ known, now }: State, id: string): string | null {
  const at = known.rotations.get(id);
  return at !== undefined && Date.parse(at) > now ? at : null;
}
