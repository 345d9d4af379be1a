/**
 * Counters per minute for each endpoint, for each tenant, and for everything. Each life of a node has its own rows,
 * which are complete sums, so nobody waits for another node's row, and writing a row twice does no harm.
 */
import { randomUUID } from "node:crypto";
import { incrementsOf } from "../../../domain/tally.ts";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { EndedAttempt, Publication, Recorded } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";
import { Counts, MINUTE_MS } from "../../rows/counts.ts";

const SECOND_MS = 1000;
/**
 * Beyond this number of rows, a commit writes some at once instead of waiting for the next second, so that they do not
 * fill the memory.
 */
const BACKLOG = 10 * CHUNK;

export type Subject = string;
export const EVERYTHING: Subject = "";
export const ofTenant = (tenant: string): Subject => `tenant ${tenant}`;

interface Row {
  readonly minute: number;
  readonly subject: Subject;
  readonly life: string;
  readonly counts: Counts;
  /** The number of changes counted, so that a commit knows whether it wrote the last one. */
  changes: number;
}

export class Counters {
  readonly sinceStart = new Counts();
  /** Changes when the clock is set back, because memory may have forgotten what it wrote for earlier minutes. */
  #life: string = randomUUID();
  #minute = Number.NaN;
  /** The rows of that minute. */
  readonly #rows = new Map<Subject, Row>();
  /** The oldest first. */
  readonly #dirty = new Set<Row>();
  #second = Number.NaN;

  // --- after the commit of the counted objects ---

  noteAttempt(ended: EndedAttempt, { result }: Recorded, tenant: string, now: number): void {
    if (ended.claim.trigger === "test") return;
    const { status } = ended.verdict;
    const ends = result === "applied" && (status === "delivered" || status === "failed") ? status : null;
    const increments = incrementsOf(ended, ends);
    this.sinceStart.attempts.attempt(increments);
    for (const subject of [ended.claim.endpoint, ofTenant(tenant), EVERYTHING]) {
      this.#row(subject, now).attempts.attempt(increments);
    }
  }

  /** Counts deliveries that failed because they were held for too long. */
  noteExpired(endpoints: readonly { readonly id: string; readonly tenant: string }[], now: number): void {
    for (const { id, tenant } of endpoints) {
      this.sinceStart.attempts.failedUnsent("held_expired");
      for (const subject of [id, ofTenant(tenant), EVERYTHING]) {
        this.#row(subject, now).attempts.failedUnsent("held_expired");
      }
    }
  }

  notePublished(drafts: readonly EventDraft[], publications: readonly Publication[], now: number): void {
    for (const [at, { tenant, type, testFor }] of drafts.entries()) {
      if (testFor !== undefined || publications[at]!.duplicate) continue;
      this.sinceStart.publish(type, 1);
      for (const subject of [ofTenant(tenant), EVERYTHING]) this.#row(subject, now).publish(type, 1);
    }
  }

  // --- the rows ---

  /** True if a commit would write rows now. */
  isDue(now: number): boolean {
    if (this.#dirty.size === 0) return false;
    return Math.floor(now / SECOND_MS) !== this.#second || this.#dirty.size > BACKLOG;
  }

  /** Called inside each transaction. The function that it returns is called after the commit. */
  async ride(tx: Queries, now: number): Promise<(() => void) | null> {
    if (!this.isDue(now)) return null;
    const written = await this.#save(tx, [...this.#dirty].slice(0, CHUNK));
    return () => {
      this.#second = Math.floor(now / SECOND_MS);
      written();
    };
  }

  /** Called at the end. */
  async saveAll(tx: Queries): Promise<void> {
    await this.#save(tx, [...this.#dirty]);
  }

  /** Returns the counts of the subject that are not saved yet. Each is complete for this life and its minute. */
  unwritten(subject: Subject): readonly Pick<Row, "minute" | "life" | "counts">[] {
    return [...this.#dirty].filter((row) => row.subject === subject);
  }

  #row(subject: Subject, now: number): Counts {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.#minute) {
      if (minute < this.#minute) this.#life = randomUUID();
      this.#minute = minute;
      this.#rows.clear();
    }
    let row = this.#rows.get(subject);
    if (row === undefined) {
      row = { minute, subject, life: this.#life, counts: new Counts(), changes: 0 };
      this.#rows.set(subject, row);
    }
    row.changes++;
    this.#dirty.add(row);
    return row.counts;
  }

  /** Returns a function to call after the commit. */
  async #save(tx: Queries, rows: readonly Row[]): Promise<() => void> {
    const stored = rows.map((row) => ({ row, changes: row.changes, ...row.counts.toRow() }));
    await tx.change(
      `INSERT INTO counter (minute, subject, life, attempts, published)
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::uuid[], $4::text[], $5::text[])
       ON CONFLICT (subject, minute, life) DO UPDATE SET attempts = excluded.attempts, published = excluded.published`,
      [
        rows.map(({ minute }) => minute),
        rows.map(({ subject }) => subject),
        rows.map(({ life }) => life),
        stored.map(({ attempts }) => attempts),
        stored.map(({ published }) => published),
      ],
    );
    return () => {
      for (const { row, changes } of stored) if (row.changes === changes) this.#dirty.delete(row);
    };
  }
}
