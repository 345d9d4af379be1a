/** Rotations of signing secrets that were begun or ended from here: until the endpoint is read again, it says so too. */
import type { Answers } from "../../src/client/answers.ts";
import type { Answered, Known, State } from "../model.ts";

export function rotationKnown(known: Known, { call, answer }: Answered): Known {
  const { id = "" } = call.ask;
  switch (call.operation) {
    case "rotateSecret":
      return withSwitch(known, id, (answer as Answers["rotateSecret"]).switches_at ?? null);
    case "completeRotation":
    case "abandonRotation":
      return withSwitch(known, id, null);
    default:
      return known;
  }
}

/** The instant at which the next secret takes over; null without a rotation that is known of. */
export function switchesAt({ known, now }: State, id: string): string | null {
  const at = known.endpoints.get(id)?.secret_switches_at ?? null;
  return at !== null && Date.parse(at) > now ? at : null;
}

function withSwitch(known: Known, id: string, at: string | null): Known {
  const endpoint = known.endpoints.get(id);
  if (endpoint === undefined) return known;
  return { ...known, endpoints: new Map(known.endpoints).set(id, { ...endpoint, secret_switches_at: at }) };
}
