/** Compares the run with the promise: see "Nothing lost" in the design. */
import { createHash } from "node:crypto";
import type { ShownAttempt, ShownDelivery, ShownEvent } from "./api.ts";
import { judgeDuplicates, noDuplicates, type Duplicates } from "./duplicates.ts";
import type { Answered, Item } from "./entries.ts";
import { isSuccess, type Batch, type History, type Request } from "./history.ts";
import { judgeOrder } from "./order.ts";
import type { Shown } from "./shown.ts";
import { COUNTED, ENDPOINTS, LADDER } from "./site.ts";

export interface Findings {
  /** The events whose publish was acknowledged with 202, and the deliveries shown in the end. */
  acked: number;
  deliveries: number;
  requests: number;
  /** The pairs of neighbours in the lines of ordering keys. */
  inOrder: number;
  /** Acknowledged events, deliveries or replays that do not exist. */
  readonly lost: string[];
  readonly falseDelivered: string[];
  readonly duplicates: Duplicates;
  /** Attempts that careful mode counts as failed, because the process died repeatedly while they were being made. */
  blamed: number;
  /** All other violations. */
  readonly wrong: string[];
}

export function noFindings(): Findings {
  const duplicates = noDuplicates();
  return {
    acked: 0,
    deliveries: 0,
    requests: 0,
    inOrder: 0,
    lost: [],
    falseDelivered: [],
    duplicates,
    blamed: 0,
    wrong: [],
  };
}

/** If a due time has passed by more than this, memory has lost the delivery. */
const OVERDUE_MS = 5000;
/** Tolerates a difference between two clocks, one of which the system may slew. */
const EARLY_MS = 5;

export interface Site {
  /** The number of endpoints of each plan. */
  readonly copies: number;
  readonly judgeDuplicates: typeof judgeDuplicates;
  /**
   * True if a server took over that lacks some commits. An event that it lacks may have been sent, but was never
   * acknowledged.
   */
  readonly forgets?: boolean;
}

export function judge(history: History, shown: Shown, site: Site = { copies: 1, judgeDuplicates }): Findings {
  const found = noFindings();
  const byMarker = Map.groupBy(shown.events, ({ data }) => data.marker);
  for (const batch of history.batches) judgeBatch(batch, byMarker, site.copies, found);
  const published = new Set(history.batches.flatMap(({ items }) => items.map(({ marker }) => marker)));
  for (const { id, data } of shown.events) {
    if (!published.has(data.marker)) found.wrong.push(`${id} was never published`);
  }
  for (const id of history.remade) found.wrong.push(`${id} was made of a publish that had been answered before`);
  for (const status of history.refused) found.wrong.push(`a publish was answered ${status}`);
  const names = new Map(shown.events.flatMap((event) => event.deliveries.map(({ id }) => [id, event.id] as const)));
  for (const event of shown.events)
    for (const one of event.deliveries) judgeDelivery(event, one, history, { ...shown, ...site }, found);
  judgeBytes(history, found);
  const order = judgeOrder(history, shown);
  found.inOrder = order.pairs;
  found.wrong.push(...order.wrong);
  const deaths = history.endedAt.size - history.clean.size;
  // At two of three deaths the delivery was alone on the wire, so each death blames one delivery at most.
  if (found.blamed > deaths / 2) found.wrong.push(`${found.blamed} attempts are blamed for ${deaths} deaths`);
  for (const [delivery, requests] of history.requests) {
    found.requests += requests.length;
    if (site.forgets === true && !names.has(delivery)) continue;
    const attempts = shown.attempts.get(delivery) ?? [];
    if (names.get(delivery) !== requests[0]!.event) found.wrong.push(`${delivery} was sent and is not stored`);
    site.judgeDuplicates(requests, attempts, history, found.duplicates);
    judgeGaps(requests, attempts, found);
  }
  return found;
}

/**
 * An acknowledged batch is stored once, as the response said. One without acknowledgement is stored as a whole or not
 * at all.
 */
function judgeBatch(
  { type, items, acked, answered }: Batch,
  byMarker: Map<string, ShownEvent[]>,
  copies: number,
  found: Findings,
): void {
  const stored = items.flatMap(({ marker }) => byMarker.get(marker) ?? []);
  if (acked) found.acked += items.length;
  if (!acked && stored.length !== 0 && stored.length !== items.length) {
    found.wrong.push(`${stored.length} of the ${items.length} events of one batch are stored`);
  }
  items.forEach(({ marker }, index) => {
    const events = byMarker.get(marker) ?? [];
    const name = answered?.[index]?.id ?? marker;
    if (acked && events.length === 0) found.lost.push(`${name} was acked and is gone`);
    if (events.length > 1) found.wrong.push(`${name} is stored ${events.length} times`);
    const [event] = events;
    if (event === undefined) return;
    if (event.id !== (answered?.[index]?.id ?? event.id)) found.wrong.push(`${name} is stored as ${event.id}`);
    const wanted = copies * ENDPOINTS.filter(({ events: chosen }) => chosen.some((one) => one === type)).length;
    if (event.deliveries.length !== wanted)
      found.lost.push(`${name} has ${event.deliveries.length} of ${wanted} deliveries`);
  });
}

