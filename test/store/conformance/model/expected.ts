/** A model of deliveries: it implements the contract a second time, in a map and without a disk. */
import { envelope, type EventDraft } from "../../../../src/domain/events/event.ts";
import type { Claim, DeliveryStatus } from "../../../../src/domain/deliveries/delivery.ts";
import type { Trigger } from "../../../../src/domain/deliveries/attempt.ts";
import { movedDue, staysUntil, type ClockChange } from "../../../../src/domain/deliveries/due-time.ts";
import type { EndedAttempt, PendingDelivery, Recorded, Waiting } from "../../../../src/store/store.ts";

export interface ExpectedEndpoint {
  readonly id: string;
  readonly events: readonly string[];
  enabled: boolean;
  deleted: boolean;
  /** The time of the last change. */
  changedAt: number;
}

export interface ExpectedEvent {
  readonly id: string;
  readonly type: string;
  readonly body: string;
  readonly test: boolean;
  erased: boolean;
}

export interface Expected {
  readonly event: ExpectedEvent;
  readonly endpoint: ExpectedEndpoint;
  status: DeliveryStatus;
  /** True if the delivery was handed over at its commit, and is not stored as waiting. */
  fresh: boolean;
  attempts: number;
  round: number;
  retry: number;
  trigger: Trigger;
  dueAt: number;
  /** True if an attempt was requested by hand. */
  owed: boolean;
}

export class ExpectedStore {
  readonly endpoints: ExpectedEndpoint[] = [];
  readonly events = new Map<string, ExpectedEvent>();
  readonly #deliveries = new Map<string, Expected>();

