/**
 * Tells in one sentence why an event arrived at an endpoint, or did not. `reasonOf` asks the rules of `routing.ts`
 * about the choice that the endpoint had then. If the rows that would tell are gone, it says so.
 */
import { causeText, type AttemptError } from "../deliveries/attempt.ts";
import type { Blocker } from "../deliveries/ordering.ts";
import type { ShownStatus } from "../deliveries/delivery.ts";
import type { ChoiceThen, KeptChoice } from "../endpoints/choice.ts";
import type { DisabledReason } from "../endpoints/endpoint.ts";
import { excerptOf } from "../json/excerpt.ts";
import { formatInstant } from "../time/instant.ts";
import { counted, listed } from "../wording.ts";
import { explain, type Decision } from "./filter/evaluate.ts";
import { isFilter, parseFilter, type Filter } from "./filter/filter.ts";
import { subjectOf } from "./filter/subject.ts";
import { chooses } from "./pattern.ts";
import { recipientsOf } from "./routing.ts";

export interface WhyFacts {
  readonly event: {
    readonly type: string;
    readonly tenant: string;
    readonly receivedAt: number;
    readonly test: boolean;
    /** Null once it was erased, and if damage to the store lost it. */
    readonly data: Uint8Array | null;
    readonly tags: readonly string[];
    readonly erasedAt: number | null;
  };
  readonly endpoint: { readonly tenant: string; readonly deletedAt: number | null };
  readonly decidedBy: ChoiceThen;
  /** Null if there is none. */
  readonly delivery: WhyDelivery | null;
}

export interface WhyDelivery {
  readonly id: string;
  readonly status: ShownStatus;
  readonly attempts: number;
  /** When its next attempt is due; null unless it is pending. */
  readonly nextAttemptAt: number | null;
  /** The attempt that delivered it, or else the last one; null if there is none. */
  readonly attempt: {
    readonly endedAt: number;
    readonly error: AttemptError | null;
    readonly statusCode: number | null;
  } | null;
  /** The number of deliveries that wait before it at its endpoint. Null if it does not wait on the disk. */
  readonly ahead: number | null;
  /** The delivery that goes before it. Null unless it waits behind another one of its ordering key. */
  readonly behind: Blocker | null;
}

/** The facts about sending now, for a delivery that waits. */
export interface WhyNow {
  readonly now: number;
  /** The reason why nothing is sent now; null if all is well. */
  readonly halted: string | null;
}

/** Counting further would take longer than it is worth. */
export const AHEAD_LIMIT = 1000;

type LastTry = Pick<NonNullable<WhyDelivery["attempt"]>, "error" | "statusCode">;

export type Reason =
  | {
      readonly code: "delivered";
      readonly at: number | null;
      readonly attempts: number;
      readonly statusCode: number | null;
    }
  | { readonly code: "failed"; readonly at: number | null; readonly attempts: number; readonly last: LastTry | null }
  | { readonly code: "cancelled"; readonly attempts: number; readonly deletedAt: number | null }
  | { readonly code: "shadowed" }
  | { readonly code: "erased"; readonly at: number; readonly attempts: number }
  | { readonly code: "held"; readonly attempts: number }
  | { readonly code: "retrying"; readonly at: number; readonly attempts: number; readonly last: LastTry | null }
  | {
      readonly code: "waiting";
      readonly at: number | null;
      readonly ahead: number | null;
      readonly halted: string | null;
    }
  | ({ readonly code: "behind" } & Blocker)
  | { readonly code: "tenant_differs"; readonly event: string; readonly endpoint: string }
  | { readonly code: "test_of_another" }
  | { readonly code: "not_registered"; readonly at: number }
  | { readonly code: "deleted"; readonly at: number }
  | { readonly code: "not_subscribed"; readonly type: string; readonly choice: KeptChoice }
  | { readonly code: "skipped"; readonly choice: KeptChoice }
  | {
      readonly code: "filtered";
      /** Null if the data that the filter looked at is gone. */
      readonly decided: readonly Decision[] | null;
      readonly erasedAt: number | null;
      readonly choice: KeptChoice;
    }
  | { readonly code: "unknown"; readonly because: Gone };

/** The row that is gone, so that the reason cannot be known any more. */
export type Gone = "event" | "choice" | "delivery";

export const REASON_CODES = [
  "delivered",
  "failed",
  "cancelled",
  "shadowed",
  "erased",
  "held",
  "retrying",
  "waiting",
  "behind",
  "tenant_differs",
  "test_of_another",
  "not_registered",
  "deleted",
  "not_subscribed",
  "skipped",
  "filtered",
  "unknown",
] as const satisfies readonly Reason["code"][];

