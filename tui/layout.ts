import type { Place, Size, State } from "./model/state.ts";
import { here } from "./state/lists/places.ts";

export const LEAST: Size = { columns: 60, rows: 12 };
const SPLIT_COLUMNS = 120;
/** Header, counts and tabs above; toast and keys below. */
export const HEAD_ROWS = 3;
const FOOT_ROWS = 2;
/** Rows above the list on an endpoint's page, including the rule. Only a tall screen shows them all. */
const ENDPOINT_HEAD_ROWS = 12;
const WHOLE_ENDPOINT_HEAD_ROWS = 14;
const LEAST_DELIVERIES = 10;
const LIST_HEAD_ROWS = 1;
/** Rows below a list of failures, about the selected one. */
export const FAILURE_ROWS = 14;
const LEAST_FAILURE_ROWS = 13;
/** The minimum number of rows for the list above. */
const LEAST_FAILURES = 5;

export interface Layout {
  readonly body: number;
  /** The columns of the list, or of the whole screen if there is no pane. */
  readonly main: number;
  /** The columns of the pane, without the line before it. 0 if there is no pane. */
  readonly pane: number;
  /** The number of rows of a list that fit. */
  readonly list: number;
}

export function isTooSmall({ columns, rows }: Size): boolean {
  return columns < LEAST.columns || rows < LEAST.rows;
}

export function layoutOf(state: State): Layout {
  return layoutFor(state.size, here(state));
}

export function layoutFor(size: Size, place: Place): Layout {
  const body = Math.max(1, size.rows - HEAD_ROWS - FOOT_ROWS);
  const hasPane = size.columns >= SPLIT_COLUMNS && (place.kind === "events" || place.kind === "deliveries");
  const main = hasPane ? Math.floor(size.columns * 0.55) : size.columns;
  return { body, main, pane: hasPane ? size.columns - main - 1 : 0, list: Math.max(1, body - aroundList(place, body)) };
}

export function endpointHeadRows(body: number): number {
  return Math.min(
    body >= WHOLE_ENDPOINT_HEAD_ROWS + LEAST_DELIVERIES ? WHOLE_ENDPOINT_HEAD_ROWS : ENDPOINT_HEAD_ROWS,
    body - 4,
  );
}

/** Returns 0 on a short screen, which shows only the list. */
export function failureRowsBelow(body: number): number {
  const room = body - LIST_HEAD_ROWS - LEAST_FAILURES;
  return room < LEAST_FAILURE_ROWS ? 0 : Math.min(FAILURE_ROWS, room);
}

export interface OverviewLayout {
  /** Rows of sentences below the title. */
  readonly facts: number;
  readonly hour: boolean;
  /** Rows of the 24-hour charts. */
  readonly ok: number;
  readonly failed: number;
  readonly next: boolean;
  /** Rows of the list of causes, including its head. */
  readonly list: number;
  /** Rows of the worst endpoints, including the lines above them. */
  readonly worst: number;
}

/** A short screen shows only the answer and the causes. A tall screen also has taller charts. */
export function overviewLayout(body: number): OverviewLayout {
  if (body < 15) return { facts: 1, hour: false, ok: 0, failed: 0, next: false, list: Math.max(2, body - 2), worst: 0 };
  const size = body < 25 ? { ok: 2, failed: 1 } : body < 40 ? { ok: 4, failed: 2 } : { ok: 6, failed: 3 };
  const left = body - OVERVIEW_FIXED_ROWS - size.ok - size.failed;
  const worst = left >= LEAST_LIST + LEAST_WORST ? Math.floor(left / 2) : 0;
  return { facts: 2, hour: true, ...size, next: true, list: left - worst, worst };
}

/** The title, the facts, the last hour and the next one, the axis of the charts, and the lines between them. */
const OVERVIEW_FIXED_ROWS = 8;
const LEAST_LIST = 6;
const LEAST_WORST = 6;

/** Returns the number of rows of the body above the first row of its list. */
export function listTop({ kind }: Place, body: number): number {
  if (kind === "endpoint") return endpointHeadRows(body) + LIST_HEAD_ROWS;
  if (kind !== "overview") return LIST_HEAD_ROWS;
  const { facts, hour, ok, failed, next } = overviewLayout(body);
  const charts = ok === 0 ? 0 : ok + failed + 1;
  return 1 + facts + (hour ? 2 : 0) + charts + (next ? 2 : 0) + LIST_HEAD_ROWS;
}

function aroundList({ kind }: Place, body: number): number {
  if (kind === "overview") return body - overviewLayout(body).list + LIST_HEAD_ROWS;
  // On a short screen the list comes first.
  if (kind === "failures") return LIST_HEAD_ROWS + failureRowsBelow(body);
  return kind === "endpoint" ? LIST_HEAD_ROWS + endpointHeadRows(body) : LIST_HEAD_ROWS;
}
