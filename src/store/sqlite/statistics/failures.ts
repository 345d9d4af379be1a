/** What does not arrive, by endpoint and cause: an index has these deliveries by both, and all that is told of them. */
import type { Database, Statement } from "better-sqlite3";
import { FailureGroups, type FailureGroup } from "../../../domain/deliveries/failure.ts";
import type { FailureQuery, FailureReport } from "../../store.ts";
import { CauseList, causeOf, type Group } from "../attempts/causes.ts";
import type { Reading } from "../engine/page.ts";
import { Meta } from "../engine/meta.ts";
import {
  attemptId,
  eventId,
  FAILED,
  firstKeyAt,
  instantOf,
  type Interned,
  outcomeCode,
  WAITING,
} from "../numbers/codes.ts";
import { shownStatus, type EndpointIndex } from "../numbers/endpoint-index.ts";

/** Deliveries read in one slice. */
const CHUNK = 5000;

type Row = [event: number, failedAt: number, failingSince: number];

interface Parts {
  readonly index: EndpointIndex;
  readonly tenants: Interned;
}

export class Failures {
  readonly #parts: Parts;
  readonly #meta: Meta;
  readonly #causes: CauseList;
  readonly #endpoints: Statement<[number], number>;
  readonly #rows: Statement<[number, number, number, number], Row>;
  readonly #sample: Statement<[number, number], { random: string; number: number }>;

  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#meta = new Meta(db);
    this.#causes = new CauseList(db);
    this.#endpoints = db
      .prepare<[number], number>("SELECT number FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ?")
      .pluck();
    this.#rows = db
      .prepare<[number, number, number, number], Row>(
        `SELECT event, failed_at, failing_since FROM delivery INDEXED BY delivery_cause
         WHERE endpoint = ? AND cause = ? AND event < ? AND event > ? ORDER BY event DESC LIMIT ${CHUNK}`,
      )
      .raw();
    this.#sample = db.prepare(
      `SELECT e.random, a.number FROM event e JOIN attempt a ON a.event = e.key
       WHERE e.key = ? AND a.endpoint = ? AND a.outcome = ${outcomeCode("failed")} ORDER BY a.number DESC LIMIT 1`,
    );
  }

  *report(query: FailureQuery): Reading<FailureReport | null> {
    const { index } = this.#parts;
    const found = this.#groups(query);
    if (found === null) return null;
    // Deliveries of an older version get their causes by and by, the newest first.
    const known = this.#meta.causesNoted;
    const low = Math.max(firstKeyAt(query.since), known ?? 0) - 1;
    const groups = new FailureGroups(query);
    let read = 0;
    for (const { endpoint, cause } of found) {
      const { id } = index.byNumber(endpoint);
      const { status: state, test, error, statusCode } = causeOf(cause);
      if (test || error === null || (state !== WAITING && state !== FAILED)) continue;
      for (let before = Number.MAX_SAFE_INTEGER, rows: Row[] = []; ;) {
        rows = this.#rows.all(endpoint, cause, before, low);
        const entry = index.byNumber(endpoint);
        for (const [event, lastAt, firstAt] of rows) {
          const status = shownStatus(entry, { event, status: state, trigger: 0 });
          if (status === "cancelled" || status === "delivered") continue;
          groups.add({ endpoint: id, status, error, statusCode, firstAt, lastAt, event });
        }
        read += rows.length;
        if (rows.length < CHUNK) break;
        before = rows.at(-1)![0];
        yield;
      }
      if (read < CHUNK) continue;
      read = 0;
      yield;
    }
    const since = known === null ? query.since : Math.max(query.since, instantOf(known));
    return { since, total: groups.size, groups: groups.largest(query.limit, (group) => this.#sampleOf(group)) };
  }

  /** Null when the tenant has, and had, no such endpoint. */
  #groups({ tenant, endpoint }: FailureQuery): Group[] | null {
    const { index, tenants } = this.#parts;
    if (endpoint !== undefined) {
      const number = index.numberOf(tenant, endpoint);
      return number === null ? null : this.#causes.groups(number);
    }
    if (tenant === null) return this.#causes.groups(null);
    // A tenant that nobody has named yet has no number, and no endpoint.
    return this.#endpoints.all(tenants.find(tenant) ?? -1).flatMap((number) => this.#causes.groups(number));
  }

  #sampleOf({ endpoint, event }: Pick<FailureGroup, "endpoint"> & { readonly event: number }): string {
    const { number: place } = this.#parts.index.byId(endpoint)!;
    const { random, number } = this.#sample.get(event, place)!;
    return attemptId(eventId(event, random), place, number);
  }
}
