/** Draws the lists of events and of deliveries. */
import type { Delivery, EventSummary } from "../../src/client/operations.ts";
import { readFilter, type Filter } from "../../src/client/filter.ts";
import { age, longAge, shortId } from "../draw/numbers.ts";
import { glyph } from "../draw/look.ts";
import { resultText, shortUrl, shownStatus, statusCell } from "../draw/status.ts";
import type { List } from "../model/list.ts";
import type { Known } from "../model/known.ts";
import type { State } from "../model/state.ts";
import { firstRun } from "./first-run.ts";
import { tableRows, type Column } from "./table.ts";

interface Area {
  readonly width: number;
  readonly height: number;
}

export function eventRows(state: State, list: List<EventSummary>, room: Area): string[] {
  const { look } = state.settings;
  const { filter } = readFilter(list.filter);
  const tries = ({ deliveries = [] }: EventSummary) => Math.max(0, ...deliveries.map(({ attempts }) => attempts));
  const columns: Column<EventSummary>[] = [
    { head: "STATUS", width: 11, rank: 0, cell: (row) => statusCell(look, shownStatus(row.status, tries(row))) },
    idColumn((row) => row.id, 2),
    { head: "TYPE", least: 13, fair: 16, width: 28, rank: 5, cell: ({ type }) => ({ text: type }) },
    {
      head: "TRY",
      width: 3,
      rank: 6,
      align: "right",
      cell: (row) => ({ text: tries(row) === 0 ? "" : String(tries(row)) }),
    },
    {
      head: "RESULT",
      width: 7,
      rank: 1,
      cell: (row) => ({ text: resultText(shownDelivery(row, filter)?.last_attempt ?? null) }),
    },
    {
      head: "AGE",
      width: 4,
      rank: 4,
      align: "right",
      cell: ({ received_at }) => ({ text: age(state.now - Date.parse(received_at)) }),
    },
    {
      head: "ENDPOINT",
      least: 12,
      fair: 15,
      width: 30,
      rest: true,
      rank: 3,
      cell: (row, width) => ({ text: endpointsText(state, row, filter, width) }),
    },
  ];
  return tableRows(state, { list, kind: "events", columns, ...room, empty: firstRun(state) });
}

/**
 * Returns the most important delivery among those that match the filter, or among all if none matches any more: a
 * failed one, or else one whose last attempt failed, or else the first.
 */
function shownDelivery({ deliveries = [] }: EventSummary, filter: Filter) {
  const matching = deliveries.filter((delivery) => matches(delivery, filter));
  const shown = matching.length === 0 ? deliveries : matching;
  const failed = shown.find(({ status }) => status === "failed");
  return failed ?? shown.find(({ last_attempt }) => last_attempt?.outcome === "failed") ?? shown[0] ?? null;
}

type EventDelivery = NonNullable<EventSummary["deliveries"]>[number];

/** Applies the filter's keys about a delivery, as the daemon does. */
function matches({ endpoint, status, last_attempt: last }: EventDelivery, filter: Filter): boolean {
  const code = String(last?.status_code ?? "");
  return (
    (filter.endpoint === undefined || filter.endpoint === endpoint) &&
    (filter.status === undefined || filter.status.split(",").includes(status)) &&
    (filter.error === undefined || filter.error.split(",").includes(last?.error ?? "")) &&
    (filter.status_code === undefined || filter.status_code === code || filter.status_code === `${code[0]}xx`)
  );
}

function endpointsText(state: State, event: EventSummary, filter: Filter, width: number): string {
  const delivery = shownDelivery(event, filter);
  if (delivery === null) return event.status === "unmatched" ? "no endpoint chose it" : "";
  const others = (event.deliveries?.length ?? 1) - 1;
  const more = others > 0 ? ` +${others}` : "";
  return endpointName(state, delivery.endpoint, width - more.length) + more;
}

/**
 * Returns host and path. If they do not fit, returns only the host if no other endpoint has it, and otherwise both
 * without their middle: the beginning tells customers apart, and the end tells one customer's endpoints apart.
 */
