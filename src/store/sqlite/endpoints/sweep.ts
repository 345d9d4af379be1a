/** Cancelling what an endpoint was owed, a chunk a transaction. */
import type { Database, Statement } from "better-sqlite3";
import { CANCEL } from "../attempts/causes.ts";
import type { FreshMark } from "../claims/fresh.ts";
import { IS_FRESH, WAITING } from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";

/** Where a walk over what an endpoint has open stands, and the event up to which it goes. */
export interface Walked {
  readonly upTo: number;
  readonly dueAt: number;
  readonly event: number;
}

type Waiting = { readonly due_at: number; readonly event: number };

export class Sweep {
  readonly #index: EndpointIndex;
  readonly #mark: FreshMark;
  readonly #marked: Statement<[number], { id: string; tenant: string; upTo: number }>;
  readonly #fresh: Statement<[number, number, number], number>;
  readonly #waiting: Statement<[number, number, number, number], Waiting>;
  readonly #cancel: Statement<[number, number]>;
  readonly #swept: Statement<[number]>;
  readonly #unswept: Statement<[], number>;

  constructor(db: Database, parts: { index: EndpointIndex; fresh: FreshMark }) {
    this.#index = parts.index;
    this.#mark = parts.fresh;
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

  /** Endpoints whose sweep a stop of the process cut short. */
  unswept(): number[] {
    return this.#unswept.all();
  }

  /**
   * Cancels some of what the endpoint has open of events up to its mark, and takes the mark away at the end; where to go
   * on, null at the end. Inside a transaction. Nothing gets behind the walk: what is marked and not cancelled yet only
   * ever moves to a later due time, and no replay touches it.
   */
  cancelOpen(endpoint: number, from: Walked | null): Walked | null {
    const marked = this.#marked.get(endpoint);
    if (marked === undefined) return null;
    const { upTo } = marked;
    const at = from?.upTo === upTo ? from : { upTo, dueAt: -1, event: -1 };
    const fresh = at.event === -1 ? this.#fresh.all(endpoint, upTo, CHUNK) : [];
    for (const event of fresh) this.#cancelOne(event, endpoint);
    if (fresh.length === CHUNK) return at;
    const limit = CHUNK - fresh.length;
    const rows = this.#waiting.all(endpoint, at.dueAt, at.event, limit);
    for (const { event } of rows) if (event <= upTo) this.#cancelOne(event, endpoint);
    if (rows.length === limit) return { upTo, dueAt: rows.at(-1)!.due_at, event: rows.at(-1)!.event };
    this.#swept.run(endpoint);
    this.#index.changed(marked.tenant, marked.id);
    return null;
  }

  #cancelOne(event: number, endpoint: number): void {
    this.#cancel.run(event, endpoint);
    this.#mark.settled(event, endpoint);
  }
}