function judgeDelivery(
  event: ShownEvent,
  one: ShownDelivery,
  history: History,
  shown: Shown & Pick<Site, "forgets">,
  found: Findings,
): void {
  found.deliveries++;
  const requests = history.requests.get(one.id) ?? [];
  const attempts = shown.attempts.get(one.id) ?? [];
  const round = Math.max(1, ...attempts.map((attempt) => attempt.round));
  if (one.status === "delivered") {
    if (!requests.some(({ answer }) => isSuccess(answer))) {
      found.falseDelivered.push(`${one.id} is delivered, and no receiver answered 2xx`);
    }
  } else if (one.status === "failed") {
    const counted = attempts.filter((attempt) => attempt.round === round && attempt.outcome === "failed").length;
    // A replay that was never acknowledged may be lost although its attempts are recorded.
    const isForgotten = shown.forgets === true && history.replays.get(event.id) !== "acked";
    if (counted !== COUNTED && !isForgotten) found.wrong.push(`${one.id} failed after ${counted} counted attempts`);
    if (history.replays.get(event.id) === "acked" && round === 1) found.lost.push(`${one.id} lost its replay`);
  } else if (one.status !== "pending" || one.next_attempt_at === null) {
    found.wrong.push(`${one.id} is ${one.status}`);
  } else if (Date.parse(one.next_attempt_at) < shown.now - OVERDUE_MS) {
    found.lost.push(`${one.id} has been due since ${one.next_attempt_at} and nothing happens`);
  }
  const before = history.settled.get(one.id)?.status ?? one.status;
  if (before !== one.status && !(before === "failed" && history.replays.has(event.id))) {
    found.lost.push(`${one.id} was shown as ${before} and is ${one.status}`);
  }
  judgeRecords(one, attempts, requests, found);
}

/** A response that is recorded must have been sent. */
function judgeRecords(
  { id }: ShownDelivery,
  attempts: readonly ShownAttempt[],
  requests: readonly Request[],
  found: Findings,
): void {
  for (const { number, status_code: status, outcome, error } of attempts) {
    if (outcome === "failed" && error === "interrupted") found.blamed++;
    if (status === null || requests.some(({ attempt, answer }) => attempt === number && answer === status)) continue;
    const text = `${id} attempt ${number} is recorded as answered ${status}, which no receiver did`;
    (status < 300 ? found.falseDelivered : found.wrong).push(text);
  }
}

/** Every signature verifies. Each id has one body, which is the specified envelope around the published data. */
function judgeBytes({ batches, requests }: History, found: Findings): void {
  const bodies = new Map<string, string>();
  for (const { type, items, answered } of batches) {
    answered?.forEach((answer, index) => bodies.set(answer.id, hashOf(type, answer, items[index]!)));
  }
  for (const request of [...requests.values()].flat()) {
    if (!request.verified) found.wrong.push(`${request.delivery} attempt ${request.attempt} has a wrong signature`);
    const body = bodies.get(request.event) ?? request.body;
    if (body !== request.body) found.wrong.push(`${request.delivery} attempt ${request.attempt} has other bytes`);
    bodies.set(request.event, body);
  }
}

function hashOf(type: string, { id, created_at: createdAt }: Answered, { data }: Item): string {
  const envelope = `{"id":"${id}","type":"${type}","created_at":"${createdAt}","data":${data}}`;
  return createHash("sha256").update(envelope).digest("hex");
}

/** A retry comes one rung after the previous response, whatever was killed in between. */
function judgeGaps(requests: readonly Request[], attempts: readonly ShownAttempt[], found: Findings): void {
  requests.slice(1).forEach((request, index) => {
    const before = requests[index]!;
    const rung = LADDER[(before.attempt - 1) % COUNTED];
    const recorded = attempts.find(({ number }) => number === before.attempt);
    // The end of an attempt is known only if the response ended it.
    if (typeof before.answer !== "number" || recorded?.status_code !== before.answer) return;
    if (request.attempt !== before.attempt + 1 || rung === undefined) return;
    const earlyMs = rung - (request.at - before.answerableAt);
    if (earlyMs > EARLY_MS) {
      found.wrong.push(`${request.delivery} attempt ${request.attempt} came ${Math.round(earlyMs)} ms early`);
    }
  });
}