export function reasonOf(facts: WhyFacts, now: WhyNow): Reason {
  const { event, endpoint, decidedBy, delivery } = facts;
  if (delivery !== null) return ofDelivery(delivery, facts, now);
  if (event.tenant !== endpoint.tenant)
    return { code: "tenant_differs", event: event.tenant, endpoint: endpoint.tenant };
  if (event.test) return { code: "test_of_another" };
  if (decidedBy.known === "unregistered") return { code: "not_registered", at: decidedBy.registeredAt };
  if (decidedBy.known === "removed") return { code: "unknown", because: "choice" };
  const next = decidedBy.next !== null && decidedBy.next.at - event.receivedAt < OVERLAP_MS ? [decidedBy.next] : [];
  for (const choice of [decidedBy.choice, ...next]) {
    const reason = choice.change === "deleted" ? ({ code: "deleted", at: choice.at } as const) : leftOut(choice, event);
    if (reason !== null) return reason;
  }
  // It was to be delivered, so there was a delivery.
  return { code: "unknown", because: "delivery" };
}

/** A publish reads its endpoints in far less, so it cannot have seen a part of a change that came later than this. */
const OVERLAP_MS = 60_000;

/** Returns why an event made no delivery for an endpoint with that choice; null if it made one. */
function leftOut(choice: KeptChoice, event: WhyFacts["event"]): Reason | null {
  if (!chooses(choice.events, event.type)) return { code: "not_subscribed", type: event.type, choice };
  if (recipientsOf([choice]).length === 0) return { code: "skipped", choice };
  const filter = compiled(choice);
  if (filter === null) return null;
  const { type, data, tags, erasedAt } = event;
  const isWhole = data !== null || [...filter.parts].every((part) => part === "type");
  // Nothing else can have left it out.
  if (!isWhole) return { code: "filtered", decided: null, erasedAt, choice };
  const { matches, decided } = explain(filter, subjectOf(type, data ?? NO_DATA, tags));
  return matches ? null : { code: "filtered", decided, erasedAt, choice };
}

const NO_DATA = new TextEncoder().encode("{}");

function compiled({ filter }: KeptChoice): Filter | null {
  const read = filter === null ? null : parseFilter(filter);
  return read !== null && isFilter(read) ? read : null;
}

function ofDelivery(delivery: WhyDelivery, { event, endpoint }: WhyFacts, { now, halted }: WhyNow): Reason {
  const { status, attempts, attempt, nextAttemptAt, ahead, behind } = delivery;
  const last = attempt === null ? null : { error: attempt.error, statusCode: attempt.statusCode };
  const at = attempt?.endedAt ?? null;
  switch (status) {
    case "delivered":
      return { code: "delivered", at, attempts, statusCode: attempt?.statusCode ?? null };
    case "failed":
      return { code: "failed", at, attempts, last };
    case "cancelled":
      return event.erasedAt === null
        ? { code: "cancelled", attempts, deletedAt: endpoint.deletedAt }
        : { code: "erased", at: event.erasedAt, attempts };
    case "shadowed":
      return { code: "shadowed" };
    case "held":
      return { code: "held", attempts };
    case "pending": {
      if (behind !== null) return { code: "behind", ...behind };
      const isLater = nextAttemptAt !== null && nextAttemptAt > now;
      return isLater
        ? { code: "retrying", at: nextAttemptAt, attempts, last }
        : { code: "waiting", at: nextAttemptAt, ahead, halted };
    }
  }
}

/** The most conditions that a sentence names. */
const NAMED = 2;
const MAX_FOUND = 60;

