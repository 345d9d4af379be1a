/** The format of server-sent events (WHATWG HTML §9.2). Data is JSON in one line, so that nothing in it can end a message. */
import type { Change, ChangeCount } from "../../domain/events/change.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { Owned } from "../../feed/feed.ts";

export function messageText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A message of its own, without data: the client keeps the id, and its program hears nothing of it. */
export function idText(life: string, number: number): string {
  return `id: ${life}-${number}\n\n`;
}

/** The number in an id that this process gave; -1, which nothing came after, for any other. */
export function parseLastId(life: string, id: string): number {
  const number = /^([0-9a-z]+)-(\d{1,15})$/.exec(id);
  return number?.[1] === life ? Number(number[2]) : -1;
}

/** Made once, however many clients there are. */
const texts = new WeakMap<Owned<Change>, string>();

export function changeText(owned: Owned<Change>): string {
  let text = texts.get(owned);
  if (text === undefined) texts.set(owned, (text = messageText(owned.what.kind, presentChange(owned))));
  return text;
}

export function countsText(counts: readonly Owned<ChangeCount>[]): string {
  return messageText("counts", { data: counts.map(({ tenant, what }) => ({ tenant, ...what })) });
}

function presentChange({ tenant, what }: Owned<Change>) {
  const { at, endpoint, event, delivery, status, attempt } = what;
  const about = { at: formatInstant(at), tenant, endpoint };
  if (what.kind === "endpoint") return about;
  if (attempt === null) return { ...about, event, delivery, status };
  return {
    ...about,
    event,
    delivery,
    status,
    number: attempt.number,
    outcome: attempt.outcome,
    error: attempt.error,
    status_code: attempt.statusCode,
    duration_ms: attempt.durationMs,
    next_attempt_at: formatInstantOrNull(attempt.nextAttemptAt),
  };
}
