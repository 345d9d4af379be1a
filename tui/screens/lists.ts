/** The lists of events and of deliveries. */
import type { Delivery, EventSummary } from "../../src/client/operations.ts";
import { readFilter, type Filter } from "../../src/client/filter.ts";
import { age, longAge, shortId } from "../draw/numbers.ts";
import { resultText, shortUrl, shownStatus, statusCell } from "../draw/status.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { KEY_OF } from "../state/lists/places.ts";
import { firstRun } from "./first-run.ts";
import { tableRows, type Column } from "./table.ts";

interface Room {
  readonly width: number;
  readonly height: number;
}

const FULL_ID = 104;

export function eventRows(state: State, list: List<EventSummary>, room: Room): string[] {
  const { look } = state.settings;
  const { filter } = readFilter(list.filter);
  const tries = ({ deliveries = [] }: EventSummary) => Math.max(0, ...deliveries.map(({ attempts }) => attempts));
  const columns: Column<EventSummary>[] = [
    {
      head: "STATUS",
      width: 11,
      cell: (row) => statusCell(look, shownStatus(row.status, tries(row))),
    },
    idColumn(room, (row) => row.id),
    { head: "TYPE", width: room.width < 90 ? (room.width < 72 ? 18 : 20) : 28, cell: ({ type }) => ({ text: type }) },
    { head: "TRY", width: 3, align: "right", cell: (row) => ({ text: tries(row) === 0 ? "" : String(tries(row)) }) },
    {
      head: "RESULT",
      width: 7,
      cell: (row) => ({ text: resultText(shownDelivery(row, filter)?.last_attempt ?? null) }),
    },
    {
      head: "AGE",
      width: 4,
      align: "right",
      cell: ({ received_at }) => ({ text: age(state.now - Date.parse(received_at)) }),
    },
    { head: "ENDPOINT", from: 72, cell: (row) => ({ text: endpointsText(state, row, filter) }) },
  ];
  return tableRows(state, { list, keyOf: KEY_OF.events, columns, ...room, empty: firstRun(state) });
}

/**
 * Of those that match the filter, or of all where none does any more, the delivery that says most: one that failed
 * before one that is failing, and that before the others.
 */
function shownDelivery({ deliveries = [] }: EventSummary, filter: Filter) {
  const matching = deliveries.filter((delivery) => matches(delivery, filter));
  const shown = matching.length === 0 ? deliveries : matching;
  const failed = shown.find(({ status }) => status === "failed");
  return failed ?? shown.find(({ last_attempt }) => last_attempt?.outcome === "failed") ?? shown[0] ?? null;
}

type EventDelivery = NonNullable<EventSummary["deliveries"]>[number];

/** The words that are about a delivery, as the daemon reads them. */
function matches({ endpoint, status, last_attempt: last }: EventDelivery, filter: Filter): boolean {
  const code = String(last?.status_code ?? "");
  return (
    (filter.endpoint === undefined || filter.endpoint === endpoint) &&
    (filter.status === undefined || filter.status.split(",").includes(status)) &&
    (filter.error === undefined || filter.error.split(",").includes(last?.error ?? "")) &&
    (filter.status_code === undefined || filter.status_code === code || filter.status_code === `${code[0]}xx`)
  );
}

function endpointsText(state: State, event: EventSummary, filter: Filter): string {
  const delivery = shownDelivery(event, filter);
  if (delivery === null) return event.status === "unmatched" ? "no endpoint chose it" : "";
  const others = (event.deliveries?.length ?? 1) - 1;
  return endpointName(state, delivery.endpoint) + (others > 0 ? ` +${others}` : "");
}

export function endpointName({ known }: State, id: string): string {
  const url = known.endpoints.get(id)?.url;
  return url === undefined ? shortId(id) : shortUrl(url);
}

export function deliveryRows(state: State, list: List<Delivery>, room: Room): string[] {
  const { look } = state.settings;
  const columns: Column<Delivery>[] = [
    { head: "STATUS", width: 11, cell: ({ status, attempts }) => statusCell(look, shownStatus(status, attempts)) },
    idColumn(room, (row) => row.event),
    { head: "TYPE", width: room.width < 90 ? 16 : 28, from: 72, cell: ({ type }) => ({ text: type }) },
    {
      head: "TRY",
      width: 3,
      align: "right",
      cell: ({ attempts }) => ({ text: attempts === 0 ? "" : String(attempts) }),
    },
    { head: "RESULT", width: 7, cell: (row) => ({ text: resultText(row.last_attempt) }) },
    { head: "NEXT", width: 6, align: "right", cell: (row) => ({ text: nextText(state, row.next_attempt_at) }) },
    {
      head: "AGE",
      width: 4,
      align: "right",
      from: 76,
      cell: ({ received_at }) => ({ text: age(state.now - Date.parse(received_at)) }),
    },
    { head: "ENDPOINT", cell: ({ endpoint }) => ({ text: endpointName(state, endpoint) }) },
  ];
  return tableRows(state, { list, keyOf: KEY_OF.deliveries, columns, ...room, empty: firstRun(state) });
}

export function nextText({ now }: State, at: string | null): string {
  if (at === null) return "";
  const left = Date.parse(at) - now;
  return left <= 0 ? "due" : left < 60_000 ? age(left) : longAge(left).slice(0, 6);
}

function idColumn<T>({ width }: Room, idOf: (row: T) => string): Column<T> {
  const isFull = width >= FULL_ID;
  return { head: "EVENT", width: isFull ? 30 : 13, cell: (row) => ({ text: isFull ? idOf(row) : shortId(idOf(row)) }) };
}
