/** The list of endpoints, and the page of one. */
import type { Endpoint } from "../../src/client/answers.ts";
import { paint, sparkline, type Look } from "../draw/look.ts";
import { age, countText, tookText } from "../draw/numbers.ts";
import { spanRow, type Span } from "../draw/row.ts";
import { shortUrl, statusCell } from "../draw/status.ts";
import { ENDPOINT_HEAD_ROWS } from "../layout.ts";
import type { EndpointPlace, List, State } from "../model.ts";
import { KEY_OF } from "../state/places.ts";
import { deliveryRows } from "./lists.ts";
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
  const empty = ["", "No endpoint yet. One that prints what it gets:", "", "  webhookd listen --register"];
  return tableRows(state, { list, keyOf: KEY_OF.endpoints, columns, ...room, empty });
}

export function stateOf({ known }: State, { id, enabled }: Endpoint): string {
  if (!enabled) return "off";
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

function shareText(attempts: { readonly total: number; readonly succeeded: number } | undefined): string {
  if (attempts === undefined) return "";
  if (attempts.total === 0) return "-";
  const share = (100 * attempts.succeeded) / attempts.total;
  return `${share > 99 && share < 100 ? Math.min(99.9, share).toFixed(1) : Math.floor(share)} %`;
}

function msText(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? "" : tookText(ms);
}

/** Failures by hour, from parts of a quarter. */
function hours(look: Look, series: readonly { readonly failed: number }[]): string {
  const sums: number[] = [];
  for (let at = 0; at < series.length; at += 4)
    sums.push(series.slice(at, at + 4).reduce((sum, { failed }) => sum + failed, 0));
  return sparkline(look, sums);
}

export function endpointPage(state: State, place: EndpointPlace, room: { width: number; height: number }): string[] {
  const headRows = Math.min(ENDPOINT_HEAD_ROWS, room.height - 4);
  const head = headOf(state, place.id, room.width).slice(0, headRows);
  const rule = paint(state.settings.look, "grey", spanRow(state.settings.look, [], room.width));
  while (head.length < headRows) head.push(rule);
  return [...head, ...deliveryRows(state, place.list, { width: room.width, height: room.height - head.length })];
}

function headOf(state: State, id: string, width: number): string[] {
  const { look } = state.settings;
  const endpoint = state.known.health.get(id)?.value ?? state.known.endpoints.get(id);
  const row = (name: string, ...spans: Span[]) =>
    spanRow(look, [{ text: `  ${name.padEnd(10)}`, style: "grey" }, ...spans], width);
  if (endpoint === undefined) return [row("endpoint", { text: state.known.gone.has(id) ? `${id} is deleted` : id })];
  const health = state.known.health.get(id)?.value.health;
  const stats = state.known.endpointStats.get(id)?.value;
  const since = (at: string | null) => (at === null ? "never" : `${age(state.now - Date.parse(at))} ago`);
  const { text, style } = statusCell(look, stateOf(state, endpoint));
  const why = endpoint.disabled_reason === null ? "" : ` by the daemon (${endpoint.disabled_reason})`;
  const held = endpoint.enabled ? "" : `; new events ${endpoint.when_disabled === "hold" ? "are kept" : "are skipped"}`;
  return [
    spanRow(look, [{ text: ` ${text}${why}${held}`, style }, { text: `  ${id}  ${endpoint.description}` }], width),
    row("url", { text: endpoint.url }),
    row("types", { text: endpoint.events.join("  ") }),
    row("waiting", {
      text:
        health === undefined
          ? "…"
          : `${countText(health.pending)} pending, ${countText(health.held)} held, ${countText(health.failed)} failed`,
    }),
    row("last", {
      text:
        health === undefined
          ? "…"
          : `success ${since(health.last_success_at)}, failure ${since(health.last_failure_at)}`,
    }),
    row("24 h", {
      text:
        stats === undefined
          ? "…"
          : `${countText(stats.attempts.total)} attempts, ${shareText(stats.attempts)} ok, p50 ${msText(stats.duration_ms.p50)}, p95 ${msText(stats.duration_ms.p95)}`,
    }),
    row("by hour", { text: stats === undefined ? "" : hours(look, stats.series), style: "red" }, { text: "  failed" }),
  ];
}
