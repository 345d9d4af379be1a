/** Words for the state of an endpoint. */
import type { EndpointWithHealth } from "../../client/operations.ts";
import { counted } from "../../domain/wording.ts";
import type { Tone } from "../parts/status.tsx";

export interface Standing {
  readonly tone: Tone;
  readonly word: string;
  /** Details beyond the word; empty if there are none. */
  readonly more: string;
}

export function standingOf({ damaged, enabled, disabled_reason: reason, health }: EndpointWithHealth): Standing {
  if (damaged !== null) return { tone: "bad", word: "Damaged", more: "Some of its settings must be entered again." };
  if (!enabled)
    return {
      tone: "off",
      word: "Disabled",
      more: [WHY[reason ?? "asked"], heldText(health.held)].filter(Boolean).join(" "),
    };
  if (health.consecutive_failures > 0) {
    const word = health.consecutive_failures < 3 ? "Retrying" : "Failing";
    const row = counted(health.consecutive_failures, "attempt has", "attempts in a row have");
    return { tone: word === "Failing" ? "bad" : "warn", word, more: `${row} failed.` };
  }
  if (health.last_success_at === null) return { tone: "wait", word: "New", more: "Nothing has been sent to it yet." };
  return { tone: "good", word: "Working", more: "" };
}

const WHY = {
  gone: "The receiver answered 410 (gone).",
  failing: "Nothing had arrived for a long time.",
  asked: "",
} as const;

function heldText(held: number): string {
  return held === 0 ? "" : `${counted(held, "event is", "events are")} held for it.`;
}

/** Returns the host and path, which are enough to distinguish endpoints. */
export function shortUrl(url: string): string {
  return url.replace(/^https:\/\//, "").replace(/\/$/, "");
}
