/** The filters of a list: in SQL as far as rows can tell, and then by how each row is shown. */
import type { OneOf } from "../../../domain/lists.ts";
import type { DataFilter, LabelFilter, ResultFilter } from "../../store.ts";
import { mayMeet } from "./data-search.ts";
import { nameOf, statusOf, type AttemptRow, type DeliveryRow } from "./attempts.ts";
import { conditionsOf, ofTenant } from "../../lists/conditions.ts";
import type { Values } from "../engine/page.ts";
import { matches, isOneOf, seeksResult, severalOf } from "../../lists/filters.ts";
import { CANCELLED, DELIVERED, FAILED, FRESH, SHADOWED, WAITING } from "../../rows/codes.ts";
import { soughtLabels, type LabelRow } from "../../rows/labels.ts";

interface EventFilter extends LabelFilter, DataFilter {
  readonly tenant: string | null;
  readonly type?: OneOf<string> | undefined;
  readonly test?: boolean | undefined;
}

/** SQL for conditions on the event, each with AND before it. */
export function ofEvent(e: string, { tenant, data, ...query }: EventFilter, values: Values): string {
  const labels = soughtLabels(query).map((some) => ` AND ${e}.key IN (${eventsOf(some, tenant, values)})`);
  const columns = values.and([...ofTenant(tenant, e), ...conditionsOf("events", query, { of: "event", as: e })]);
  return `${labels.join("")}${columns}${data === undefined ? "" : ` AND ${mayMeet(e, data, values)}`}`;
}

function eventsOf(some: readonly LabelRow[], tenant: string | null, values: Values): string {
  const pairs = some.map(({ kind, label }) => `(${kind}::smallint, ${values.add(label)}::text)`);
  const own = tenant === null ? "" : ` AND tenant = ${values.add(tenant)}`;
  return `SELECT event FROM event_label WHERE (kind, label) IN (${pairs.join()})${own}`;
}

/** The stored statuses that may be shown as each status. The endpoint matters too, and is checked afterwards. */
const STORED: Readonly<Record<string, readonly number[]>> = {
  pending: [FRESH, WAITING],
  held: [FRESH, WAITING],
  delivered: [DELIVERED],
  failed: [FAILED],
  cancelled: [CANCELLED, FRESH, WAITING],
  shadowed: [SHADOWED],
  unmatched: [],
};

/** SQL for conditions on the delivery that narrow the rows to look at. */
export function ofDelivery(
  d: string,
  query: ResultFilter & { status?: OneOf<string> | undefined },
  endpoint: number | null,
  values: Values,
): string {
  const stored = query.status === undefined ? null : severalOf(query.status).flatMap((status) => STORED[status]!);
  // Literals let the planner use the partial index of each status.
  const statuses =
    stored === null ? "" : stored.length === 0 ? " AND FALSE" : ` AND ${d}.status IN (${[...new Set(stored)].join()})`;
  const only = endpoint === null ? "" : ` AND ${d}.endpoint = ${values.add(endpoint)}`;
  if (!seeksResult(query)) return statuses + only;
  return `${statuses}${only} AND EXISTS (SELECT 1 FROM attempt r WHERE r.event = ${d}.event AND r.endpoint = ${d}.endpoint
    ${ofResult("r", query, values)})`;
}

export function ofResult(a: string, { error, statusCode }: ResultFilter, values: Values): string {
  return values.and(conditionsOf("attempts", { error, statusCode }, { of: "attempt", as: a }));
}

export function hasMatch(last: AttemptRow | undefined, filter: ResultFilter): boolean {
  return last !== undefined && matches(last, filter);
}

export function isWanted(
  row: DeliveryRow,
  query: ResultFilter & { status?: OneOf<string> | undefined },
  lasts: ReadonlyMap<string, AttemptRow>,
): boolean {
  if (query.status !== undefined && !isOneOf(statusOf(row) as string, query.status)) return false;
  return !seeksResult(query) || hasMatch(lasts.get(nameOf(row)), query);
}