  get deliveries(): Expected[] {
    return [...this.#deliveries.values()];
  }

  of(event: string, endpoint: string): Expected | undefined {
    return this.#deliveries.get(`${event} ${endpoint}`);
  }

  /** Returns the endpoint's waiting deliveries, in the order in which the store reads them. */
  waiting(endpoint: string): Expected[] {
    return this.deliveries
      .filter((one) => one.endpoint.id === endpoint && isWaiting(one))
      .toSorted((a, b) => a.dueAt - b.dueAt || (a.event.id < b.event.id ? -1 : 1));
  }

  published(id: string, draft: EventDraft, now: number, full: ReadonlySet<string>): Expected[] {
    const { type, testFor } = draft;
    const body = envelope(id, type, draft.createdAt, draft.data).toString();
    const event: ExpectedEvent = { id, type, body, test: testFor !== undefined, erased: false };
    this.events.set(id, event);
    const chosen = this.endpoints.filter((one) => !one.deleted && (testFor ?? one.id) === one.id);
    return chosen
      .filter(({ events }) => event.test || events.includes(type))
      .map((endpoint) => {
        const fresh = event.test || (endpoint.enabled && !full.has(endpoint.id));
        const trigger = event.test ? "test" : "ladder";
        return this.#add({ event, endpoint, trigger, fresh, dueAt: now, owed: event.test && !endpoint.enabled });
      });
  }

  /** Adds a delivery that the endpoint missed, as a job does. */
  filled(event: string, endpoint: ExpectedEndpoint, now: number): void {
    this.#add({ event: this.events.get(event)!, endpoint, trigger: "replay", fresh: false, dueAt: now, owed: false });
  }

  ended({ claim, outcome, verdict }: EndedAttempt): Recorded {
    const one = this.of(claim.event, claim.endpoint);
    if (one === undefined) return { result: "superseded", waiting: null };
    const isSingle = claim.trigger === "manual" || claim.trigger === "test";
    if (verdict.status === "delivered" || (isSingle && outcome.outcome !== "interrupted")) one.owed = false;
    const isNext = claim.number === one.attempts + 1 && one.status === "pending";
    one.attempts = Math.max(one.attempts, claim.number);
    if (verdict.status === "unchanged") return { result: "applied", waiting: waitingOf(one) };
    if (isNext) {
      one.status = verdict.status;
      one.fresh = false;
      if (verdict.status !== "pending") return { result: "applied", waiting: null };
      one.retry = verdict.retry;
      one.trigger = outcome.outcome === "interrupted" ? claim.trigger : "ladder";
      one.dueAt = Math.ceil(verdict.dueAt);
      return { result: "applied", waiting: waitingOf(one) };
    }
    if (verdict.status !== "delivered" || one.status === "delivered") {
      return { result: "superseded", waiting: waitingOf(one) };
    }
    one.status = "delivered";
    one.fresh = false;
    return { result: "applied", waiting: null };
  }

  /** Moves fresh deliveries from memory back to the disk. If the process ended, all of them move. */
  parked(now: number, these: readonly Expected[] = this.deliveries): Expected[] {
    for (const one of these) {
      if (!one.fresh || one.status !== "pending") continue;
      one.fresh = false;
      one.dueAt = Math.min(one.dueAt, now);
    }
    return these.filter(isWaiting);
  }

  replayed(one: Expected, now: number): void {
    const trigger = one.event.test ? "test" : "replay";
    Object.assign(one, { status: "pending", fresh: false, round: one.round + 1, retry: 0, trigger, dueAt: now });
  }

  /** Cancels the deliveries and returns how many were pending. */
  cancelled(these: readonly Expected[]): number {
    const open = these.filter(({ status }) => status === "pending");
    for (const one of these) one.owed = false;
    for (const one of open) Object.assign(one, { status: "cancelled", fresh: false });
    return open.length;
  }

  shifted(endpoint: string, change: ClockChange): void {
    for (const one of this.waiting(endpoint)) {
      if (one.dueAt > staysUntil(change)) one.dueAt = movedDue(change, one.dueAt, one.retry);
    }
  }

  expired(before: number): number {
    const late = this.deliveries.filter(
      ({ endpoint, owed, trigger, dueAt, ...one }) =>
        !endpoint.enabled &&
        !endpoint.deleted &&
        endpoint.changedAt < before &&
        trigger !== "test" &&
        !owed &&
        one.status === "pending" &&
        !one.fresh &&
        dueAt < before,
    );
    for (const { event, endpoint } of late) {
      const one = this.of(event.id, endpoint.id)!;
      one.status = "failed";
      one.attempts++;
    }
    return late.length;
  }

  pruned(event: string): void {
    this.events.delete(event);
    for (const { endpoint } of this.endpoints.map((endpoint) => ({ endpoint }))) {
      this.#deliveries.delete(`${event} ${endpoint.id}`);
    }
  }

  #add(given: Pick<Expected, "event" | "endpoint" | "trigger" | "fresh" | "dueAt" | "owed">): Expected {
    const one: Expected = { ...given, status: "pending", attempts: 0, round: 1, retry: 0 };
    this.#deliveries.set(`${given.event.id} ${given.endpoint.id}`, one);
    return one;
  }
}

export function isWaiting({ status, fresh }: Expected): boolean {
  return status === "pending" && !fresh;
}

/** True if a new round may begin. */
export function mayReplay({ event, endpoint, status }: Expected, force: boolean): boolean {
  const isOver = status === "failed" || (force && status === "delivered");
  return isOver && !event.erased && isSentTo(endpoint);
}

export function isSentTo({ enabled, deleted }: ExpectedEndpoint): boolean {
  return enabled && !deleted;
}

/** Returns the claim of a delivery, with the fields that the contract defines. */
export function claimOf({ event, endpoint, ...one }: Expected) {
  const { attempts, round, retry, trigger, dueAt } = one;
  const fresh = attempts === 0 && round === 1 && trigger === "ladder";
  return {
    event: event.id,
    endpoint: endpoint.id,
    body: event.body,
    number: attempts + 1,
    round,
    retry,
    trigger,
    dueAt,
    fresh,
  };
}

export function said({ event, endpoint, body, number, round, retry, trigger, dueAt, fresh }: Claim) {
  return { event, endpoint, body: Buffer.from(body).toString(), number, round, retry, trigger, dueAt, fresh };
}

export function waitingOf(one: Expected): Waiting | null {
  return isWaiting(one) ? { endpoint: one.endpoint.id, event: one.event.id, dueAt: one.dueAt } : null;
}

export function placeOf({ endpoint, event, dueAt }: Waiting | PendingDelivery): Waiting {
  return { endpoint, event, dueAt };
}
