/**
 * Draws the whole screen as lines: exactly `size.rows` of them, each `size.columns` wide. It is pure, and nothing else
 * ever draws.
 */
import { glyph, paint } from "./draw/look.ts";
import { fit } from "./draw/text.ts";
import { isTooSmall, layoutOf, LEAST } from "./layout.ts";
import type { State } from "./model/state.ts";
import { activityRows } from "./screens/activity.ts";
import { helpRows, lostRows, overlay } from "./screens/boxes.ts";
import { headerRow, statusRow, tabsRow } from "./screens/chrome.ts";
import { countsRow } from "./screens/counts.ts";
import { dialogRows } from "./screens/dialogs.ts";
import { endpointPage } from "./screens/endpoint.ts";
import { endpointRows } from "./screens/endpoints.ts";
import { eventPage } from "./screens/event.ts";
import { keysRow } from "./screens/footer.ts";
import { failureRows } from "./screens/failures.ts";
import { deliveryRows, eventRows } from "./screens/lists.ts";
import { overviewRows } from "./screens/overview/overview.ts";
import { filled } from "./screens/table.ts";
import { paneEvent } from "./state/lists/event-pane.ts";
import { here } from "./state/lists/places.ts";

export function frameOf(state: State): string[] {
  const { size, settings, link } = state;
  if (isTooSmall(size)) {
    return message(state, [
      `webhookd needs ${LEAST.columns}x${LEAST.rows},`,
      `this is ${size.columns}x${size.rows}.`,
      "q quits",
    ]);
  }
  if (link.kind === "differs") {
    return message(state, [
      `The daemon is webhookd ${link.daemon}, but this is ${settings.version}: they are not compatible.`,
      "Any key quits.",
    ]);
  }
  const { body } = layoutOf(state);
  const top = state.modes.at(-1);
  const shown = top?.kind === "help" ? helpRows(state, top.top, size.columns, body) : bodyRows(state);
  const box = top?.kind === "dialog" ? dialogRows(state, top.dialog) : top === undefined ? lostRows(state) : null;
  const covered = box === null ? shown : overlay(shown, box);
  return [headerRow(state), countsRow(state), tabsRow(state), ...covered, statusRow(state), keysRow(state)];
}

function message({ size: { columns, rows }, settings: { look } }: State, lines: readonly string[]): string[] {
  const before = Array<string>(Math.max(0, Math.floor((rows - lines.length) / 2))).fill(" ".repeat(columns));
  return filled([...before, ...lines.map((line) => fit(` ${line}`, columns, look))], columns, rows);
}

function bodyRows(state: State): string[] {
  const { body, main, pane } = layoutOf(state);
  const left = mainRows(state, { width: main, height: body });
  if (pane === 0) return left;
  const id = paneEvent(state);
  const right = id === null ? [] : eventPage(state, id, { width: pane, height: body, top: state.paneTop });
  const { look } = state.settings;
  const line = paint(look, state.focus === "pane" ? "bold" : "grey", glyph(look, "bar"));
  return filled(right, pane, body).map((text, index) => left[index]! + line + text);
}

function mainRows(state: State, room: { width: number; height: number }): string[] {
  const place = here(state);
  switch (place.kind) {
    case "overview":
      return overviewRows(state, place.list, room);
    case "events":
      return eventRows(state, place.list, room);
    case "deliveries":
      return deliveryRows(state, place.list, room);
    case "endpoints":
      return endpointRows(state, place.list, room);
    case "failures":
      return failureRows(state, place.list, room);
    case "activity":
      return activityRows(state, place.list, room);
    case "event":
      return eventPage(state, place.id, { ...room, top: place.top });
    case "endpoint":
      return endpointPage(state, place, room);
  }
}
