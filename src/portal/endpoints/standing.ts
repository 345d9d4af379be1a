/** Words for the state of an endpoint. */
import type { EndpointWithHealth } from "../../client/operations.ts";
import { standingOfEndpoint } from "../../client/standing.ts";
import type { Standing } from "../../domain/endpoints/standing.ts";
import { counted } from "../../domain/wording.ts";
import type { Tone } from "../parts/status.tsx";

/** In the order in which they are offered to choose from. */
export const STANDING_WORD: Readonly<Record<Standing, string>> = {
  failing: "Failing",
  retrying: "Retrying",
  working: "Working",
  new: "New",
  untried: "Untried",
  disabled: "Disabled",
  damaged: "Damaged",
};

export interface StandingWords {
  readonly tone: Tone;
  readonly word: string;
  /** Details beyond the word; empty if there are none. */
  readonly more: string;
}

export function standingWords(endpoint: EndpointWithHealth): StandingWords {
  const { disabled_reason: reason, health } = endpoint;
  const row = counted(health.consecutive_failures, "attempt has", "attempts in a row have");
  const standing = standingOfEndpoint(endpoint);
  const word = STANDING_WORD[standing];
  switch (standing) {
    case "damaged":
      return { tone: "bad", word, more: "Some of its settings must be entered again." };
    case "disabled":
      return {
        tone: "off",
        word,
        more: [WHY[reason ?? "asked"], heldText(health.held)].filter(Boolean).join(" "),
      };
    case "failing":
      return { tone: "bad", word, more: `${row} failed.` };
    case "retrying":
      return { tone: "warn", word, more: `${row} failed.` };
    case "new":
      return { tone: "wait", word, more: "No event has been sent to it yet. Test events do not count." };
    case "untried":
      return {
        tone: "wait",
        word,
        more: "Its latest attempt failed, and none has been made since it was enabled again.",
      };
    case "working":
      return { tone: "good", word, more: "" };
  }
}

const WHY = {
  gone: "The receiver answered 410 (gone).",
  failing: "Nothing had arrived for a long time.",
  asked: "",
} as const;

function heldText(held: number): string {
  return held === 0 ? "" : `${counted(held, "event is", "events are")} held for it.`;
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
