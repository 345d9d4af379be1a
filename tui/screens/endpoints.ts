/** The list of endpoints. */
import type { Endpoint } from "../../src/client/operations.ts";
import { sparkline, type Look } from "../draw/look.ts";
import { countText, tookText } from "../draw/numbers.ts";
import { shortUrl, statusCell } from "../draw/status.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { KEY_OF } from "../state/lists/places.ts";
import { NO_ENDPOINT } from "./first-run.ts";
import { tableRows, type Column } from "./table.ts";

/** Failures in a row that are no accident any more. */
const FAILING = 3;

export function endpointRows(state: State, list: List<Endpoint>, room: { width: number; height: number }): string[] {
  const { look } = state.settings;
  const health = ({ id }: Endpoint) => state.known.health.get(id)?.value.health;
  const stats = ({ id }: Endpoint) => state.known.endpointStats.get(id)?.value;
  const columns: Column<Endpoint>[] = [
    { head: "STATE", width: 10, cell: (row) => statusCell(look, stateOf(state, row)) },
    { head: "URL", width: Math.max(20, Math.floor(room.width * 0.35)), cell: ({ url }) => ({ text: shortUrl(url) }) },
    { head: "OK 24H", width: 6, align: "right", cell: (row) => ({ text: shareText(stats(row)?.attempts) }) },
    { head: "P95", width: 7, align: "right", from: 80, cell: (row) => ({ text: msText(stats(row)?.duration_ms.p95) }) },
    { head: "QUEUE", width: 7, align: "right", cell: (row) => ({ text: countOrNone(waiting(health(row))) }) },
    { head: "FAILED", width: 7, align: "right", cell: (row) => ({ text: countOrNone(health(row)?.failed) }) },
    { head: "LAST 24 H", width: 24, from: 110, cell: (row) => ({ text: hours(look, stats(row)?.series ?? []) }) },
    { head: "DESCRIPTION", from: 100, cell: ({ description }) => ({ text: description }) },
  ];
  return tableRows(state, { list, keyOf: KEY_OF.endpoints, columns, ...room, empty: NO_ENDPOINT });
}

export function stateOf({ known }: State, { id, enabled, damaged }: Endpoint): string {
  if (damaged) return "damaged";
  if (!enabled) return "disabled";
  const health = known.health.get(id)?.value.health;
  if (health === undefined) return "…";
  return health.consecutive_failures >= FAILING ? "failing" : "ok";
}

function waiting(health: { readonly pending: number; readonly held: number } | undefined): number | undefined {
  return health && health.pending + health.held;
}

function countOrNone(count: number | undefined): string {
  return count === undefined ? "" : countText(count);
}

export function shareText(attempts: { readonly total: number; readonly succeeded: number } | undefined): string {
  if (attempts === undefined) return "";
  if (attempts.total === 0) return "-";
  const share = (100 * attempts.succeeded) / attempts.total;
  return `${share > 99 && share < 100 ? Math.min(99.9, share).toFixed(1) : Math.floor(share)} %`;
}

export function msText(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : tookText(ms);
}

/** Failures by hour, from parts of a quarter. */
export function hours(look: Look, series: readonly { readonly failed: number }[]): string {
  const sums: number[] = [];
  for (let at = 0; at < series.length; at += 4)
    sums.push(series.slice(at, at + 4).reduce((sum, { failed }) => sum + failed, 0));
  return sparkline(look, sums);
}
