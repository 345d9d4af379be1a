/** Draws the list of endpoints. */
import type { Endpoint } from "../../src/client/operations.ts";
import { standingOfEndpoint } from "../../src/client/standing.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import type { Standing } from "../../src/domain/endpoints/standing.ts";
import { counted } from "../../src/domain/wording.ts";
import { spread } from "../draw/chart.ts";
import type { Cell } from "../draw/row.ts";
import { sparkline, type Look } from "../draw/look.ts";
import { age, shortCount, tookText } from "../draw/numbers.ts";
import { shortUrl, statusCell } from "../draw/status.ts";
import type { List } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { endpointName } from "./lists.ts";
import { NO_ENDPOINT } from "./first-run.ts";
import { tableRows, type Column } from "./table.ts";

export function endpointRows(state: State, list: List<Endpoint>, room: { width: number; height: number }): string[] {
  const { look } = state.settings;
  const health = ({ id }: Endpoint) => state.known.health.get(id)?.value.health;
  const stats = ({ id }: Endpoint) => state.known.endpointStats.get(id)?.value;
  const columns: Column<Endpoint>[] = [
    { head: "STATE", width: 10, rank: 0, cell: (row) => statusCell(look, stateOf(state, row)) },
    {
      head: "ENDPOINT",
      least: 17,
      fair: 18,
      width: 36,
      rank: 2,
      cell: ({ id, url }, width) => ({
        text: state.known.endpoints.has(id) ? endpointName(state, id, width) : shortUrl(url),
      }),
    },
    { head: "CAUSE", least: 27, width: 32, rank: 1, cell: (row, width) => ({ text: causeOf(state, row, width) }) },
    {
      head: "FAILED",
      width: 7,
      rank: 4,
      align: "right",
      cell: (row) => ({ text: countOrNone(health(row)?.failed) }),
    },
    { head: "OK 24H", width: 6, rank: 5, align: "right", cell: (row) => ({ text: shareText(stats(row)?.attempts) }) },
    {
      head: "QUEUE",
      width: 7,
      rank: 6,
      align: "right",
      cell: (row) => ({ text: countOrNone(waiting(health(row))) }),
    },
    {
      head: "P95",
      width: 7,
      rank: 7,
      align: "right",
      cell: (row) => ({ text: msText(stats(row)?.duration_ms.p95) }),
    },
    {
      head: "LAST 24 H",
      width: 24,
      rank: 8,
      cell: (row, width) => ({ text: hours(look, stats(row)?.series ?? [], width), style: "red" }),
    },
    {
      head: "DESCRIPTION",
      least: 12,
      width: 24,
      rest: true,
      rank: 3,
      cell: (row) => descriptionCell(state, row),
    },
  ];
  return tableRows(state, { list, kind: "endpoints", columns, ...room, empty: NO_ENDPOINT });
}

/** Begins with a mark if the endpoint chose a type that is on its way out. Its page names the types. */
function descriptionCell({ known }: State, { events, description }: Endpoint): Pick<Cell, "text" | "style"> {
  const isLeaving = known.types?.some(({ name, deprecated }) => deprecated && events.includes(name)) === true;
  if (!isLeaving) return { text: description };
  return { text: ["deprecated type", description].filter((part) => part !== "").join("; "), style: "yellow" };
}

/** Returns why nothing arrives at the endpoint, if something fails there. */
export function causeOf(
  { known, now }: State,
  { id, enabled, disabled_reason: reason }: Endpoint,
  width = Number.POSITIVE_INFINITY,
): string {
  const health = known.health.get(id)?.value.health;
  const [latest] = (known.causes.get(id)?.value ?? []).toSorted(
    (one, other) => Date.parse(other.last_at) - Date.parse(one.last_at),
  );
  if (!enabled) return reason === null ? "disabled by hand" : `disabled: ${reason}`;
  // An older daemon does not report held keys.
  const held = (health as Partial<typeof health>)?.held_keys;
  if (held && health!.consecutive_failures === 0) {
    return `${counted(held.count, "key", "keys")} held ${age(now - Date.parse(held.since))}`;
  }
  if (latest === undefined || health === undefined) return "";
  const text = causeText(latest.error, latest.status_code);
  const ago = (at: string) => age(now - Date.parse(at));
  // A failure that is over must not look as if it continued.
  const [short, whole] =
    health.consecutive_failures > 0
      ? [text, `${text} ${ago(latest.first_at)}`]
      : [`was ${text}`, `was ${text}, ${ago(latest.last_at)} ago`];
  return whole.length <= width ? whole : short;
}

const STATES: Readonly<Record<Standing, string>> = {
  damaged: "damaged",
  disabled: "disabled",
  failing: "failing",
  retrying: "ok",
  untried: "untried",
  new: "untried",
  working: "ok",
};

export function stateOf({ known }: State, endpoint: Endpoint): string {
  const health = known.health.get(endpoint.id)?.value.health;
  if (health !== undefined) return STATES[standingOfEndpoint({ ...endpoint, health })];
  if (endpoint.damaged) return "damaged";
  return endpoint.enabled ? "…" : "disabled";
}

function waiting(health: { readonly pending: number; readonly held: number } | undefined): number | undefined {
  return health && health.pending + health.held;
}

function countOrNone(count: number | undefined): string {
  return count === undefined ? "" : shortCount(count);
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

/** Draws the failures of a day, with one column for each hour if there is space. */
export function hours(look: Look, series: readonly { readonly failed: number }[], columns = 24): string {
  return sparkline(
    look,
    spread(
      series.map(({ failed }) => failed),
      Math.min(24, columns),
    ),
  );
}
