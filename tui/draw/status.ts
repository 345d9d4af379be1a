import { shortError } from "../../src/domain/deliveries/attempt.ts";
import type { Glyph, Look, Style } from "./look.ts";
import { glyph } from "./look.ts";

/** Says what becomes of the events of a disabled endpoint. */
export const FATES = { hold: "held", skip: "skipped", shadow: "shadowed" } as const;

const LOOKS: Readonly<Record<string, { readonly glyph: Glyph; readonly style?: Style }>> = {
  delivered: { glyph: "delivered", style: "green" },
  succeeded: { glyph: "delivered", style: "green" },
  failed: { glyph: "failed", style: "red" },
  retrying: { glyph: "retrying", style: "yellow" },
  pending: { glyph: "pending", style: "blue" },
  held: { glyph: "held", style: "grey" },
  cancelled: { glyph: "cancelled", style: "grey" },
  shadowed: { glyph: "shadowed", style: "grey" },
  unmatched: { glyph: "unmatched", style: "grey" },
  interrupted: { glyph: "interrupted", style: "yellow" },
  damaged: { glyph: "failed", style: "red" },
  failing: { glyph: "failed", style: "red" },
  ok: { glyph: "delivered", style: "green" },
  untried: { glyph: "pending", style: "grey" },
  disabled: { glyph: "held", style: "grey" },
  running: { glyph: "retrying", style: "cyan" },
  paused: { glyph: "held", style: "yellow" },
  done: { glyph: "delivered", style: "green" },
};

export function statusCell(look: Look, status: string): { readonly text: string; readonly style: Style | undefined } {
  const { glyph: name, style } = LOOKS[status] ?? { glyph: "pending" as const, style: undefined };
  return { text: `${glyph(look, name)} ${status}`, style };
}

/** A pending delivery that was already attempted is shown as retrying. */
export function shownStatus(status: string, attempts: number): string {
  return status === "pending" && attempts > 0 ? "retrying" : status;
}

/** Returns the result of an attempt in a few columns. */
export function resultText(
  attempt: { readonly status_code: number | null; readonly error: string | null } | null,
): string {
  if (attempt === null) return "";
  return String(attempt.status_code ?? shortError(attempt.error ?? ""));
}

/** Returns the host and path, which are enough to tell endpoints apart. */
export function shortUrl(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.host + (parsed.pathname === "/" ? "" : parsed.pathname);
}
