/** Describes a delivery in words: its attempts so far, and what comes next. */
import { adviceOnFailure } from "../../src/client/advice.ts";
import type { Client } from "../../src/client/client.ts";
import type { Attempt, EventDelivery } from "../../src/client/operations.ts";
import { answerLines, resultOf, waitsForTurn, whenOf } from "../attempts/text.ts";
import { ago, count, endpointsOf, hostOf } from "../output/words.ts";

type Shown = Pick<EventDelivery, "id" | "endpoint" | "status" | "attempts" | "next_attempt_at"> &
  Partial<Pick<EventDelivery, "waits_behind">>;

/**
 * `attempts` holds those that are kept, oldest first. `atOnce` is the number of attempts that the endpoint gets at a
 * time, or null if unknown.
 */
export function deliveryLines(
  delivery: Shown,
  event: string,
  { attempts, atOnce = null }: { readonly attempts: readonly Attempt[]; readonly atOnce?: number | null },
  now: number,
): string[] {
  const url = attempts.at(-1)?.url;
  const where = url === undefined ? "" : `  ${hostOf(url)}`;
  return [
    `${delivery.status} after ${count(delivery.attempts, "attempt", "attempts")}${where}`,
    `  ${delivery.id}  to ${delivery.endpoint}`,
    ...attempts.map(attemptLine),
    ...answerOfLast(attempts),
    ...(isOpen(delivery) ? todo(delivery, attempts, now) : []).map((line) => `  ${line}`),
    ...tocome(delivery, event, atOnce, now).map((line) => `  ${line}`),
  ];
}

/** Shows the receiver's last response: its status, its headers and the beginning of its body. */
function answerOfLast(attempts: readonly Attempt[]): string[] {
  const last = attempts.at(-1);
  if (last === undefined || last.status_code === null) return [];
  const { status_code: status, response_headers: headers } = last;
  const [first, ...rest] = answerLines(last);
  const names = Object.entries(headers).slice(0, MOST_HEADERS);
  const all = rest.length === 0 && names.length === Object.keys(headers).length && !last.response_truncated;
  return [
    `  the last answer: ${status}${first === undefined ? ", without a body" : ""}`,
    ...names.map(([name, value]) => `    ${name}: ${value}`),
    ...(first === undefined ? [] : [`    ${first}`]),
    ...(all ? [] : [`    in full: webhookd attempts show ${last.id}`]),
  ];
}

/** `attempts show` lists the others. */
const MOST_HEADERS = 6;

/**
 * Returns how many attempts at a time each endpoint gets, for endpoints with a delivery that is waiting for its turn.
 */
export async function atOnceOf(
  client: Client,
  deliveries: readonly Shown[],
  now: number,
): Promise<Map<string, number>> {
  const waiting = deliveries.filter(
    ({ status, next_attempt_at: next }) => status === "pending" && next !== null && waitsForTurn(next, now),
  );
  const found = await endpointsOf(
    client,
    waiting.map(({ endpoint: id }) => ({ id })),
  );
  // An older daemon does not report `at_once`.
  return new Map([...found].flatMap(([id, { health }]) => (health.at_once ? [[id, health.at_once]] : [])));
}

/**
 * Sorts by what needs attention: failed, then pending after a failed attempt, then not attempted yet, then finished.
 */
export function worstFirst<T extends Pick<Shown, "status" | "attempts">>(deliveries: readonly T[]): T[] {
  return deliveries.toSorted((one, other) => rankOf(one) - rankOf(other));
}

const RANKS = ["failed", "pending", "held", "cancelled", "shadowed", "delivered"];

function rankOf({ status, attempts }: Pick<Shown, "status" | "attempts">): number {
  return RANKS.indexOf(status) + (status === "pending" && attempts === 0 ? 0.5 : 0);
}

function isOpen({ status }: Shown): boolean {
  return status === "pending" || status === "failed";
}

const FAILED = { pending: 0, held: 0 };

/** Gives advice on the last failure. Empty if the last attempt did not fail. */
function todo({ status }: Shown, attempts: readonly Attempt[], now: number): string[] {
  const last = attempts.at(-1);
  if (last === undefined || last.outcome !== "failed") return [];
  const other = attempts.findLastIndex(
    ({ error, status_code }) => error !== last.error || status_code !== last.status_code,
  );
  const lastsMs = now - Date.parse(attempts[other + 1]!.started_at);
  const advice = adviceOnFailure(
    { ...last, sample_attempt: last.id, ...(status === "failed" && FAILED) },
    last,
    lastsMs,
  );
  return [
    `${advice.meaning} ${advice.outlook}`,
    `Receiver: ${advice.receiver}`,
    ...advice.commands.map(({ purpose, line }) => `${purpose}: ${line}`),
  ];
}

function attemptLine(attempt: Attempt): string {
  const { number, started_at, outcome, trigger, detail } = attempt;
  const why = outcome === "succeeded" ? "" : `  ${detail}`;
  return `  ${String(number).padStart(2)}  ${started_at}  ${outcome.padEnd(9)}  ${resultOf(attempt)}  ${trigger}${why}`;
}

/** Says what it waits for: "waits behind evt_… (attempt 4, next in 58 min)". */
export function behindText(behind: NonNullable<EventDelivery["waits_behind"]>, now: number): string {
  const { event, attempts, next_attempt_at: next, holds_key: holds } = behind;
  if (holds) return `waits behind ${event}, which failed and holds their ordering key`;
  const when = next === null || waitsForTurn(next, now) ? "is due" : `next ${whenOf(next, now)}`;
  return `waits behind ${event} (attempt ${attempts + 1}, ${when})`;
}

function behindAdvice({ event, holds_key: holds }: NonNullable<EventDelivery["waits_behind"]>): string {
  return holds
    ? `to go on: webhookd replay ${event}, or webhookd events cancel ${event}`
    : `to go on without it: webhookd events cancel ${event}`;
}

function tocome(
  { id, endpoint, status, next_attempt_at: next, waits_behind: behind = null }: Shown,
  event: string,
  atOnce: number | null,
  now: number,
): string[] {
  switch (status) {
    case "pending": {
      if (behind !== null) return [`${behindText(behind, now)}; ${behindAdvice(behind)}`];
      if (next !== null && waitsForTurn(next, now)) {
        const turns = atOnce === null ? "" : `, ${atOnce} at a time to this endpoint`;
        return [`due ${ago(next, now)}, waiting for its turn${turns}; to see who is slow: webhookd status`];
      }
      const when = next === null ? "soon" : `${whenOf(next, now)}, at ${next}`;
      return [`next attempt ${when}; to try now: webhookd deliveries attempt ${id}`];
    }
    case "held":
      return [`held while its endpoint is disabled; to send it: webhookd endpoints enable ${endpoint}`];
    case "failed":
      return [`no attempts left; to start over: webhookd replay ${event} --endpoint ${endpoint}`];
    case "cancelled":
      return ["cancelled: nothing more will be sent"];
    case "shadowed":
      return ["shadowed: its endpoint was disabled and in shadow, so nothing was sent, and nothing will be"];
    case "delivered":
      return [];
  }
}
