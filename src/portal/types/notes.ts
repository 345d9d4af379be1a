/** Says what people should know about the event types that an endpoint chose. */
import type { EventType } from "../../client/operations.ts";
import { chosenOf, isPattern } from "../../domain/events/pattern.ts";
import { dateText } from "../parts/time.tsx";
import { t } from "../language/text.ts";

type Life = Pick<EventType, "name" | "deprecated_at" | "sunset_at" | "archived">;

/** Returns the sentences about a type that is on its way out; empty if it is not. */
export function lifeText(since: string | null, until: string | null): string {
  return [
    since !== null && t("types.deprecatedSince", { day: dateText(since) }),
    until !== null && t("types.endsOn", { day: dateText(until) }),
  ]
    .filter(Boolean)
    .join(" ");
}

/** The maximum number of types that a note names. */
const NAMED = 5;

/** Says which types a pattern matches today. `subject` begins the sentence. */
export function patternNote(subject: string, pattern: string, known: Iterable<string>): string {
  const types = chosenOf([pattern], known);
  if (types.length === 0) return t("types.matchesNone", { subject });
  const names = types.slice(0, NAMED).join(", ");
  const more = types.length - NAMED;
  return more > 0 ? t("types.matchesMore", { subject, names, more }) : t("types.matches", { subject, names });
}

/** Says what each pattern matches today, and which of the named types are deprecated or archived. */
export function typeNotes(events: readonly string[], types: readonly Life[]): string[] {
  const names = types.map(({ name }) => name);
  return events.flatMap((event) => {
    if (isPattern(event)) return [patternNote(event, event, names)];
    const type = types.find(({ name }) => name === event);
    const note = type === undefined ? null : lifeNote(type);
    return note === null ? [] : [note];
  });
}

function lifeNote({ name, deprecated_at: since, sunset_at: until, archived }: Life): string | null {
  if (since === null) return archived ? t("types.isArchived", { name }) : null;
  const given = { name, since: dateText(since) };
  return until === null
    ? t("types.isDeprecated", given)
    : t("types.isDeprecatedUntil", {
        ...given,
        until: dateText(until),
      });
}
