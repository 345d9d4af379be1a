/** A row of choice: what an endpoint received from one change on. The same in both stores. */
import type { ChoiceChange, ChoiceThen, KeptChoice } from "../../domain/endpoints/choice.ts";
import { DISABLED_REASONS, whenDisabledOf } from "../../domain/endpoints/endpoint.ts";
import { filterOf, stringsOf } from "./endpoint-row.ts";

export interface ChoiceRow {
  readonly num: number;
  readonly change: ChoiceChange;
  readonly at: number;
  readonly events: string;
  readonly filter: string | null;
  readonly enabled: number;
  readonly disabled_reason: string | null;
  readonly when_disabled: string;
}

/** The fact in `meta` that counts the changes of all endpoints. */
export const LAST_CHOICE = "last_choice";

/** The columns that a choice has as its endpoint has them. */
const CHOSEN = ["events", "filter", "enabled", "disabled_reason", "when_disabled"] as const;

export const CHOICE_COLUMNS = `num, change, at, ${CHOSEN.join(", ")}`;

/** SQL that is true if the endpoint `e` still has the choice `c`. */
export const IS_SAME_CHOICE = CHOSEN.map((column) => `c.${column} IS NOT DISTINCT FROM e.${column}`).join(" AND ");

/** SQL that adds the choice that an endpoint has now; it takes the number, the change, the instant and the endpoint. */
export function insertChoice([num, change, at, endpoint]: readonly [string, string, string, string]): string {
  return `INSERT INTO choice (endpoint, ${CHOICE_COLUMNS})
    SELECT number, ${num}, ${change}, ${at}, ${CHOSEN.join(", ")} FROM endpoint WHERE number = ${endpoint}`;
}

/**
 * The number of the oldest events that are looked at for the first choice that is still needed. Nodes may publish in an
 * order that differs a little from that of the keys.
 */
const OLDEST = 1000;

/** SQL for the first change that an event still needs; NULL if there is no event. */
export const FIRST_NEEDED = `(SELECT min(choice) FROM (SELECT choice FROM event ORDER BY key LIMIT ${OLDEST}) AS oldest)`;

/**
 * Finds the choice that decided about an event whose publish saw the change `seen`. `rows` has the first two choices of
 * the endpoint that did not end before, in their order; `takesTurns` is true if no publish can see a part of a change.
 */
export function choiceThen(rows: readonly ChoiceRow[], seen: number, takesTurns: boolean): ChoiceThen {
  const [first, second] = rows;
  if (first === undefined) return { known: "removed" };
  if (first.num <= seen) {
    const next = takesTurns || second === undefined ? null : choiceOf(second);
    return { known: "chosen", choice: choiceOf(first), next };
  }
  return first.change === "registered" ? { known: "unregistered", registeredAt: first.at } : { known: "removed" };
}

/** As publishes read it: a filter that is damaged takes every event, and an unknown word holds. */
function choiceOf(row: ChoiceRow): KeptChoice {
  return {
    change: row.change,
    at: row.at,
    events: stringsOf(row.events) ?? [],
    filter: row.filter === null ? null : filterOf(row.filter),
    enabled: row.enabled === 1,
    disabledReason: DISABLED_REASONS.find((reason) => reason === row.disabled_reason) ?? null,
    whenDisabled: whenDisabledOf(row.when_disabled),
  };
}
