import type { Glyphs } from "../../output/glyphs.ts";
import type { EventShown, Judgement } from "../signature/judgement.ts";
import { reasonsOf } from "../signature/reasons.ts";

/** One request and its result, for one line of output. */
export interface Reception {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly event: EventShown;
  readonly judgement: Judgement;
  readonly bytes: number;
  /** Null if the connection was closed without a response. */
  readonly status: number | null;
  readonly durationMs: number;
  /** True if an earlier request with the same id got a 2xx. */
  readonly seenBefore: boolean;
  /** The reason that the program behind `--forward-to` did not respond. */
  readonly fault: string | null;
}

const VERDICTS = {
  ok: "signature ok",
  wrong: "WRONG SIGNATURE",
  missing: "NO SIGNATURE",
  unchecked: "not checked",
} as const;

/** Returns the line for people. It may contain outside text. */
export function requestLine(reception: Reception, glyphs: Glyphs): string {
  const { at, event, judgement, bytes, status, durationMs, seenBefore, fault } = reception;
  const glyph = { ok: glyphs.ok, unchecked: glyphs.waits, wrong: glyphs.failed, missing: glyphs.failed };
  const { verdict } = judgement;
  const attempt = event.attempt !== null && event.attempt > 1 ? ` attempt ${event.attempt}` : "";
  const what = `${event.id} ${event.type} ${bytes} B${event.test ? " (test)" : ""}${attempt}`;
  const answered = `${status ?? "hung up"} in ${Math.round(durationMs)} ms`;
  const notes = [
    ...whyWrong(judgement),
    ...(seenBefore ? ["seen before: same id, so ignore it"] : []),
    ...(fault === null ? [] : [`not forwarded: ${fault}`]),
  ];
  const time = new Date(at).toISOString().slice(11, 19);
  const line = `${time}Z ${glyph[verdict]} ${VERDICTS[verdict]}  ${what} -> ${answered}`;
  return notes.length === 0 ? line : `${line}   ${notes.join("; ")}`;
}

/** Returns the same for programs, as JSON. */
export function requestJson({ at, event, judgement, bytes, status, durationMs, seenBefore, fault }: Reception) {
  return {
    kind: "request",
    at: new Date(at).toISOString(),
    signature: judgement.verdict,
    ...event,
    bytes,
    status,
    duration_ms: Math.round(durationMs),
    seen_before: seenBefore,
    reasons: whyWrong(judgement),
    ...(fault !== null && { fault }),
  };
}

function whyWrong({ verdict, wrong }: Judgement): string[] {
  if (verdict === "missing") return ["there is neither X-Service-Signature nor webhook-signature"];
  if (wrong === undefined) return [];
  const { given, computed, miss } = wrong;
  const both = `header ${short(given)}${computed === null ? "" : `, computed ${short(computed)}`}`;
  return [both, ...(miss === null ? ["a different body or a different secret"] : reasonsOf(miss))];
}

/** Enough characters to tell two signatures apart. */
function short(signature: string): string {
  const text = signature.slice(0, 8);
  return text.length < signature.length ? `${text}...` : text;
}
