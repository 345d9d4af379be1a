/** Shows instants in the reader's own time zone. */
import { useSyncExternalStore } from "react";
import { localeNow, t } from "../language/text.ts";
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

const FORMS = {
  whole: { dateStyle: "long", timeStyle: "long" },
  clock: { hour: "2-digit", minute: "2-digit", second: "2-digit" },
  day: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  short: { hour: "2-digit", minute: "2-digit" },
  weekday: { weekday: "short", hour: "2-digit", minute: "2-digit" },
} as const satisfies Readonly<Record<string, Intl.DateTimeFormatOptions>>;

/** Made when first used, because by then the language has been chosen. */
const made = new Map<keyof typeof FORMS, Intl.DateTimeFormat>();

function format(form: keyof typeof FORMS, time: number): string {
  const known = made.get(form) ?? new Intl.DateTimeFormat(localeNow(), FORMS[form]);
  made.set(form, known);
  return known.format(time);
}

const MINUTE = 60_000;
const DAY_MS = 24 * 60 * MINUTE;

/** Shows "12 s ago", "3 h ago" and, for older instants, the date. */
export function Ago({ at }: { at: string }) {
  const time = Date.parse(at);
  const since = useNow() - time;
  return (
    <time dateTime={at} title={format("whole", time)}>
      {since < 1000
        ? t("time.justNow")
        : since < DAY_MS
          ? t("time.ago", { span: shortSpan(rounded(since)) })
          : format("day", time)}
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
    <time dateTime={at} title={format("whole", time)}>
      {format(isToday ? "clock" : "day", time)}
    </time>
  );
}

/** Shows a countdown such as "in 25 s". */
export function Until({ at }: { at: string }) {
  const left = Date.parse(at) - useNow();
  return (
    <time dateTime={at} title={format("whole", Date.parse(at))}>
      {left <= 0 ? t("time.now") : t("time.in", { span: shortSpan(left) })}
    </time>
  );
}

/** Returns the date of an instant. It is a date in UTC. */
export function dateText(instant: string): string {
  return instant.slice(0, 10);
}

/** Returns the hour and the minute. */
export function clockText(time: number): string {
  return format("short", time);
}

/** Returns the day of the week, the hour and the minute. */
export function dayText(time: number): string {
  return format("weekday", time);
}
