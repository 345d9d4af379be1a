/** Draws what surrounds every screen: the header, the tabs, the message line, and the keys. */
import type { Status } from "../../src/client/operations.ts";
import { glyph, type Look } from "../draw/look.ts";
import { age, countText, shortId } from "../draw/numbers.ts";
import { spanRow, widthOfSpans, type Span } from "../draw/row.ts";
import { whoseText } from "./lists.ts";
import { searchedText } from "./table.ts";
import { shown, tailOf, widthOf } from "../draw/text.ts";
import type { Line } from "../model/dialog.ts";
import { TABS, type List, type Tab } from "../model/list.ts";
import type { Place, State } from "../model/state.ts";
import { jobAction, openJob } from "../state/jobs.ts";
import { selectedRow } from "../state/lists/paged-list.ts";
import { here, rowsKind } from "../state/lists/places.ts";
import { sortOf } from "../state/lists/sorts.ts";
import { KEY } from "../keys/names.ts";

/** The header keeps this many columns free beside the reason why nothing is sent. */
const HEADER_LEAST = 30;
/** The lag above which the header shows it. */
const LAG_MS = 2000;

export function headerRow(state: State): string {
  const { settings, link, known, size } = state;
  const pause = ` SENDING PAUSED${settings.readOnly ? "" : `, ${KEY.pauseSending} resumes`} `;
  const right: Span[] = [
    ...troubleSpans(state),
    ...(known.status?.value.paused ? [{ text: pause, style: "alarm" as const }, { text: " " }] : []),
    ...(settings.readOnly ? [{ text: "read-only ", style: "yellow" as const }] : []),
    ...(settings.label === "" ? [] : [{ text: ` ${settings.label} `, style: "alarm" as const }]),
  ];
  const lag = link.kind === "live" && known.lagMs > LAG_MS ? `  LAG ${(known.lagMs / 1000).toFixed(1)} s` : "";
  return spanRow(
    settings.look,
    [
      { text: " webhookd ", style: "bold" },
      linkSpan(state),
      { text: lag, style: "yellow" },
      { text: `  ${settings.target}` },
    ],
    size.columns,
    right,
  );
}

/**
 * Shows the trouble that the daemon reports. The reason is cut so that the name and address of the daemon still fit.
 */
function troubleSpans({ known, size, settings: { look } }: State): Span[] {
  // Older daemons do not report `not_sending`.
  const halts = (known.status?.value as Partial<Status> | undefined)?.not_sending ?? [];
  const trouble = halts.find(({ reason }) => reason !== "operator" && reason !== "stopping");
  if (trouble === undefined) return [];
  const what = trouble.reason === "shortage" ? "CANNOT SEND ALL" : "CANNOT SEND";
  const room = Math.max(0, size.columns - HEADER_LEAST - what.length);
  const why =
    trouble.detail.length > room ? `${trouble.detail.slice(0, room)}${glyph(look, "ellipsis")}` : trouble.detail;
  return [{ text: ` ${what}: ${why} `, style: "alarm" }, { text: " " }];
}

function linkSpan({ link, now, known, settings: { look } }: State): Span {
  switch (link.kind) {
    case "live":
      return { text: `${glyph(look, "live")} live`, style: "green" };
    case "connecting":
      return { text: `${glyph(look, "lost")} connecting` };
    case "lost": {
      const left = Math.ceil((link.retryAt - now) / 1000);
      const when = Number.isFinite(left) && left > 0 ? `in ${left} s` : "now";
      const old = age(now - known.lastNews);
      return {
        text: `${glyph(look, "lost")} RECONNECTING ${when} (try ${link.tries})  last data ${old} ago`,
        style: "red",
      };
    }
    case "refused":
      return { text: `${glyph(look, "lost")} NO ACCESS`, style: "red" };
    case "differs":
      return { text: `${glyph(look, "lost")} VERSION DIFFERS`, style: "red" };
  }
}

export function tabsRow(state: State): string {
  const place = here(state);
  const filter = place.kind === "event" || place.list.filter === "" ? "" : `  ${place.list.filter}`;
  const left: Span[] = [...TABS.map((tab, index) => tabSpan(state, tab, index)), { text: filter, style: "cyan" }];
  return spanRow(state.settings.look, left, state.size.columns, [{ text: `${followText(place)} ` }]);
}

function tabSpan(state: State, tab: Tab, index: number): Span {
  const { look } = state.settings;
  const name = `${tab[0]!.toUpperCase()}${tab.slice(1)}`;
  if (tab !== state.tab) return { text: ` ${index} ${name} ` };
  const crumbs = state.tabs[tab].slice(1).map((one) => ` ${glyph(look, "crumb")} ${crumbOf(one)}`);
  return { text: ` ${index} ${name.toUpperCase()}${crumbs.join("")} `, style: "bold" };
}

/** Returns the tab that is drawn in this column. */
export function tabAt(state: State, column: number): Tab | null {
  let end = 0;
  const at = TABS.find((tab, index) => {
    end += widthOfSpans(state.settings.look, [tabSpan(state, tab, index)]);
    return column < end;
  });
  // The text about following is drawn over the tabs.
  const right = widthOfSpans(state.settings.look, [{ text: `${followText(here(state))} ` }]);
  return column < state.size.columns - right ? (at ?? null) : null;
}

