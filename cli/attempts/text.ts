import type { Attempt, EventDelivery } from "../../src/client/operations.ts";
import { printable } from "../../src/domain/printable.ts";
import { ago, hostOf, span } from "../output/words.ts";

/** Returns the status code, such as `503`, or why no response came. */
export function answerOf({ status_code, error, outcome }: Attempt): string {
  return String(status_code ?? error ?? outcome);
}

/** `503 in 143 ms` */
export function resultOf(attempt: Attempt): string {
  return `${answerOf(attempt)} in ${attempt.duration_ms} ms`;
}

/** Returns the beginning of the response body, made safe for a terminal and without blank lines. */
export function answerLines({ response_body: body }: Attempt): string[] {
  const beginning = Buffer.from(body).subarray(0, BEGINNING_BYTES).toString();
  return printable(beginning, { keepNewlines: true })
    .split("\n")
    .filter((line) => line !== "");
}

const BEGINNING_BYTES = 200;

/** `billing.example.com/webhook  503 in 143 ms; next attempt in 30s` */
export function lastResultOf(
  { status, last_attempt: last, next_attempt_at: next }: EventDelivery,
  now: number,
): string {
  if (last === null) return status;
  const what = `${hostOf(last.url)}  ${resultOf(last)}`;
  if (last.outcome === "succeeded") return what;
  return next === null ? `${what}; no attempts left` : `${what}; next attempt ${whenOf(next, now)}`;
}

/** A delivery that has been due for longer than this waits behind others. */
const WAITS_S = 5;

/** True if the attempt is due but is waiting for its turn, because an endpoint gets only so many at a time. */
export function waitsForTurn(instant: string, now: number): boolean {
  return (now - Date.parse(instant)) / 1000 >= WAITS_S;
}

/** Returns `in 29m 12s`, or `now` for an attempt that has just fallen due. */
export function whenOf(instant: string, now: number): string {
  if (waitsForTurn(instant, now)) return `when its turn comes, due ${ago(instant, now)}`;
  const seconds = Math.round((Date.parse(instant) - now) / 1000);
  return seconds <= 0 ? "now" : `in ${span(seconds)}`;
}
