/** The filters of a list: in SQL as far as rows can decide, and then by how each row is shown. */
import type { DataFilter, LabelFilter, OneOf, ResultFilter } from "../../store.ts";
import { mayMeet } from "./data-search.ts";
import { nameOf, statusOf, type AttemptRow, type DeliveryRow } from "./attempts.ts";
import type { Values } from "../engine/page.ts";
import { matches, isOneOf, seeksResult, severalOf } from "../../rows/filters.ts";
import { CANCELLED, DELIVERED, FAILED, FRESH, WAITING } from "../../rows/codes.ts";
import { soughtLabels, type LabelRow } from "../../rows/labels.ts";

interface EventFilter extends LabelFilter, DataFilter {
  readonly tenant: string | null;
  readonly type?: OneOf<string> | undefined;
  readonly test?: boolean | undefined;
}

/** SQL for conditions on the event, each with AND before it. */
export function ofEvent(e: string, { tenant, type, test, data, ...labels }: EventFilter, values: Values): string {
  const conditions = [
    ...soughtLabels(labels).map((some) => `${e}.key IN (${eventsOf(some, tenant, values)})`),
    tenant === null ? null : `${e}.tenant = ${values.add(tenant)}`,
    type === undefined ? null : `${e}.type = ANY(${values.add(severalOf(type))}::text[])`,
    // A literal lets the planner use the partial index.
    test === undefined ? null : `${e}.test = ${test ? 1 : 0}`,
    data === undefined ? null : mayMeet(e, data, values),
  ];
  return conditions.map((one) => (one === null ? "" : ` AND ${one}`)).join("");
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
  const ofError = error === undefined ? "" : ` AND ${a}.error = ANY(${values.add(severalOf(error))}::text[])`;
  if (statusCode === undefined) return ofError;
  const { least, most } = statusCode;
  return `${ofError} AND ${a}.status_code BETWEEN ${values.add(least)} AND ${values.add(most)}`;
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
