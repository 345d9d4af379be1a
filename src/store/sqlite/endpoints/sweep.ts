/** Cleans up after an endpoint: cancels its open deliveries, and removes its row once its history is gone. */
import type { Database, Statement } from "better-sqlite3";
import type { Pruned } from "../../store.ts";
import { CANCEL } from "../attempts/causes.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Choices } from "./choices.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { firstKeyAt, instantOf, WAITING } from "../../rows/codes.ts";
import type { Lines } from "../ordering/lines.ts";
import type { Interned } from "../numbers/names.ts";
import { IS_FRESH } from "../numbers/fragments.ts";

/** The place of a walk over an endpoint's open deliveries, and the event up to which it goes. */
export interface Walked {
  readonly upTo: number;
  readonly dueAt: number;
  readonly event: number;
}

type Waiting = { readonly due_at: number; readonly event: number };

export class Sweep {
  readonly #index: EndpointIndex;
  readonly #mark: FreshMark;
  readonly #manual: ManualAttempts;
  readonly #lines: Lines;
  readonly #marked: Statement<[number], { id: string; tenant: string; upTo: number }>;
  readonly #fresh: Statement<[number, number, number], number>;
  readonly #waiting: Statement<[number, number, number, number], Waiting>;
  readonly #cancel: Statement<[number, number]>;
  readonly #swept: Statement<[number]>;
  readonly #unswept: Statement<[], number>;

  constructor(db: Database, parts: { index: EndpointIndex; fresh: FreshMark; manual: ManualAttempts; lines: Lines }) {
    this.#lines = parts.lines;
    this.#index = parts.index;
    this.#mark = parts.fresh;
    this.#manual = parts.manual;
    this.#marked = db.prepare(
      `SELECT e.id, t.name AS tenant, e.cancel_to AS upTo FROM endpoint e JOIN tenant t ON t.num = e.tenant
       WHERE e.number = ? AND e.cancel_to IS NOT NULL`,
    );
    this.#fresh = db
      .prepare<[number, number, number], number>(
        `SELECT event FROM delivery WHERE ${IS_FRESH} AND endpoint = ? AND event <= ? LIMIT ?`,
      )
      .pluck();
    this.#waiting = db.prepare(
      `SELECT due_at, event FROM delivery INDEXED BY delivery_waiting
       WHERE status = ${WAITING} AND endpoint = ? AND (due_at, event) > (?, ?) ORDER BY due_at, event LIMIT ?`,
    );
    this.#cancel = db.prepare(`UPDATE delivery SET ${CANCEL} WHERE event = ? AND endpoint = ?`);
    this.#swept = db.prepare("UPDATE endpoint SET cancel_to = NULL WHERE number = ?");
    this.#unswept = db
      .prepare<[], number>("SELECT number FROM endpoint INDEXED BY endpoint_cancel WHERE cancel_to IS NOT NULL")
      .pluck();
  }

  /** Returns the endpoints whose sweep a stop of the process cut short. */
  unswept(): number[] {
    return this.#unswept.all();
  }

  /**
   * Cancels some of the endpoint's open deliveries of events up to its mark, and removes the mark at the end. Returns
   * the place at which to continue, or null at the end. Call it inside a transaction. No delivery can move behind the
   * walk: one that is still to be cancelled only moves to later due times, and no replay touches it.
   */
  cancelOpen(endpoint: number, from: Walked | null, now: number): Walked | null {
    const marked = this.#marked.get(endpoint);
    if (marked === undefined) return null;
    const { upTo } = marked;
    const at = from?.upTo === upTo ? from : { upTo, dueAt: -1, event: -1 };
    const fresh = at.event === -1 ? this.#fresh.all(endpoint, upTo, CHUNK) : [];
    for (const event of fresh) this.#cancelOne(event, endpoint, now);
    if (fresh.length === CHUNK) return at;
    const limit = CHUNK - fresh.length;
    const rows = this.#waiting.all(endpoint, at.dueAt, at.event, limit);
    for (const { event } of rows) if (event <= upTo) this.#cancelOne(event, endpoint, now);
    if (rows.length === limit) return { upTo, dueAt: rows.at(-1)!.due_at, event: rows.at(-1)!.event };
    this.#swept.run(endpoint);
    this.#index.changed(marked.tenant, marked.id);
    return null;
  }

  #cancelOne(event: number, endpoint: number, now: number): void {
    this.#cancel.run(event, endpoint);
    this.#lines.cancelled(event, this.#index.byNumber(endpoint), now);
    this.#mark.settled(event, endpoint);
    this.#manual.drop(event, endpoint);
  }
}

