/**
 * Marks that are stored apart from a delivery's row: an attempt that was requested by hand, and one that careful mode
 * has begun.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Claim, Send } from "../../../domain/deliveries/delivery.ts";
import { isBeingCancelled, requestOf } from "../../../domain/deliveries/withdrawal.ts";
import type { AttemptRequest, EventDelivery, Suspect } from "../../store.ts";
import { CLAIM, claimOf, type ClaimRow, type Due } from "./due.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Meta } from "../engine/meta.ts";
import {
  BEHIND,
  CANCELLED,
  DELIVERED,
  FAILED,
  WAITING,
  deliveryId,
  eventId,
  isBehind,
  parseDeliveryId,
  keyOf,
  storedStatusOf,
} from "../../rows/codes.ts";
import { storageFull } from "../../files/unavailable.ts";

interface Row extends Omit<ClaimRow, "due_at"> {
  readonly status: number;
  readonly due_at: number | null;
  readonly test: number;
  readonly urgent: number;
}

interface Wanted {
  readonly id: string;
  readonly row: {
    readonly event: number;
    readonly endpoint: number;
    readonly status: number;
    readonly due_at: number | null;
  };
}

/**
 * Single attempts that were requested but not made yet. A request does not change the delivery's own row, so a failed
 * attempt has nothing to restore.
 */
