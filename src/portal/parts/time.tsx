/** Shows instants in the reader's own time zone. */
import { useSyncExternalStore } from "react";
import { after, now } from "../server/clock.ts";
import { shortSpan } from "./span.ts";

/** All countdowns of the page share one timer. */
const listeners = new Set<() => void>();
let beat = Math.floor(now() / 1000);

function tick(): void {
  beat = Math.floor(now() / 1000);
  for (const listener of listeners) listener();
  if (listeners.size > 0) after(1000 - (now() % 1000), tick);
}

function follow(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) after(1000 - (now() % 1000), tick);
  return () => void listeners.delete(listener);
}

/** Returns epoch milliseconds, rounded to the second. */
export function useNow(): number {
  return useSyncExternalStore(follow, () => beat) * 1000;
}

const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "long" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const SHORT = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });
const MINUTE = 60_000;
const DAY_MS = 24 * 60 * MINUTE;

/** Shows "12 s ago", "3 h ago" and, for older instants, the date. */
export function Ago({ at }: { at: string }) {
  const time = Date.parse(at);
  const since = useNow() - time;
  return (
    <time dateTime={at} title={WHOLE.format(time)}>
      {since < 1000 ? "just now" : since < DAY_MS ? `${shortSpan(rounded(since))} ago` : DAY.format(time)}
    </time>
  );
}

/** Rounds down to seconds, minutes or hours, because nobody needs the seconds of an instant that is hours ago. */
function rounded(ms: number): number {
  const unit = ms < MINUTE ? 1000 : ms < 60 * MINUTE ? MINUTE : 60 * MINUTE;
  return Math.floor(ms / unit) * unit;
}

/** Shows the time of day, with the date if it is not today. */
export function At({ at }: { at: string }) {
  const time = Date.parse(at);
  const isToday = new Date(time).toDateString() === new Date(now()).toDateString();
  return (
    <time dateTime={at} title={WHOLE.format(time)}>
      {(isToday ? CLOCK : DAY).format(time)}
    </time>
  );
}

/** Shows a countdown such as "in 25 s". */
export function Until({ at }: { at: string }) {
  const left = Date.parse(at) - useNow();
  return (
    <time dateTime={at} title={WHOLE.format(Date.parse(at))}>
      {left <= 0 ? "now" : `in ${shortSpan(left)}`}
    </time>
  );
}

/** Returns the hour and the minute. */
export function clockText(time: number): string {
  return SHORT.format(time);
}

/** Returns the day of the week, the hour and the minute. */
export function dayText(time: number): string {
  return WEEKDAY.format(time);
}