interface Deleted {
  readonly number: number;
  readonly id: string;
  readonly tenant: string;
  readonly isOver: number;
}

interface LeftUrl {
  readonly num: number;
  readonly name: string;
  readonly isTaken: number;
}

/** For this long, an attempt to a URL that its endpoint no longer has may still be recorded. */
const URL_KEPT_MS = 86_400_000;

/**
 * Removes the rows of deleted endpoints that nothing refers to any more, and the URLs that endpoints no longer have.
 */
export class OldEndpoints {
  readonly #index: EndpointIndex;
  readonly #urls: Interned;
  readonly #choices: Choices;
  readonly #deleted: Statement<[number, number], Deleted>;
  readonly #dropHealth: Statement<[number]>;
  readonly #drop: Statement<[number]>;
  readonly #oldestEvent: Statement<[], number | null>;
  readonly #leftUrls: Statement<[number], LeftUrl>;
  readonly #keepUrl: Statement<[number]>;
  readonly #dropUrl: Statement<[number]>;

  constructor(db: Database, parts: { index: EndpointIndex; urls: Interned; choices: Choices }) {
    this.#index = parts.index;
    this.#urls = parts.urls;
    this.#choices = parts.choices;
    this.#deleted = db.prepare(
      `SELECT e.number, e.id, t.name AS tenant, e.deleted_at < ? AND e.cancel_to IS NULL
         AND NOT EXISTS (SELECT 1 FROM delivery d INDEXED BY delivery_endpoint WHERE d.endpoint = e.number)
         AND NOT EXISTS (SELECT 1 FROM job_endpoint j WHERE j.endpoint = e.number) AS isOver
       FROM endpoint e INDEXED BY endpoint_deleted CROSS JOIN tenant t ON t.num = e.tenant
       WHERE e.deleted_at IS NOT NULL AND e.number > ? ORDER BY e.number LIMIT ${CHUNK}`,
    );
    this.#dropHealth = db.prepare("DELETE FROM health WHERE endpoint = ?");
    this.#drop = db.prepare("DELETE FROM endpoint WHERE number = ?");
    this.#oldestEvent = db.prepare<[], number | null>("SELECT min(key) FROM event").pluck();
    // Keep the row with the highest number, because SQLite would give that number to the next URL.
    this.#leftUrls = db.prepare(
      `SELECT num, name, name IN (SELECT url FROM endpoint WHERE deleted_at IS NULL) AS isTaken
       FROM url INDEXED BY url_left WHERE left_at < ? AND num < (SELECT max(num) FROM url) LIMIT ${CHUNK}`,
    );
    this.#keepUrl = db.prepare("UPDATE url SET left_at = NULL WHERE num = ?");
    this.#dropUrl = db.prepare("DELETE FROM url WHERE num = ?");
  }

  /** Call it inside a transaction. `numbers` has the endpoints removed. */
  prune(before: number, from: string | null): Pruned & { readonly numbers: readonly number[] } {
    const candidates = this.#deleted.all(before, from === null ? -1 : Number(from));
    const over = candidates.filter(({ isOver }) => isOver === 1);
    for (const { number, id, tenant } of over) {
      this.#dropHealth.run(number);
      this.#choices.drop(number);
      this.#drop.run(number);
      this.#index.changed(tenant, id);
    }
    const next = candidates.length < CHUNK ? null : String(candidates.at(-1)!.number);
    return { pruned: over.length, next, numbers: over.map(({ number }) => number) };
  }

  /**
   * Removes at most 500 URLs that no endpoint has and no attempt refers to, because all events are gone that existed
   * when the last endpoint left them. Call it inside a transaction.
   */
  pruneUrls(now: number): void {
    const oldest = this.#oldestEvent.get();
    const since = oldest === null || oldest === undefined ? now : Math.min(now, instantOf(oldest));
    for (const { num, name, isTaken } of this.#leftUrls.all(firstKeyAt(since - URL_KEPT_MS))) {
      if (isTaken === 1) this.#keepUrl.run(num);
      else {
        this.#dropUrl.run(num);
        this.#urls.dropped(num, name);
      }
    }
  }
}