export function endpointName(
  { known, settings: { look } }: State,
  id: string,
  width = Number.POSITIVE_INFINITY,
): string {
  const url = known.endpoints.get(id)?.url;
  if (url === undefined) return shortId(id);
  const name = shortUrl(url);
  const host = URL.parse(url)?.host;
  if (host === undefined || name.length <= width) return name;
  if (hostsOf(known.endpoints).get(host) === 1) return host;
  const head = Math.ceil(0.6 * (width - 1));
  // A parsed URL is ASCII, so each character takes one column.
  return width < 3
    ? name
    : name.slice(0, head) + glyph(look, "ellipsis") + name.slice(name.length - (width - 1 - head));
}

/** Returns the owner, as far as it is known: `ACME Corp, production (tenant acme)`. */
export function whoseText({ known }: State, id: string): string {
  const { description = "", tenant = "default" } = known.endpoints.get(id) ?? {};
  return [description, ...(tenant === "default" ? [] : [`(tenant ${tenant})`])].filter((part) => part !== "").join(" ");
}

const hosts = new WeakMap<Known["endpoints"], ReadonlyMap<string, number>>();

/** Counts the endpoints with each host. The counts are kept for as long as the endpoints stay the same. */
function hostsOf(endpoints: Known["endpoints"]): ReadonlyMap<string, number> {
  const before = hosts.get(endpoints);
  if (before !== undefined) return before;
  const counts = new Map<string, number>();
  for (const { url } of endpoints.values()) {
    const host = URL.parse(url)?.host ?? "";
    counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  hosts.set(endpoints, counts);
  return counts;
}

export function deliveryRows(state: State, list: List<Delivery>, room: Area): string[] {
  const { look } = state.settings;
  const columns: Column<Delivery>[] = [
    {
      head: "STATUS",
      width: 11,
      rank: 0,
      cell: ({ status, attempts }) => statusCell(look, shownStatus(status, attempts)),
    },
    idColumn((row) => row.event, 3),
    { head: "TYPE", least: 12, fair: 16, width: 28, rank: 5, cell: ({ type }) => ({ text: type }) },
    {
      head: "TRY",
      width: 3,
      rank: 6,
      align: "right",
      cell: ({ attempts }) => ({ text: attempts === 0 ? "" : String(attempts) }),
    },
    { head: "RESULT", width: 7, rank: 1, cell: (row) => ({ text: resultText(row.last_attempt) }) },
    {
      head: "NEXT",
      width: 6,
      rank: 2,
      align: "right",
      cell: (row) => ({ text: row.waits_behind ? "behind" : nextText(state, row.next_attempt_at) }),
    },
    {
      head: "AGE",
      width: 4,
      rank: 7,
      align: "right",
      cell: ({ received_at }) => ({ text: age(state.now - Date.parse(received_at)) }),
    },
    {
      head: "ENDPOINT",
      least: 12,
      fair: 16,
      width: 30,
      rest: true,
      rank: 4,
      cell: ({ endpoint }, width) => ({ text: endpointName(state, endpoint, width) }),
    },
  ];
  return tableRows(state, { list, kind: "deliveries", columns, ...room, empty: firstRun(state) });
}

/**
 * A delivery that has been due for longer than this is in flight or waiting for its turn, because an endpoint gets only
 * so many at a time.
 */
export const TURN_MS = 2000;

export function nextText({ now, known }: State, at: string | null): string {
  if (at === null) return "";
  const left = Date.parse(at) - now;
  if (left < -TURN_MS) return (known.status?.value.paused ?? null) === null ? "queued" : "paused";
  return left <= 0 ? "due" : left < 60_000 ? age(left) : longAge(left).slice(0, 6);
}

const WHOLE_ID = 30;
const NAMED_ID = 13;

/** A narrow column shows the last characters of an id, which are random. */
function idColumn<T>(idOf: (row: T) => string, rank: number): Column<T> {
  const text = (id: string, width: number) =>
    width >= WHOLE_ID ? id : width >= NAMED_ID ? shortId(id) : shortId(id).slice(id.indexOf("_") + 1);
  return {
    head: "EVENT",
    least: 9,
    width: NAMED_ID,
    ample: WHOLE_ID,
    rank,
    cell: (row, width) => ({ text: text(idOf(row), width) }),
  };
}
