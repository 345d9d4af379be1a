/** Draws the first screen: is it all right, how fast is it, what fails, and what is due next. */
import type { FailureGroup } from "../../../src/client/operations.ts";
import { chart, ageAxis, spread } from "../../draw/chart.ts";
import { glyph, paint, type Style } from "../../draw/look.ts";
import { age, countText, shortCount, tookText } from "../../draw/numbers.ts";
import { spanRow, tableRow, widthOfSpans, type Cell, type Span } from "../../draw/row.ts";
import { firstLines, fit, prose } from "../../draw/text.ts";
import { overviewLayout } from "../../layout.ts";
import type { List } from "../../model/list.ts";
import type { State } from "../../model/state.ts";
import { worstEndpoints } from "../../state/lists/worst-endpoints.ts";
import { conditionOf } from "./condition.ts";
import { hours, shareText } from "../endpoints.ts";
import { failureTable } from "../failures.ts";
import { NO_ENDPOINT } from "../first-run.ts";
import { endpointName } from "../lists.ts";
import { filled } from "../table.ts";

interface Area {
  readonly width: number;
  readonly height: number;
}

/** Columns for the names before charts and figures. */
const NAME = 12;
/** Columns for the figures on the right of a chart. */
const FIGURES = 17;
const DAY_HOURS = 24;
/** A shorter row of bars says nothing. */
const LEAST_BARS = 15;

export function overviewRows(state: State, list: List<FailureGroup>, { width, height }: Area): string[] {
  const layout = overviewLayout(height);
  const rows = [
    ...conditionRows(state, list, width, layout.facts),
    ...(layout.hour ? [...blank(width), hourRow(state, width)] : []),
    ...dayRows(state, width, layout),
    ...(layout.next ? [nextRow(state, width), ...blank(width)] : []),
    ...failureTable(state, list, { width, height: layout.list, empty: emptyText(state) }),
    ...worstRows(state, list, width, layout.worst),
  ];
  return filled(rows, width, height);
}

function blank(width: number): string[] {
  return [" ".repeat(width)];
}

function emptyText({ known }: State): readonly string[] {
  if (known.roll !== null && known.endpoints.size === 0) return NO_ENDPOINT;
  return ["Nothing is failing. Failures are shown here by endpoint and cause."];
}

/** Draws the title as a band, so that it can be read from across the room. */
function conditionRows(state: State, list: List<FailureGroup>, width: number, facts: number): string[] {
  const { look } = state.settings;
  const condition = conditionOf(state, list.next === undefined ? null : list.rows);
  const title = fit(` ${glyph(look, condition.glyph)} ${condition.title}`, width, look);
  const said = prose(condition.facts.join(" "), width - 4, look);
  const lines = firstLines(said, facts, width - 4, look).map((text) => spanRow(look, [{ text: `   ${text}` }], width));
  return [paint(look, condition.style, title), ...filled(lines, width, facts)];
}

/** Shows the rates of the last hour. */
function hourRow({ known, settings: { look } }: State, width: number): string {
  const hour = known.hour?.value;
  const name: Span = { text: " last hour".padEnd(NAME), style: "grey" };
  if (hour === undefined) return spanRow(look, [name, { text: glyph(look, "ellipsis") }], width);
  const { published, attempts, duration_ms: took, first_attempt_delay_ms: delay } = hour;
  const p95 = (ms: number | null) => (ms === null ? "-" : tookText(ms));
  if (attempts.total === 0 && (published?.total ?? 0) === 0) {
    return spanRow(look, [name, { text: "no events and no attempts" }], width);
  }
  const perMinute = Math.round((published?.per_second ?? 0) * 60);
  const parts: Span[][] = [
    [{ text: countText(published?.total ?? 0), style: "bold" }, { text: ` events, ${countText(perMinute)}/min   ` }],
    [
      { text: countText(attempts.total), style: "bold" },
      { text: " attempts, " },
      { text: `${shareText(attempts)} ok   `, style: attempts.failed > 0 ? "yellow" : "green" },
    ],
    [{ text: `p95 ${p95(took.p95)}   ` }],
    [{ text: `first attempt within ${p95(delay.p95)}` }],
  ];
  // Leave out what does not fit instead of cutting it.
  let used = NAME;
  const shown = parts.filter((spans) => (used += widthOfSpans(look, spans)) <= width);
  return spanRow(look, [name, ...shown.flat()], width);
}

/**
 * Charts the deliveries and failures of 24 hours. The daemon stores these figures, so they are there as soon as the
 * dashboard opens.
 */
