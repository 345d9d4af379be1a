/** Draws the row below the header: the deliveries now, the last 24 hours, and the current rate. */
import { spread } from "../draw/chart.ts";
import { glyph, sparkline } from "../draw/look.ts";
import { countText } from "../draw/numbers.ts";
import { spanRow, widthOfSpans, type Span } from "../draw/row.ts";
import type { State } from "../model/state.ts";
import { PACE_MS } from "../state/tick.ts";
import { counted } from "../../src/domain/wording.ts";

const WIDE = 100;
const MOST_BARS = 48;
/** A shorter row of bars says nothing. */
const LEAST_BARS = 8;

export function countsRow(state: State): string {
  const { known, settings, size } = state;
  const { look } = settings;
  const parts = fitting(state);
  const room = Math.min(MOST_BARS, size.columns - widthOfSpans(look, parts.flat()) - 1);
  const steps = (known.day?.value.series ?? []).map(({ succeeded, failed }) => succeeded + failed);
  const line = sparkline(look, spread(steps, room < LEAST_BARS ? 0 : room));
  return spanRow(look, parts.flat(), size.columns, [{ text: line === "" ? "" : `${line} `, style: "cyan" }]);
}

/** Leaves out what does not fit, the least useful part first. */
function fitting(state: State): Span[][] {
  const { look } = state.settings;
  const { columns } = state.size;
  const fits = (parts: readonly Span[][]) => widthOfSpans(look, parts.flat()) <= columns;
  const [rate, events, p95, ended] = [rateSpans(state), eventSpans(state), p95Spans(state), endedSpans(state)];
  const title: Span[] = [{ text: " 24 h  " }];
  const now = nowSpans(state, { named: true });
  const choices = [
    [now, title, events, ended, p95, rate],
    [now, title, events, ended, rate],
    [now, title, ended, rate],
    [now, title, ended],
  ];
  return choices.find(fits) ?? [nowSpans(state, { named: false }), title, ended];
}

/** Empty if the key may not read the status. */
function nowSpans({ known, settings: { look } }: State, { named }: { named: boolean }): Span[] {
  const counts = known.status?.value.deliveries ?? null;
  if (counts === null) return [];
  const { failed, held, pending } = counts;
  const text = (name: "failed" | "held" | "pending", count: number) =>
    `${glyph(look, name)} ${countText(count)}${named ? ` ${name}` : ""}  `;
  return [
    { text: " now  " },
    { text: text("failed", failed), style: failed > 0 ? "red" : undefined },
    { text: text("held", held), style: held > 0 ? "yellow" : undefined },
    { text: text("pending", pending) },
  ];
}

function eventSpans({ known, settings: { look } }: State): Span[] {
  const total = known.day?.value.published?.total;
  const text = total === undefined ? `${glyph(look, "ellipsis")} events` : counted(total, "event", "events");
  return [{ text: `${text}  ` }];
}

function endedSpans({ known, settings: { look }, size }: State): Span[] {
  const day = known.day?.value;
  const text = (name: "delivered" | "failed") => {
    const count = day === undefined ? glyph(look, "ellipsis") : countText(day.deliveries[name] + known.since[name]);
    return `${glyph(look, name)} ${count}${size.columns >= WIDE ? ` ${name}` : ""}  `;
  };
  return [
    { text: text("delivered"), style: "green" },
    { text: text("failed"), style: "red" },
  ];
}

function p95Spans({ known, size }: State): Span[] {
  const day = known.day?.value;
  if (day === undefined || size.columns < WIDE) return [];
  return [{ text: `p95 ${Math.round(day.duration_ms.p95 ?? 0)} ms  ` }];
}

/** Returns the attempts per second, over no more time than the dashboard has run. */
function rateSpans({ known, link, now, openedAt }: State): Span[] {
  if (link.kind !== "live") return [{ text: "-/s (stale) " }];
  const seconds = Math.max(1000, Math.min(PACE_MS, now - openedAt)) / 1000;
  const rate = known.pace.reduce((total, { attempts }) => total + attempts, 0) / seconds;
  return [{ text: `${rate < 10 && rate > 0 ? rate.toFixed(1) : Math.round(rate)}/s ` }];
}
