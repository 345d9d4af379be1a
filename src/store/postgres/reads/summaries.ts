/** Events as lists show them, with their publishers' labels. */
import type { KeyTimes } from "../../rows/key-times.ts";
import { eventStatus } from "../../../domain/deliveries/delivery.ts";
import { type EventLabels, NO_LABELS } from "../../../domain/events/event.ts";
import type { EventSummary } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import type { FoundEvent } from "../events/event-changes.ts";
import { statusOf, type DeliveryRow } from "./attempts.ts";
import { labelsIn, type LabelRow } from "../../rows/labels.ts";
import { eventId } from "../../rows/codes.ts";

export type EventRow = Omit<FoundEvent, "id">;

/** SQL for the columns of `event e`. */
export const EVENT =
  "e.key, e.random, e.tenant, e.type, e.created_at, e.test, e.erased_at, e.ordering_key, e.body IS NULL AS erased";

/** Keyed by the event's key. */
export type LabelsOf = ReadonlyMap<number, EventLabels>;

export async function labelsOf(database: Queries, keys: readonly number[]): Promise<LabelsOf> {
  const rows = await database.rows<LabelRow & { readonly event: number }>(
    "SELECT event, kind, label FROM event_label WHERE event = ANY($1::bigint[])",
    [keys],
  );
  return new Map([...Map.groupBy(rows, ({ event }) => event)].map(([event, own]) => [event, labelsIn(own)]));
}

export function summaryOf(
  row: EventRow,
  deliveries: readonly DeliveryRow[],
  labels: LabelsOf,
  times: KeyTimes,
): EventSummary {
  return {
    id: eventId(row.key, row.random),
    type: row.type,
    createdAt: row.created_at,
    receivedAt: times.madeAt(row.key),
    tenant: row.tenant,
    test: row.test === 1,
    status: eventStatus(deliveries.map(statusOf)),
    erasedAt: row.erased_at,
    orderingKey: row.ordering_key,
    ...(labels.get(row.key) ?? NO_LABELS),
  };
}