export class ManualAttempts {
  readonly #index: EndpointIndex;
  readonly #add: Statement<[number, number, number]>;
  readonly #isRequested: Statement<[number, number], number>;
  readonly #drop: Statement<[number, number]>;
  readonly #withdraw: Statement<[number, number]>;
  readonly #hurry: Statement<[number, number]>;
  readonly #dropOf: Statement<[number]>;
  readonly #dropVain: Statement<[]>;
  readonly #count: Statement<[], number>;
  readonly #isErased: Statement<[number], number>;
  readonly #claim: Statement<[number, number], Row>;
  readonly #page: Statement<[number, number, number], { event: number; endpoint: number; random: string }>;
  /**
   * The number of requested attempts, so that recording makes no query while there are none. Null if they must be
   * counted again.
   */
  #requested: number | null = null;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.#add = db.prepare("INSERT OR IGNORE INTO manual_attempt (event, endpoint, urgent) VALUES (?, ?, ?)");
    this.#isRequested = db
      .prepare<[number, number], number>("SELECT 1 FROM manual_attempt WHERE event = ? AND endpoint = ?")
      .pluck();
    this.#drop = db.prepare("DELETE FROM manual_attempt WHERE event = ? AND endpoint = ?");
    this.#withdraw = db.prepare("DELETE FROM manual_attempt WHERE event = ? AND endpoint = ? AND urgent = 0");
    this.#hurry = db.prepare("UPDATE manual_attempt SET urgent = 1 WHERE event = ? AND endpoint = ?");
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
      `SELECT ${CLAIM}, d.status, e.test, m.urgent
       FROM manual_attempt m
       CROSS JOIN delivery d ON d.event = m.event AND d.endpoint = m.endpoint
       CROSS JOIN event e ON e.key = m.event
       WHERE m.event = ? AND m.endpoint = ? AND d.status IN (${WAITING}, ${FAILED}) AND e.body IS NOT NULL
         AND coalesce(d.due_at, 0) < ${BEHIND}`,
    );
    this.#page = db.prepare(
      `SELECT m.event, m.endpoint, e.random FROM manual_attempt m JOIN event e ON e.key = m.event
       WHERE (m.event, m.endpoint) > (?, ?) ORDER BY m.event, m.endpoint LIMIT ?`,
    );
  }

  request({ id, row: { event, endpoint, status, due_at: dueAt } }: Wanted): AttemptRequest {
    const entry = this.#index.byNumber(endpoint);
    const isErased = this.#isErased.get(event) === 1;
    const facts = { event, status: storedStatusOf(status), isErased, isBehind: isBehind(dueAt) };
    const result = requestOf(facts, entry);
    if (result !== "requested") return { result };
    this.add(event, endpoint, true);
    return { result: "requested", endpoint: entry.id, delivery: id };
  }

  /** Somebody is waiting for an urgent attempt, so it goes before the backlog. Call it inside a transaction. */
  add(event: number, endpoint: number, urgent: boolean): void {
    const { changes } = this.#add.run(event, endpoint, +urgent);
    if (urgent && changes === 0) this.#hurry.run(event, endpoint);
    this.#requested = this.#some() + changes;
  }

  isOwed(event: number, endpoint: number): boolean {
    return this.#isRequested.get(event, endpoint) !== undefined;
  }

  /** Returns null if no attempt is requested, or if a fresh delivery's own attempt must end first. */
  claim(event: number, number: number): Claim | null {
    const row = this.#claim.get(event, number);
    const endpoint = this.#index.byNumber(number);
    if (row === undefined || endpoint.deleted || isBeingCancelled(endpoint, event, storedStatusOf(row.status)))
      return null;
    const { test, urgent, due_at: dueAt } = row;
    // Infinity stands for no due time. Nobody reads it here.
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

  /** The attempt was made, or is no longer wanted. Returns true if one was requested. Call it inside a transaction. */
  drop(event: number, endpoint: number): boolean {
    return this.#delete(this.#drop, event, endpoint);
  }

  /** A job no longer wants the attempt. Keeps an attempt that an operator requested. Call it inside a transaction. */
  withdraw(event: number, endpoint: number): void {
    this.#delete(this.#withdraw, event, endpoint);
  }

  /** The endpoint was disabled or deleted, so attempts requested before that are not made. */
  dropOf(endpoint: number): void {
    if (this.#some() > 0) this.#dropOf.run(endpoint);
    this.#requested = null;
  }

  /** Drops requests for attempts that can no longer be made. */
  dropVain(): void {
    if (this.#some() > 0) this.#dropVain.run();
    this.#requested = null;
  }

  /** The count may come from a transaction that was undone. */
  forget(): void {
    this.#requested = null;
  }

  #delete(rows: Statement<[number, number]>, event: number, endpoint: number): boolean {
    if (this.#some() === 0) return false;
    const { changes } = rows.run(event, endpoint);
    this.#requested = this.#some() - changes;
    return changes === 1;
  }

  #some(): number {
    return (this.#requested ??= this.#count.get()!);
  }
}

const QUICK_DEATHS = 2;

interface StartedRow {
  readonly event: number;
  readonly endpoint: number;
  readonly interruptions: number;
}

/**
 * Careful mode: after the process died several times in quick succession, deliveries are marked before their attempt
 * starts, so that the next start knows what was on the wire when the process died.
 */
export class Started {
  readonly #meta: Meta;
  readonly #index: EndpointIndex;
  readonly #due: Due;
  readonly #manual: ManualAttempts;
  readonly #mark: Statement<[number, number]>;
  readonly #clear: Statement<[number, number]>;
  readonly #all: Statement<[], StartedRow>;
  readonly #begin: () => void;
  #begun = false;
  /** True if some delivery may be marked. */
  #some: boolean;
  readonly careful: boolean;

  constructor(db: Database, parts: { meta: Meta; index: EndpointIndex; due: Due; manual: ManualAttempts }) {
    const { meta, index, due, manual } = parts;
    this.#meta = meta;
    this.#index = index;
    this.#due = due;
    this.#manual = manual;
    this.#mark = db.prepare(
      `INSERT INTO started (event, endpoint, interruptions, dialled) VALUES (?, ?, 0, 1)
       ON CONFLICT DO UPDATE SET dialled = 1`,
    );
    this.#clear = db.prepare("DELETE FROM started WHERE event = ? AND endpoint = ?");
    this.#all = db.prepare("SELECT event, endpoint, interruptions FROM started");
    // Accuse only deliveries of the last process, because others still wait to be tried alone.
    const accuse = db.prepare("UPDATE started SET interruptions = interruptions + 1, dialled = 0 WHERE dialled = 1");
    const any = db.prepare("SELECT 1 FROM started LIMIT 1");
    // A process that neither ran for a minute nor ended cleanly died young.
    const deaths = meta.young ? meta.quickDeaths + 1 : 0;
    this.#begin = db.transaction(() => {
      meta.beginLife(deaths);
      accuse.run();
    }).immediate;
    this.#some = any.get() !== undefined;
    this.careful = deaths >= QUICK_DEATHS;
  }

  /** Records that this process has begun. Do not call it inside a transaction. */
  begin(): void {
    if (this.#begun) return;
    this.#begin();
    this.#begun = true;
  }

  /** Returns the deliveries that were on the wire when a process died, and those of them that have ended since. */
  suspects(): { readonly suspects: Suspect[]; readonly ended: (readonly [event: number, endpoint: number])[] } {
    const suspects: Suspect[] = [];
    const ended: (readonly [event: number, endpoint: number])[] = [];
    for (const { event, endpoint, interruptions } of this.#all.all()) {
      // A requested attempt is tried as a requested one, because its delivery need not be due.
      const claim = this.#manual.claim(event, endpoint) ?? this.#due.claim(event, endpoint);
      if (claim === null) ended.push([event, endpoint]);
      else suspects.push({ claim, interruptions });
    }
    return { suspects, ended };
  }

  mark(sends: readonly Send[]): void {
    // Otherwise the mark would be attributed to the last process.
    if (!this.#begun) throw storageFull();
    this.#some = true;
    for (const { event, endpoint } of sends) {
      const number = this.#index.byId(endpoint)?.number;
      if (number !== undefined) this.#mark.run(keyOf(event), number);
    }
  }

  /** Called when the attempt has been recorded. */
  ended(event: number, endpoint: number): void {
    if (this.#some) this.#clear.run(event, endpoint);
  }

  /** The process has run for a minute, or ends cleanly: if it dies now, no delivery is to blame. */
  outlive(): void {
    this.#meta.outlive();
  }
}
