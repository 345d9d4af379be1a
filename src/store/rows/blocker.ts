/** The delivery that goes before one that waits in the line of an ordering key. Both stores read it with the same SQL. */
import type { Blocker } from "../../domain/deliveries/ordering.ts";
import { BEHIND, eventId, WAITING } from "./codes.ts";

/**
 * SQL for the delivery that `d` waits behind, as JSON; NULL if it does not wait behind one. That is the first of its
 * line, or, if nothing of the line is due, the failed one that holds the key.
 */
export function blockerSql(array: "json_array" | "json_build_array"): string {
  const shown = (due: string, holds: 0 | 1) => `${array}(f.event, e.random, f.attempts, ${due}, ${holds})`;
  return `CASE WHEN d.status = ${WAITING} AND d.due_at >= ${BEHIND} THEN coalesce(
    (SELECT ${shown("f.due_at", 0)} FROM (
       SELECT o.event, o.attempts, o.due_at FROM delivery o
       WHERE o.ordering_key = d.ordering_key AND o.status <= ${WAITING} ORDER BY o.sequence, o.event LIMIT 1) f
     JOIN event e ON e.key = f.event WHERE f.due_at < ${BEHIND}),
    (SELECT ${shown("NULL", 1)} FROM (
       SELECT o.event, o.endpoint FROM held_key o
       WHERE o.ordering_key = d.ordering_key ORDER BY o.sequence, o.event LIMIT 1) h
     JOIN delivery f ON f.event = h.event AND f.endpoint = h.endpoint JOIN event e ON e.key = h.event)) END`;
}

type Stored = readonly [event: number, random: string, attempts: number, dueAt: number | null, holds: 0 | 1];

/** Reads what `blockerSql` returns. */
export function blockerOf(json: string | Stored | null): Blocker | null {
  if (json === null) return null;
  const [event, random, attempts, nextAttemptAt, holds] =
    typeof json === "string" ? (JSON.parse(json) as Stored) : json;
  return { event: eventId(event, random), attempts, nextAttemptAt, holdsKey: holds === 1 };
}
