/** What does not arrive, by endpoint and cause: a walk over what is missing, newest first, a slice at a time. */
import type { Database, Statement } from "better-sqlite3";
import type { AttemptError } from "../../../domain/deliveries/attempt.ts";
import { FailureGroups } from "../../../domain/deliveries/failure.ts";
import type { FailureQuery, FailureReport } from "../../store.ts";
import {
  FAILED,
  outcomeCode,
  WAITING,
  attemptId,
  eventId,
  firstKeyAt,
  instantOf,
  type Interned,
} from "../numbers/codes.ts";
import { shownStatus, type EndpointIndex } from "../numbers/endpoint-index.ts";
import { MergedKeys, type Pair } from "../attempts/merged-keys.ts";
import type { Source, Sources } from "../attempts/sources.ts";
import type { Reading } from "../engine/page.ts";

/** Deliveries looked at in one slice, and in all; passing by one that is another tenant's counts a tenth. */
const CHUNK = 250;
const MAX_LOOKED = 100_000;
const PASSING_COST = 0.1;

const FAILURE = outcomeCode("failed");

/** A pair, and why its delivery has not arrived; null where it has, was cancelled, is a test or another tenant's. */
interface Row extends Pair {
  /** Not another tenant's. */
  readonly wanted: number;
  readonly status: number | null;
  readonly trigger: number;
  readonly random: string | null;
  readonly number: number;
  readonly outcome: number | null;
  readonly error: AttemptError;
  readonly statusCode: number | null;
  readonly firstAt: number;
  readonly lastAt: number;
}

interface Parts {
  readonly index: EndpointIndex;
  readonly sources: Sources;
  readonly tenants: Interned;
}

/** One question on its way through the rows. */
interface Progress {
  readonly groups: FailureGroups;
  readonly low: number;
  /** Numbers; null for all. */
  readonly tenant: number | null;
  readonly sources: readonly Source[];
  after: Pair;
  looked: number;
  end: boolean;
}

export class Failures {
  readonly #parts: Parts;
  readonly #keys: MergedKeys;
  readonly #rows: Statement<[{ pairs: string; tenant: number | null }], Row>;

  constructor(db: Database, parts: Parts) {
    this.#parts = parts;
    this.#keys = new MergedKeys(db);
    this.#rows = db.prepare(ROWS);
  }

  *report(query: FailureQuery): Reading<FailureReport | null> {
    const progress = this.#begin(query);
    if (progress === null) return null;
    for (;;) {
      this.#advance(progress);
      if (progress.end || progress.looked >= MAX_LOOKED) break;
      yield;
    }
    const { groups, after, end } = progress;
    const since = end ? query.since : instantOf(after.event);
    return { since, total: groups.size, groups: groups.largest(query.limit) };
  }

  #begin({ tenant, endpoint, ...parts }: FailureQuery): Progress | null {
    const { index, sources, tenants } = this.#parts;
    const only = endpoint === undefined ? null : index.numberOf(tenant, endpoint);
    if (endpoint !== undefined && only === null) return null;
    // A tenant that nobody has named yet has no number, and no endpoint.
    const number = tenant === null || only !== null ? null : (tenants.find(tenant) ?? -1);
    return {
      groups: new FailureGroups(parts),
      low: firstKeyAt(parts.since) - 1,
      tenant: number,
      sources: sources.missing({ tenant: number, endpoint: only }),
      after: { event: Number.MAX_SAFE_INTEGER, endpoint: 0 },
      looked: 0,
      end: false,
    };
  }

  #advance(progress: Progress): void {
    const { groups, low: end, tenant, sources, after } = progress;
    const place = { key: after.event, minor: after.endpoint, end, tenant };
    const pairs = this.#keys.rows(sources, "pairs", "newest", place, CHUNK);
    const rows = this.#rows.all({
      pairs: JSON.stringify(pairs.map(({ event, endpoint }) => [event, endpoint])),
      tenant,
    });
    for (const row of rows) {
      progress.looked += row.wanted === 1 ? 1 : PASSING_COST;
      this.#add(groups, row);
    }
    progress.after = pairs.at(-1) ?? after;
    progress.end = pairs.length < CHUNK;
  }

  #add(groups: FailureGroups, row: Row): void {
    const { event, endpoint: number, status: stored, trigger, random } = row;
    if (stored === null || random === null || row.outcome !== FAILURE) return;
    const endpoint = this.#parts.index.byNumber(number);
    const status = shownStatus(endpoint, { event, status: stored, trigger });
    if (status !== "failed" && status !== "pending" && status !== "held") return;
    const { error, statusCode, firstAt, lastAt } = row;
    const attempt = () => attemptId(eventId(event, random), number, row.number);
    groups.add({ endpoint: endpoint.id, status, error, statusCode, firstAt, lastAt, attempt });
  }
}

/**
 * One statement for all pairs of a turn: asked one by one they cost ten times as much. What was interrupted says nothing
 * of the receiver: the attempt before it does.
 */
const ROWS = `
    SELECT p.event, p.endpoint, o.number IS NOT NULL AS wanted, d.status, d.trigger, e.random, last.number,
      last.outcome, last.error, last.status_code AS statusCode, last.started_at AS lastAt,
      CASE last.number WHEN 1 THEN last.started_at ELSE (
       SELECT started_at FROM attempt
       WHERE event = last.event AND endpoint = last.endpoint AND round = last.round AND outcome = last.outcome
         AND error IS last.error AND status_code IS last.status_code ORDER BY number LIMIT 1) END AS firstAt
    FROM (SELECT value ->> 0 AS event, value ->> 1 AS endpoint FROM json_each(@pairs)) p
    LEFT JOIN endpoint o ON o.number = p.endpoint AND o.tenant = ifnull(@tenant, o.tenant)
    LEFT JOIN delivery d ON d.event = p.event AND d.endpoint = o.number AND d.status IN (${WAITING}, ${FAILED})
    LEFT JOIN event e ON e.key = d.event AND e.test = 0
    LEFT JOIN attempt last ON last.event = e.key AND last.endpoint = d.endpoint AND last.number = (
      SELECT number FROM attempt
      WHERE event = e.key AND endpoint = d.endpoint AND outcome <> ${outcomeCode("interrupted")}
      ORDER BY number DESC LIMIT 1)
    ORDER BY p.event DESC, p.endpoint DESC`;
