/**
 * Draws boxes over the screen. Their rows have the full width, because the screen would show through cells that are not
 * written.
 */
import { glyph, type Look } from "../draw/look.ts";
import { spanRow, type Span } from "../draw/row.ts";
import { prose, shown, widthOf } from "../draw/text.ts";
import { type Binding, LISTS } from "../keys/binding.ts";
import { bindingsHere, whyOff } from "../keys/table.ts";
import type { Size, State } from "../model/state.ts";
import { isBoxed } from "../state/connection.ts";
import { filled } from "./table.ts";

/** Puts a box in the middle of the lines. */
export function overlay(lines: readonly string[], box: readonly string[]): string[] {
  const top = Math.max(0, Math.floor((lines.length - box.length) / 2));
  return lines.map((line, index) => box[index - top] ?? line);
}

/** Returns the width inside a box, in columns. */
export function innerOf({ columns }: Size): number {
  return Math.min(76, columns - 4);
}

export function boxRows(look: Look, size: Size, title: string, content: readonly (readonly Span[])[]): string[] {
  const { columns } = size;
  const inner = innerOf(size);
  const margin = " ".repeat(Math.floor((columns - inner - 4) / 2));
  const rest = " ".repeat(columns - inner - 4 - margin.length);
  const [side, rule] = [glyph(look, "bar"), glyph(look, "rule")];
  const row = (text: string) => `${margin}${text}${rest}`;
  const dashes: Span[] = [{ text: rule.repeat(Math.max(0, inner - 1 - widthOf(shown(title, look)))) }];
  const head: Span[] = [{ text: rule }, { text: ` ${title} `, style: "bold" }, ...dashes];
  const line = spanRow(look, head, inner + 2);
  return [
    row(glyph(look, "cornerTopLeft") + line + glyph(look, "cornerTopRight")),
    ...content.map((spans) => row(`${side} ${spanRow(look, spans, inner)} ${side}`)),
    row(`${glyph(look, "cornerBottomLeft")}${rule.repeat(inner + 2)}${glyph(look, "cornerBottomRight")}`),
  ];
}

/** Explains what is wrong with the connection, what that means, and what to type. */
export function lostRows(state: State): string[] | null {
  const { link, settings, size } = state;
  if (!isBoxed(link) || (link.kind !== "lost" && link.kind !== "refused")) return null;
  const lines = (...texts: readonly string[]) =>
    texts.flatMap((text) => prose(text, innerOf(size), settings.look)).map((text) => [{ text }]);
  const keys = (...pairs: readonly (readonly [string, string])[]): Span[] =>
    pairs.flatMap(([key, what]): Span[] => [{ text: key, style: "bold" }, { text: `  ${what}      ` }]);
  if (link.kind === "refused") {
    const said = [link.why, link.hint].filter((text) => text !== "");
    return boxRows(settings.look, size, "No access", [
      ...lines(...said, "", "With another key: webhookd tui --key-file FILE"),
      [],
      keys(["r", "try again"], ["q", "quit"]),
    ]);
  }
  const meaning =
    "It may be stopped or restarting. While it is down, nothing is delivered and nothing is lost; retries " +
    "continue when it is back.";
  return boxRows(settings.look, size, "Not connected", [
    ...lines(
      link.why,
      meaning,
      "",
      "On its host: systemctl status webhookd",
      "             journalctl -u webhookd -n 50",
    ),
    [],
    keys(["r", "try now"], ["Esc", "view the old rows"], ["q", "quit"]),
  ]);
}

/** The columns before the description of a key. */
const HELP_INDENT = 13;

/**
 * Lists every key of this screen, from the key table. Keys that act here come first, because people open the help to
 * find them.
 */
export function helpRows(state: State, top: number, width: number, height: number): string[] {
  const { look } = state.settings;
  const line = (...spans: Span[]) => spanRow(look, spans, width);
  // A key that works on every list belongs to the dashboard, not to this screen.
  const isOwn = ({ acts, on }: Binding) => acts === true || (on !== undefined && on.length < LISTS.length);
  const own = bindingsHere(state)
    .filter(isOwn)
    .toSorted((one, other) => Number(other.acts === true) - Number(one.acts === true));
  const others = bindingsHere(state).filter((one) => !own.includes(one));
  const rowsOf = (binding: Binding) => {
    const why = whyOff(state, binding);
    const [first = "", ...more] = prose(binding.help ?? binding.label, width - HELP_INDENT - 1, look);
    const style = why === null ? undefined : "grey";
    return [
      line(
        { text: `  ${binding.show.padEnd(HELP_INDENT - 3)}`, style: why === null ? "bold" : "grey" },
        { text: ` ${first}`, style },
        { text: why === null ? "" : `  (off: ${why})`, style: "yellow" },
      ),
      ...more.map((text) => line({ text: " ".repeat(HELP_INDENT) + text, style })),
    ];
  };
  const words = [
    "  A word finds an endpoint by its host, description, tenant or uid, or an event",
    "  by its publisher's id or its tag. Filters: status: type: endpoint: event: tag:",
    "  publisher_id: error: status_code: since: until: tenant: test:, and the data of",
    "  events: data.customer_id:cus_123 (since:1h makes it faster).",
  ];
  const lines = [
    line({ text: " Keys on this screen", style: "bold" }),
    ...own.flatMap(rowsOf),
    line({ text: " Keys everywhere", style: "bold" }),
    ...others.flatMap(rowsOf),
    line(),
    ...words.map((text) => line({ text })),
  ];
  const start = Math.min(top, Math.max(0, lines.length - height));
  return filled(lines.slice(start, start + height), width, height);
}
