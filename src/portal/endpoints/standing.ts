/** Words for the state of an endpoint. */
import type { EndpointWithHealth } from "../../client/operations.ts";
import { standingOfEndpoint } from "../../client/standing.ts";
import type { Standing } from "../../domain/endpoints/standing.ts";
import type { Tone } from "../parts/status.tsx";
import { t } from "../language/text.ts";
import type { WordKey } from "../language/catalogue.ts";

/** In the order in which they are offered to choose from. */
export const STANDING_WORD = {
  failing: "standing.failing",
  retrying: "standing.retrying",
  working: "standing.working",
  new: "standing.new",
  untried: "standing.untried",
  disabled: "standing.disabled",
  damaged: "standing.damaged",
} as const satisfies Readonly<Record<Standing, WordKey>>;

export interface StandingWords {
  readonly tone: Tone;
  readonly word: string;
  /** Details beyond the word; empty if there are none. */
  readonly more: string;
}

export function standingWords(endpoint: EndpointWithHealth): StandingWords {
  const standing = standingOfEndpoint(endpoint);
  const word = t(STANDING_WORD[standing]);
  switch (standing) {
    case "damaged":
      return { tone: "bad", word, more: t("standing.damagedMore") };
    case "disabled":
      return { tone: "off", word, more: disabledText(endpoint) };
    case "failing":
      return { tone: "bad", word, more: rowText(endpoint) };
    case "retrying":
      return { tone: "warn", word, more: rowText(endpoint) };
    case "new":
      return { tone: "wait", word, more: t("standing.newMore") };
    case "untried":
      return {
        tone: "wait",
        word,
        more: t("standing.untriedMore"),
      };
    case "working":
      return { tone: "good", word, more: "" };
  }
}

function rowText({ health }: EndpointWithHealth): string {
  return t("standing.row", { count: health.consecutive_failures });
}

function disabledText({ disabled_reason: reason, health: { held } }: EndpointWithHealth): string {
  const why = reason === "gone" ? t("standing.gone") : reason === "failing" ? t("standing.disabledFailing") : "";
  const waiting = held === 0 ? "" : t("standing.held", { count: held });
  return [why, waiting].filter(Boolean).join(" ");
}

/** Returns the host and path, which are enough to distinguish endpoints, with letters instead of their escapes. */
export function shortUrl(url: string): string {
  return readable(url.replace(/^https:\/\//, "").replace(/\/$/, ""));
}

/** An escape stays where it is not text, or where its letter would be invisible or turn the text around. */
function readable(url: string): string {
  return url.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      const text = decodeURI(escaped);
      return /[\p{C}\p{Z}]/u.test(text) ? escaped : text;
    } catch {
      return escaped;
    }
  });
}
