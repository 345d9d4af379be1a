/** The lists of attempts: those of an event, a delivery or an endpoint. */
import type { AttemptRow } from "../rows/attempt-row.ts";
import { outcomeCode, triggerCode } from "../rows/codes.ts";
import type { EndpointAttemptQuery, PageQuery } from "../store.ts";
import { conditionsOf, type Condition } from "./conditions.ts";
import { seeksFailure } from "./filters.ts";
import type { List } from "./list.ts";

/** SQL for attempts with the columns of `AttemptRow`, and the name of that table in the statement. */
interface Source {
  readonly select: string;
  readonly from: string;
}

type Row = Pick<AttemptRow, "event" | "endpoint" | "number" | "started_at">;

/** In the order of their starts. */
export function attemptsOfEvent<R extends Row>(source: Source, event: number, { order }: PageQuery): List<R> {
  const keys = (["started_at", "endpoint", "number"] as const).map((column) => [`a.${column}`, column] as const);
  return { name: `attempts-${event}`, ...source, order, keys, where: [is("event", event)] };
}

/** By number. */
export function attemptsOfDelivery<R extends Row>(
  source: Source,
  { event, endpoint }: Pick<Row, "event" | "endpoint">,
  { order }: PageQuery,
): List<R> {
  const where = [is("event", event), is("endpoint", endpoint)];
  return { name: `attempts-${event}-${endpoint}`, ...source, order, keys: [["a.number", "number"]], where };
}

function is(column: string, value: number): Condition {
  return { table: "a", column, is: value };
}

/** The conditions on the attempts of an endpoint that are listed. */
export interface EndpointAttempts {
  readonly name: string;
  /** True if no success can match, so that successes need not be looked at. */
  readonly isOfFailures: boolean;
  readonly checks: readonly Condition[];
}

export function attemptsOfEndpoint(endpoint: number, query: EndpointAttemptQuery): EndpointAttempts {
  const { outcome, test } = query;
  const trigger = triggerCode("test");
  const ofTest = { table: "a", column: "trigger", ...(test === true ? { is: trigger } : { isNot: trigger }) };
  const stored = outcome === undefined ? {} : { outcome: outcomeCode(outcome) };
  return {
    name: `attempts-of-${endpoint}-by-time`,
    isOfFailures: seeksFailure(query) || (outcome !== undefined && outcome !== "succeeded"),
    checks: [
      ...conditionsOf("attempts", query, { of: "attempt", as: "a", stored }),
      ...(test === undefined ? [] : [ofTest]),
    ],
  };
}
