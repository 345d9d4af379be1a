/**
 * Counters per minute for each endpoint, for each tenant, and for everything. A row has the complete sum, so writing it
 * twice does no harm: rows that an undone transaction wrote are written again.
 */
import type { Database, Statement } from "better-sqlite3";
import { incrementsOf } from "../../../domain/tally.ts";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { EndedAttempt, Publication, Recorded } from "../../store.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { Reading } from "../engine/page.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { MinutesAsked } from "../questions/questions.ts";
import type { Interned } from "../numbers/names.ts";
import { Counts, MINUTE_MS, type StoredCounts } from "../../rows/counts.ts";

const SECOND_MS = 1000;
/**
 * Beyond this number of rows, a commit writes some at once instead of waiting for the next second, so that they do not
 * fill the memory.
 */
const BACKLOG = 10 * CHUNK;

/** The subject of a row: an endpoint by its number, a tenant by minus its number, everything by 0. */
export type Subject = number;
export const EVERYTHING: Subject = 0;

interface Row {
  readonly minute: number;
  readonly subject: Subject;
  readonly counts: Counts;
  /** True if the row includes the counts of this minute from before a restart. */
  whole: boolean;
  dirty: boolean;
}

interface Parts {
  readonly index: EndpointIndex;
  readonly tenants: Interned;
}

