/** Describes what people who choose, publish or list event types should know about them. */
import { isPattern, takenIn } from "../domain/events/pattern.ts";
import type { EventType } from "./operations.ts";

type Life = Pick<EventType, "deprecated_at" | "sunset_at" | "archived">;

/**
 * Returns `deprecated`, `deprecated until 2027-01-31`, `archived`, or a combination. Returns a dash if it is neither.
 */
export function typeState({ deprecated_at: since, sunset_at: until, archived }: Life): string {
  const end = until === null ? "" : ` until ${dayOf(until)}`;
  const states = [...(since === null ? [] : [`deprecated${end}`]), ...(archived ? ["archived"] : [])];
  return states.length === 0 ? "-" : states.join(", ");
}

/** Returns the end of a sentence about a deprecated type, or null for any other type. */
export function typeWarning({ deprecated_at: since, sunset_at: until, archived }: Life): string | null {
  if (since !== null) {
    const end = until === null ? "" : `; its events are expected to end on ${dayOf(until)}`;
    return `deprecated since ${dayOf(since)}${end}`;
  }
  return archived ? "archived: endpoints that have not chosen it can no longer choose it" : null;
}

/**
 * Describes which types each pattern of an endpoint matches today, and which of the types that it names are deprecated.
 */
export function typeNotes(events: readonly string[], types: readonly (Life & Pick<EventType, "name">)[]): string[] {
  const names = types.map(({ name }) => name);
  return events.flatMap((event) => {
    if (isPattern(event)) return [`${event} ${takenIn(event, names)}`];
    const type = types.find(({ name }) => name === event);
    const warning = type === undefined ? null : typeWarning(type);
    return warning === null ? [] : [`${event} is ${warning}`];
  });
}

function dayOf(instant: string): string {
  return instant.slice(0, 10);
}
