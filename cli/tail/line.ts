/** Writes a change as a line of text, using only characters that any terminal can show. */
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import type { CountedChanges } from "../../src/client/stream.ts";
import type { Glyphs } from "../output/glyphs.ts";
import { count, span } from "../output/words.ts";
import type { Change } from "./change.ts";

export function lineOf(change: Change, glyphs: Glyphs): string {
  return `${change.data.at.slice(11, 19)}Z ${wordsOf(change, glyphs)}`;
}

function wordsOf(change: Change, glyphs: Glyphs): string {
  if (change.kind === "endpoint") return `${glyphs.waits} ${change.data.endpoint} was changed or deleted`;
  const { event, delivery, endpoint, status } = change.data;
  const what = `${event ?? delivery} ${endpoint}`;
  if (change.kind === "delivery") return `${glyphs.waits} ${what} ${status === "pending" ? "waits" : status}`;
  const { number, outcome, error, status_code: code, duration_ms: took, next_attempt_at: next, at } = change.data;
  const sign = outcome === "succeeded" ? glyphs.ok : next === null ? glyphs.failed : glyphs.again;
  const answer = outcome === "succeeded" ? String(code) : causeText(error, code);
  const then = next === null ? (status ?? "") : `next in ${span((Date.parse(next) - Date.parse(at)) / 1000)}`;
  return `${sign} ${what} try ${number}: ${answer} in ${took} ms${then === "" ? "" : `, ${then}`}`;
}

export function countLine({ kind, endpoint, status, outcome, error, count: number }: CountedChanges): string {
  const what = count(number, kind === "attempt" ? "attempt" : "change", kind === "attempt" ? "attempts" : "changes");
  const how = [outcome, error, status].filter((word) => word !== null).join(", ");
  return `${what} more at ${endpoint}: ${how === "" ? kind : how}; too many at once to show each`;
}