export class Counters {
  readonly sinceStart = new Counts();
  readonly #parts: Parts;
  readonly #select: Statement<[number, Subject], StoredCounts>;
  readonly #upsert: Statement<[number, Subject, string, string | null]>;
  readonly #prune: Statement<[number]>;
  #minute = Number.NaN;
  /** The rows of that minute. */
  readonly #rows = new Map<Subject, Row>();
  /** Unsaved rows of any minute, the oldest first. */
  readonly #dirty = new Set<Row>();
  /** The rows that the last transaction wrote. */
  #written: Row[] = [];
  #second = Number.NaN;

  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#select = db.prepare("SELECT attempts, published FROM counter WHERE minute = ? AND subject = ?");
    this.#upsert = db.prepare(
      "INSERT OR REPLACE INTO counter (minute, subject, attempts, published) VALUES (?, ?, ?, ?)",
    );
    this.#prune = db.prepare(`DELETE FROM counter WHERE minute < ? LIMIT ${CHUNK}`);
  }

  // --- after the commit of the counted objects ---

  noteAttempts(attempts: readonly EndedAttempt[], recorded: readonly Recorded[], now: number): void {
    const { index } = this.#parts;
    attempts.forEach((attempt, at) => {
      const endpoint = index.byId(attempt.claim.endpoint);
      if (endpoint === undefined || attempt.claim.trigger === "test") return;
      this.#attempt(attempt, recorded[at]!, [endpoint.number, -endpoint.tenant, EVERYTHING], now);
    });
  }

  /** Counts deliveries that failed because they were held for too long, by the numbers of their endpoints. */
  noteExpired(endpoints: readonly number[], now: number): void {
    const { index } = this.#parts;
    for (const number of endpoints) {
      this.sinceStart.attempts.failedUnsent("held_expired");
      for (const subject of [number, -index.byNumber(number).tenant, EVERYTHING]) {
        this.#row(subject, now).attempts.failedUnsent("held_expired");
      }
    }
  }

  notePublished(drafts: readonly EventDraft[], publications: readonly Publication[], now: number): void {
    const { tenants } = this.#parts;
    // Count runs of the same tenant and type together, because most batches have only one.
    for (let at = 0; at < drafts.length;) {
      const { tenant, type } = drafts[at]!;
      let events = 0;
      for (; at < drafts.length && drafts[at]!.tenant === tenant && drafts[at]!.type === type; at++) {
        if (drafts[at]!.testFor === undefined && !publications[at]!.duplicate) events++;
      }
      if (events > 0) this.published(type, events, [-tenants.find(tenant)!, EVERYTHING], now);
    }
  }

  published(type: string, events: number, subjects: readonly Subject[], now: number): void {
    this.sinceStart.publish(type, events);
    for (const subject of subjects) this.#row(subject, now).publish(type, events);
  }

  // --- the rows ---

  /** True if a commit would write rows now. */
  isDue(now: number): boolean {
    if (this.#dirty.size === 0) return false;
    return Math.floor(now / SECOND_MS) !== this.#second || this.#dirty.size > BACKLOG;
  }

  /** Call it inside a transaction. */
  write(now: number): void {
    this.#written = [];
    if (!this.isDue(now)) return;
    this.#second = Math.floor(now / SECOND_MS);
    for (const row of this.#dirty) {
      if (this.#written.length === CHUNK) return;
      this.#save(row);
      this.#written.push(row);
    }
  }

  /** Call it inside a transaction. */
  writeAll(): void {
    for (const row of this.#dirty) this.#save(row);
  }

  /** The transaction's writes were undone. */
  forget(): void {
    if (this.#written.length > 0) this.#second = Number.NaN;
    for (const row of this.#written) this.#soil(row);
  }

  /** Returns the counts of the subject by minute that are not saved yet. Each is complete for its minute. */
  unwritten(subject: Subject): Map<number, Counts> {
    const found = new Map<number, Counts>();
    for (const row of this.#dirty) {
      if (row.subject !== subject) continue;
      this.#complete(row);
      const counts = new Counts();
      counts.add(row.counts);
      found.set(row.minute, counts);
    }
    return found;
  }

  /** Call it inside a transaction. Returns the number of rows removed, at most 500. */
  prune(before: number): number {
    return this.#prune.run(Math.floor(before / MINUTE_MS)).changes;
  }

  #attempt(ended: EndedAttempt, { result }: Recorded, subjects: readonly Subject[], now: number): void {
    const { status } = ended.verdict;
    const ends = result === "applied" && (status === "delivered" || status === "failed") ? status : null;
    const increments = incrementsOf(ended, ends);
    this.sinceStart.attempts.attempt(increments);
    for (const subject of subjects) this.#row(subject, now).attempts.attempt(increments);
  }

  #row(subject: Subject, now: number): Counts {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#rows.clear();
      // There are none, unless the clock was set back.
      for (const row of this.#dirty) if (row.minute === minute) this.#rows.set(row.subject, row);
    }
    let row = this.#rows.get(subject);
    if (row === undefined) {
      row = { minute, subject, counts: new Counts(), whole: false, dirty: false };
      this.#rows.set(subject, row);
    }
    if (!row.dirty) this.#soil(row);
    return row.counts;
  }

  #complete(row: Row): void {
    if (row.whole) return;
    const stored = this.#select.get(row.minute, row.subject);
    if (stored !== undefined) row.counts.addRow(stored);
    row.whole = true;
  }

  #soil(row: Row): void {
    row.dirty = true;
    this.#dirty.add(row);
  }

  #save(row: Row): void {
    const { minute, subject, counts } = row;
    this.#complete(row);
    const { attempts, published } = counts.toRow();
    this.#upsert.run(minute, subject, attempts, published);
    row.dirty = false;
    this.#dirty.delete(row);
  }
}

/** The saved counts, added up by parts of a period. */
export class WrittenCounts {
  readonly #select: Statement<[number, Subject], StoredCounts>;

  constructor(db: Database) {
    this.#select = db.prepare("SELECT attempts, published FROM counter WHERE minute = ? AND subject = ?");
  }

  /** Returns null for a part without saved counts. */
  *sum({ subject, first, end, step, except }: MinutesAsked): Reading<readonly (StoredCounts | null)[]> {
    const parts: (Counts | null)[] = Array.from({ length: Math.ceil((end - first) / step) }, () => null);
    const known = new Set(except);
    for (let minute = first; minute < end; minute++) {
      if (minute > first && (minute - first) % CHUNK === 0) yield;
      const stored = known.has(minute) ? undefined : this.#select.get(minute, subject);
      if (stored !== undefined) (parts[Math.floor((minute - first) / step)] ??= new Counts()).addRow(stored);
    }
    return parts.map((part) => part?.toRow() ?? null);
  }
}
