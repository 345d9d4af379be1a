/**
 * Single attempts that were asked for and not made yet. The delivery's own row stays as it is, so a failure has nothing
 * to restore: what is owed beside it is all there is to a request.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Claim } from "../../../domain/deliveries/delivery.ts";
import type { AttemptRequest, EventDelivery } from "../../store.ts";
import { CANCELLED, DELIVERED, FAILED, WAITING } from "../numbers/codes.ts";
import { claimOf, type ClaimRow } from "./due.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import { deliveryId, eventId, parseDeliveryId } from "../numbers/ids.ts";

interface Row extends Omit<ClaimRow, "due_at"> {
  readonly status: number;
  readonly due_at: number | null;
  readonly test: number;
  readonly urgent: number;
}

interface Wanted {
  readonly id: string;
  readonly row: { readonly event: number; readonly endpoint: number; readonly status: number };
}

export class ManualAttempts {
  readonly #index: EndpointIndex;
  readonly #add: Statement<[number, number, number]>;
  readonly #isOwed: Statement<[number, number], number>;
  readonly #drop: Statement<[number, number]>;
  readonly #dropOf: Statement<[number]>;
  readonly #dropVain: Statement<[]>;
  readonly #count: Statement<[], number>;
  readonly #isErased: Statement<[number], number>;
  readonly #claim: Statement<[number, number], Row>;
  readonly #page: Statement<[number, number, number], { event: number; endpoint: number; random: string }>;
  /** How many are owed, so that recording asks nothing while there are none; null when it must be counted again. */
  #owed: number | null = null;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.#add = db.prepare("INSERT OR IGNORE INTO manual_attempt (event, endpoint, urgent) VALUES (?, ?, ?)");
    this.#isOwed = db
      .prepare<[number, number], number>("SELECT 1 FROM manual_attempt WHERE event = ? AND endpoint = ?")
      .pluck();
    this.#drop = db.prepare("DELETE FROM manual_attempt WHERE event = ? AND endpoint = ?");
    this.#dropOf = db.prepare("DELETE FROM manual_attempt WHERE endpoint = ?");
    this.#dropVain = db.prepare(
      `DELETE FROM manual_attempt AS m WHERE NOT EXISTS (
         SELECT 1 FROM delivery d JOIN event e ON e.key = d.event JOIN endpoint p ON p.number = d.endpoint
         WHERE d.event = m.event AND d.endpoint = m.endpoint AND d.status NOT IN (${DELIVERED}, ${CANCELLED})
           AND e.body IS NOT NULL AND p.deleted_at IS NULL
       )`,
    );
    this.#count = db.prepare<[], number>("SELECT count(*) FROM manual_attempt").pluck();
    this.#isErased = db.prepare<[number], number>("SELECT body IS NULL FROM event WHERE key = ?").pluck();
    this.#claim = db.prepare(
      `SELECT d.event, d.status, d.due_at, d.attempts, d.round, d.retry, d.trigger, e.random, e.trace, e.body_hash, e.body, e.test, m.urgent
       FROM manual_attempt m
       CROSS JOIN delivery d ON d.event = m.event AND d.endpoint = m.endpoint
       CROSS JOIN event e ON e.key = m.event
       WHERE m.event = ? AND m.endpoint = ? AND d.status IN (${WAITING}, ${FAILED}) AND e.body IS NOT NULL`,
    );
    this.#page = db.prepare(
      `SELECT m.event, m.endpoint, e.random FROM manual_attempt m JOIN event e ON e.key = m.event
       WHERE (m.event, m.endpoint) > (?, ?) ORDER BY m.event, m.endpoint LIMIT ?`,
    );
  }

  request({ id, row: { event, endpoint, status } }: Wanted): AttemptRequest {
    if (this.#isErased.get(event) === 1) return { result: "gone" };
    if (status === DELIVERED || status === CANCELLED) return { result: "settled" };
    const entry = this.#index.byNumber(endpoint);
    if (isBeingCancelled(entry, event, status)) return { result: "settled" };
    if (entry.deleted) return { result: "endpoint_deleted" };
    this.owe(event, endpoint, true);
    return { result: "requested", endpoint: entry.id, delivery: id };
  }

  /** An urgent one is waited for, and goes past the backlog. Inside a transaction. */
  owe(event: number, endpoint: number, urgent: boolean): void {
    this.#owed = this.#some() + this.#add.run(event, endpoint, +urgent).changes;
  }

  isOwed(event: number, endpoint: number): boolean {
    return this.#isOwed.get(event, endpoint) !== undefined;
  }

  /** Null when none is owed, or when a fresh delivery's own attempt must end first. */
  claim(event: number, number: number): Claim | null {
    const row = this.#claim.get(event, number);
    const endpoint = this.#index.byNumber(number);
    if (row === undefined || endpoint.deleted || isBeingCancelled(endpoint, event, row.status)) return null;
    const { test, urgent, due_at: dueAt } = row;
    // What is not due is due never, and nobody reads it.
    const claim = claimOf(endpoint, { ...row, due_at: dueAt ?? Number.POSITIVE_INFINITY });
    const trigger = test === 1 ? "test" : "manual";
    return { ...claim, trigger, fresh: urgent === 1 };
  }

  claimOfId(delivery: string): Claim | null {
    const parsed = parseDeliveryId(delivery);
    return parsed === null ? null : this.claim(parsed.event, parsed.endpoint);
  }

  page(after: EventDelivery | null, limit: number): EventDelivery[] {
    const from = after === null ? null : parseDeliveryId(after.delivery);
    return this.#page.all(from?.event ?? -1, from?.endpoint ?? -1, limit).map(({ event, endpoint, random }) => ({
      delivery: deliveryId(eventId(event, random), endpoint),
      endpoint: this.#index.byNumber(endpoint).id,
    }));
  }

  /** It was made, or is not wanted any more; whether one was owed. Inside a transaction. */
  drop(event: number, endpoint: number): boolean {
    if (this.#some() === 0) return false;
    const { changes } = this.#drop.run(event, endpoint);
    this.#owed = this.#some() - changes;
    return changes === 1;
  }

  /** Its endpoint was disabled: nothing more is sent that was asked for before. */
  dropOf(endpoint: number): void {
    if (this.#some() > 0) this.#dropOf.run(endpoint);
    this.#owed = null;
  }

  /** Drops those that cannot be made any more. */
  dropVain(): void {
    if (this.#some() > 0) this.#dropVain.run();
    this.#owed = null;
  }

  /** What was counted may have been undone. */
  forget(): void {
    this.#owed = null;
  }

  #some(): number {
    return (this.#owed ??= this.#count.get()!);
  }
}

/** Cancelled already, though its row does not say so yet: what was held for the endpoint is rewritten by and by. */
function isBeingCancelled({ cancelTo }: EndpointEntry, event: number, status: number): boolean {
  return status <= WAITING && event <= (cancelTo ?? -1);
}