function dayRows(
  { known, settings: { look } }: State,
  width: number,
  { ok, failed }: { ok: number; failed: number },
): string[] {
  if (ok === 0) return [];
  const series = known.day?.value.series ?? [];
  const room = width - NAME - (width >= 100 ? FIGURES : 1);
  const rowsOf = (name: string, steps: readonly number[], rows: number, style: Style) => {
    const most = Math.max(0, ...steps);
    const total = steps.reduce((sum, step) => sum + step, 0);
    const figures = width >= 100 ? [countText(total), `most ${countText(most)}/15m`] : [];
    return chart(look, spread(steps, room), rows).map((text, row) => {
      const figure = rows === 1 ? figures[0] : figures[row];
      return spanRow(
        look,
        [
          { text: (row === 0 ? ` ${name}` : "").padEnd(NAME), style: "grey" },
          { text: text, style },
        ],
        width,
        figure === undefined ? [] : [{ text: `${figure} `, style: row === 0 ? style : "grey" }],
      );
    });
  };
  const axis: Span[] = [{ text: " ".repeat(NAME) }, { text: ageAxis(look, room, DAY_HOURS), style: "grey" }];
  return [
    ...filled(
      rowsOf(
        "delivered",
        series.map(({ succeeded }) => succeeded),
        ok,
        "green",
      ),
      width,
      ok,
    ),
    ...filled(
      rowsOf(
        "failed",
        series.map(({ failed: count }) => count),
        failed,
        "red",
      ),
      width,
      failed,
    ),
    spanRow(look, axis, width),
  ];
}

/** Charts the retries of the next hour, minute by minute. */
function nextRow({ known, settings: { look } }: State, width: number): string {
  const name: Span = { text: " next hour".padEnd(NAME), style: "grey" };
  // Older daemons do not report `due_by_minute`, and some keys may not read it.
  const due = (known.status?.value as { due_by_minute?: readonly number[] | null } | undefined)?.due_by_minute ?? null;
  if (due === null) return spanRow(look, [name, { text: glyph(look, "ellipsis") }], width);
  const total = due.reduce((sum, count) => sum + count, 0);
  if (total === 0) return spanRow(look, [name, { text: "no retries are due" }], width);
  const most = Math.max(...due);
  const peak = due.indexOf(most);
  const first = due.findIndex((count) => count > 0);
  const when = (minute: number) => (minute === 0 ? "now" : `in ${minute}m`);
  const words = [
    `${countText(total)} ${total === 1 ? "retry" : "retries"}`,
    `first ${when(first)}`,
    ...(peak === first ? [] : [`most ${when(peak)} (${countText(most)})`]),
  ].join(", ");
  const room = width - NAME - words.length - 3;
  const bars = chart(look, spread(due, room >= LEAST_BARS ? Math.min(due.length, room) : 0), 1)[0]!;
  return spanRow(look, [name, { text: bars, style: "cyan" }, { text: bars === "" ? words : `  ${words}` }], width);
}

/** Lists the endpoints with the most missing deliveries, and when each of them last worked. */
function worstRows(state: State, list: List<FailureGroup>, width: number, height: number): string[] {
  const { look } = state.settings;
  const worst = worstEndpoints(list.rows, height - 2);
  if (height === 0 || worst.length === 0) return [];
  const { known, now } = state;
  const spark = width >= 100;
  const cells = (texts: readonly [string, string, string, string, string, string], isHead: boolean): Cell[] => {
    const [failed, waiting, endpoint, ok, last, series] = texts;
    return [
      { text: failed, width: 7, align: "right", style: isHead ? undefined : "red" },
      { text: waiting, width: 8, align: "right", style: isHead ? undefined : "yellow" },
      { text: endpoint, width: Math.floor(width * 0.36) },
      { text: ok, width: 6, align: "right" },
      { text: last, width: 7, align: "right" },
      { text: spark ? series : "", style: isHead ? undefined : "red" },
    ];
  };
  const head = cells(["FAILED", "WAITING", "WORST ENDPOINTS", "OK 24H", "LAST OK", " FAILED BY HOUR"], true);
  const rows = worst.map(({ endpoint, failed, waiting }) => {
    const stats = known.endpointStats.get(endpoint)?.value;
    const at = known.health.get(endpoint)?.value.health.last_success_at;
    const last = at === undefined ? "" : at === null ? "never" : age(now - Date.parse(at));
    const series = ` ${hours(look, stats?.series ?? [])}`;
    const texts = [
      shortCount(failed),
      shortCount(waiting),
      endpointName(state, endpoint, Math.floor(width * 0.36)),
      shareText(stats?.attempts),
      last,
      series,
    ];
    return tableRow(look, cells(texts as never, false), width, { dim: state.link.kind !== "live" });
  });
  return [...blank(width), paint(look, "bold", tableRow(look, head, width)), ...rows];
}