/** One sentence for people. */
export function sentenceOf(reason: Reason): string {
  switch (reason.code) {
    case "delivered": {
      const at = reason.at === null ? "" : ` at ${formatInstant(reason.at)}`;
      const status = reason.statusCode === null ? "" : `, and the receiver answered ${reason.statusCode}`;
      return `It was delivered${at}${afterTries(reason.attempts)}${status}.`;
    }
    case "failed": {
      const at = reason.at === null ? "" : ` at ${formatInstant(reason.at)}`;
      return `It failed${at}${afterTries(reason.attempts)}${lastText(reason.last)}; it can be replayed.`;
    }
    case "cancelled": {
      const deleted =
        reason.deletedAt === null ? "" : `; the endpoint was deleted at ${formatInstant(reason.deletedAt)}`;
      return `Its delivery was cancelled${afterTries(reason.attempts)}, so it is not sent any more${deleted}.`;
    }
    case "shadowed":
      return "It was shadowed: the endpoint was disabled when the event was published, and shadows what it misses, so nothing was sent.";
    case "erased":
      return `The event was erased at ${formatInstant(reason.at)}, and its delivery is cancelled${afterTries(reason.attempts)}.`;
    case "held":
      return `It is held${afterTries(reason.attempts)}, because the endpoint is disabled; it is sent when the endpoint is enabled.`;
    case "retrying":
      return reason.attempts === 0
        ? `It waits for its first attempt, which is due at ${formatInstant(reason.at)}.`
        : `It waits for its next attempt at ${formatInstant(reason.at)}${afterTries(reason.attempts)}${lastText(reason.last)}.`;
    case "waiting":
      return `${waitingText(reason.ahead)}${reason.halted === null ? "" : `; nothing is being sent now: ${reason.halted}`}.`;
    case "behind":
      return behindText(reason);
    case "tenant_differs":
      return `The event belongs to the tenant ${reason.event}, and the endpoint to ${reason.endpoint}.`;
    case "test_of_another":
      return "It is a test event, which goes to one endpoint only, and that is another one.";
    case "not_registered":
      return `The endpoint did not exist when the event was published; it was registered at ${formatInstant(reason.at)}.`;
    case "deleted":
      return `The endpoint was deleted at ${formatInstant(reason.at)}, before the event was published.`;
    case "not_subscribed":
      return `When the event was published, the endpoint had not chosen ${reason.type}; it had chosen ${chosenText(reason.choice.events)}.`;
    case "skipped":
      return `The endpoint was disabled when the event was published${becauseText(reason.choice.disabledReason)}, and it skips what it misses.`;
    case "filtered":
      return `The endpoint's filter did not take it: ${filteredText(reason)}.`;
    case "unknown":
      return `It cannot be known any more: ${GONE[reason.because]}.`;
  }
}

const GONE: Readonly<Record<Gone, string>> = {
  event: "if there was such an event, it has been removed, as old events are",
  choice: "what the endpoint had chosen when the event was published is not kept any more",
  delivery: "the endpoint was to get the event, but the delivery is not kept any more",
};

function afterTries(attempts: number): string {
  return attempts === 0 ? "" : ` after ${counted(attempts, "attempt", "attempts")}`;
}

function lastText(last: LastTry | null): string {
  return last === null ? "" : `; the last one: ${causeText(last.error, last.statusCode)}`;
}

function waitingText(ahead: number | null): string {
  if (ahead === null || ahead === 0) return "It is due, and is sent as soon as it is the endpoint's turn";
  const count =
    ahead >= AHEAD_LIMIT
      ? `at least ${counted(ahead, "delivery", "deliveries")}`
      : counted(ahead, "delivery", "deliveries");
  return `It is due, and waits behind ${count} to the same endpoint`;
}

function behindText({ event, attempts, nextAttemptAt, holdsKey }: Blocker): string {
  if (holdsKey) {
    return `It waits behind ${event}, which failed${afterTries(attempts)} and holds their ordering key, until somebody replays or cancels that one.`;
  }
  const when =
    nextAttemptAt === null ? "" : `; attempt ${attempts + 1} of that one is due at ${formatInstant(nextAttemptAt)}`;
  return `It waits behind ${event}, which has the same ordering key and goes first${when}.`;
}

function becauseText(reason: DisabledReason | null): string {
  if (reason === null) return "";
  return reason === "gone" ? " (its receiver had answered 410)" : " (it had failed for too long)";
}

/** The most names of types in a sentence. */
const TYPES = 5;

function chosenText(events: readonly string[]): string {
  if (events.length === 0) return "nothing that can still be read";
  const rest = events.length - TYPES;
  return rest > 0 ? `${events.slice(0, TYPES).join(", ")} and ${rest} more` : listed(events, "and");
}

function filteredText({ decided, erasedAt }: Extract<Reason, { code: "filtered" }>): string {
  if (decided === null) {
    const when = erasedAt === null ? "was lost" : `was erased at ${formatInstant(erasedAt)}`;
    return `the event's data ${when}, so it cannot be known any more which condition decided`;
  }
  if (decided.length === 0) return "it cannot be shown here which condition decided";
  const some = decided.slice(0, NAMED).map(decisionText);
  const rest = decided.length - some.length;
  return `${some.join(", and ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

/** "/data/amount/$gt fails, because /data/amount is 250". */
function decisionText({ pointer, path, found, holds }: Decision): string {
  const value = found === undefined ? "has no value" : `is ${excerptOf(found, MAX_FOUND)}`;
  return `${pointer === "" ? "it" : pointer} ${holds ? "holds" : "fails"}, because ${path === "" ? "the event" : path} ${value}`;
}