function crumbOf(place: Place): string {
  return place.kind === "event" || place.kind === "endpoint" ? shortId(place.id) : place.kind;
}

function followText(place: Place): string {
  if (place.kind === "event") return "";
  const { list } = place;
  if (list.follow) return "FOLLOW";
  if (list.edge === "last") return "HOLD from the end";
  return list.newer > 0 ? `HOLD +${countText(list.newer)} newer` : "HOLD";
}

/** Shows the line being typed, a message, or the cursor's position. */
export function statusRow(state: State): string {
  const { settings, size, toast, modes } = state;
  const mode = modes.at(-1);
  if (mode?.kind === "line") return lineRow(state, mode.line);
  const style = toast === null ? undefined : ({ good: "green", bad: "red", plain: undefined } as const)[toast.tone];
  const text =
    toast?.text ??
    (state.link.kind === "live" ? positionText(state, here(state)) : "actions are off until the daemon answers");
  // The row of the tabs seldom has space for the whole filter.
  const place = here(state);
  const filter =
    toast === null && place.kind !== "event" && place.list.filter !== "" ? `   / ${place.list.filter}` : "";
  const whose = toast === null && state.link.kind === "live" ? whoseSelected(state, place) : "";
  return spanRow(
    settings.look,
    [
      { text: ` ${text}`, style },
      { text: filter, style: "cyan" },
      { text: whose === "" ? "" : `   ${whose}`, style: "grey" },
    ],
    size.columns,
    jobSpans(state, widthOf(shown(text + filter, settings.look)) + 2),
  );
}

/** Lists of endpoints seldom have space for the owner's name. */
function whoseSelected(state: State, place: Place): string {
  if (place.kind !== "endpoints" && place.kind !== "failures" && place.kind !== "overview") return "";
  const row = selectedRow<{ readonly id?: string; readonly endpoint?: string }>(place.list as never);
  return row === null ? "" : whoseText(state, row.endpoint ?? row.id ?? "");
}

/** Shows the progress of the open job on every screen, and where to stop it. A message takes precedence. */
function jobSpans(state: State, used: number): Span[] {
  const { known, settings, link, toast, size } = state;
  const job = link.kind === "live" ? openJob(known) : null;
  if (job === null) return [];
  const { look } = settings;
  const { action, status, done, skipped, matched, delivered, failed } = job;
  const isPaused = status === "paused";
  const gone = `${countText(done + skipped)}/${countText(matched)}`;
  const isAt5 = here(state).kind === "activity";
  const where: Span[] =
    isAt5 || settings.readOnly ? [] : [{ text: isPaused ? " 5 resumes" : " 5 stops it" }, { text: " " }];
  const spans: Span[] = [
    { text: `${jobAction(job)} ${isPaused ? "paused at " : ""}${gone} `, style: isPaused ? "yellow" : "cyan" },
    ...(action === "cancel"
      ? []
      : [
          { text: `${glyph(look, "delivered")} ${countText(delivered)} `, style: "green" as const },
          { text: `${glyph(look, "failed")} ${countText(failed)} `, style: failed > 0 ? ("red" as const) : undefined },
        ]),
  ];
  const fits = (some: readonly Span[]) => widthOfSpans(look, some) <= size.columns - used;
  if (fits([...spans, ...where])) return [...spans, ...where];
  return toast === null || fits(spans) ? spans : [];
}

function positionText(state: State, place: Place): string {
  const { look } = state.settings;
  if (place.kind === "event") return "";
  const { list } = place;
  if (list.rows.length === 0) return "";
  if (list.problem !== null) return `not refreshed: ${list.problem}`;
  const order = list.sort === null ? "" : `, ${sortOf(rowsKind(place), list).text}`;
  const far = list.searched === null ? "" : `, ${searchedText(state, list.searched)}`;
  const marks = `${list.marks.size > 0 ? `, ${list.marks.size} marked` : ""}${order}${far}`;
  const isWhole = list.next === null && list.pages.every(({ rows }) => rows !== null);
  const before = list.pages.findIndex(({ rows }) => rows !== null);
  const total = isWhole ? countText(list.rows.length) : totalText(list, look);
  // The number of a row is known only if all rows before it have been read.
  if (list.edge === "last") return `${countText(list.rows.length - list.index)} from the end${marks}`;
  return before > 0
    ? `page ${before + 1 + Math.floor(list.index / 100)}${marks}`
    : `${countText(list.index + 1)} of ${total}${marks}`;
}

/** Returns the total of a list that has not been read to its end. */
function totalText({ rows, pinned, total }: List<unknown>, look: Look): string {
  const count = (total?.count ?? 0) + pinned.length;
  // Rows may have been added since the daemon counted.
  if (total === null || count < rows.length) return `${countText(rows.length)}+`;
  return total.isExact ? countText(count) : `${glyph(look, "least")} ${countText(count)}`;
}

function lineRow({ settings: { look }, size }: State, { for: purpose, text, cursor }: Line): string {
  const prompt = purpose === "filter" ? " / " : " : ";
  const at = text.slice(cursor, cursor + 1) || " ";
  const spans: Span[] = [
    { text: prompt, style: "bold" },
    // Keep the cursor visible.
    { text: tailOf(text.slice(0, cursor), size.columns - prompt.length - 1, look) },
    { text: at, style: "reverse" },
    { text: text.slice(cursor + 1) },
  ];
  return spanRow(look, spans, size.columns);
}
