/** Attempt rows. What a success tells is packed; what failed, and a test, is kept as it is and in full. */
import type { Database, Statement } from "better-sqlite3";
import {
  answered,
  NO_PHASES,
  type AttemptError,
  type BodyError,
  type Outcome,
} from "../../../domain/deliveries/attempt.ts";
import type { Attempt, EndedAttempt, ResultFilter } from "../../store.ts";
import { packWay, readWay, type Way } from "./attempt-way.ts";
import {
  outcomeCode,
  outcomeOf,
  triggerCode,
  triggerOf,
  attemptId,
  deliveryId,
  firstKeyAt,
  instantOf,
  type Interned,
} from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { isOneOf, type Order } from "./sources.ts";
import type { Responses } from "./responses.ts";

export interface AttemptRow {
  readonly event: number;
  readonly endpoint: number;
  readonly number: number;
  readonly url: number;
  readonly trigger: number;
  readonly round: number;
  readonly retry: number;
  readonly started_at: number;
  readonly duration_ms: number;
  readonly outcome: number;
  readonly status_code: number | null;
  readonly error: AttemptError | null;
  readonly body_error: BodyError | null;
  readonly secret_version: number | null;
  readonly truncated: number;
  readonly body: Buffer | null;
  readonly details: string | null;
  readonly way: Buffer | null;
}

type ResultRow = Pick<AttemptRow, "error" | "status_code">;
type Details = Way & Pick<Outcome, "detail">;

/** What is kept of an attempt, whoever made it. */
export interface NewAttempt extends Omit<EndedAttempt, "claim" | "verdict"> {
  readonly claim: Pick<EndedAttempt["claim"], "number" | "trigger" | "round" | "retry">;
}

/** Of successes that an older version recorded. */
const UNKNOWN: Way = { remoteAddress: null, phases: NO_PHASES, responseHeaders: {} };
const NO_BODY = new Uint8Array(0);

export class Attempts {
  readonly #index: EndpointIndex;
  readonly #urls: Interned;
  readonly #responses: Responses;
  readonly late: LateAttempts;
  readonly #insert: Statement<unknown[]>;
  readonly #last: Statement<[number, number], AttemptRow>;
  readonly #lastResult: Statement<[number, number], ResultRow>;

  constructor(db: Database, parts: { index: EndpointIndex; urls: Interned; responses: Responses }) {
    this.#index = parts.index;
    this.#urls = parts.urls;
    this.#responses = parts.responses;
    this.late = new LateAttempts(db);
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO attempt
       (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome, status_code, error,
        body_error, secret_version, truncated, body, details, way)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#last = db.prepare("SELECT * FROM attempt WHERE event = ? AND endpoint = ? ORDER BY number DESC LIMIT 1");
    // Lists and jobs ask it of each row they look at: a whole row would cost several times as much.
    this.#lastResult = db.prepare(
      "SELECT error, status_code FROM attempt WHERE event = ? AND endpoint = ? ORDER BY number DESC LIMIT 1",
    );
  }

  /** An attempt that is there already stays as it is. */
  add(event: number, endpoint: number, { claim, url, startedAt, outcome, secretVersion }: NewAttempt): void {
    const plain = outcome.outcome === "succeeded" && claim.trigger !== "test";
    const started = Math.round(startedAt);
    const body = outcome.responseBody.length === 0 ? null : outcome.responseBody;
    const placed = {
      event,
      endpoint,
      number: claim.number,
      started_at: started,
      outcome: outcomeCode(outcome.outcome),
    };
    this.late.noteIfLate(placed);
    if (body !== null) this.#responses.noteIfLate(started, event, endpoint, claim.number);
    this.#insert.run(
      event,
      endpoint,
      claim.number,
      this.#urls.number(url),
      triggerCode(claim.trigger),
      claim.round,
      claim.retry,
      started,
      Math.round(outcome.durationMs),
      placed.outcome,
      outcome.statusCode,
      outcome.error,
      outcome.bodyError,
      secretVersion,
      outcome.responseTruncated ? 1 : 0,
      body,
      plain ? null : JSON.stringify(detailsOf(outcome)),
      plain ? packWay(outcome, started) : null,
    );
  }

  lastOf(event: string, key: number, endpoint: number): Attempt | null {
    const row = this.#last.get(key, endpoint);
    return row === undefined ? null : this.view(event, row);
  }

  lastMatches(event: number, endpoint: number, filter: ResultFilter): boolean {
    const row = this.#lastResult.get(event, endpoint);
    return row !== undefined && matches(row, filter);
  }

  view(event: string, row: AttemptRow): Attempt {
    const endpoint = this.#index.byNumber(row.endpoint);
    const trigger = triggerOf(row.trigger);
    const onLadder = trigger === "ladder" || trigger === "replay";
    const details = row.details === null ? plainDetails(row) : (JSON.parse(row.details) as Details);
    return {
      id: attemptId(event, row.endpoint, row.number),
      event,
      delivery: deliveryId(event, row.endpoint),
      endpoint: endpoint.id,
      url: this.#urls.name(row.url),
      number: row.number,
      trigger,
      round: row.round,
      retry: onLadder ? row.retry : null,
      startedAt: row.started_at,
      durationMs: row.duration_ms,
      outcome: outcomeOf(row.outcome),
      statusCode: row.status_code,
      error: row.error,
      bodyError: row.body_error,
      secret: secretOf(row.secret_version, endpoint.secretVersion),
      ...details,
      responseBody: row.body ?? NO_BODY,
      responseTruncated: row.truncated === 1,
    };
  }
}

function secretOf(version: number | null, now: number): Attempt["secret"] {
  if (version === null) return null;
  return version === now ? "current" : "previous";
}

export function matches(row: ResultRow, { error, statusCode }: ResultFilter): boolean {
  if (error !== undefined && (row.error === null || !isOneOf(row.error, error))) return false;
  if (statusCode === undefined) return true;
  return row.status_code !== null && row.status_code >= statusCode.least && row.status_code <= statusCode.most;
}

function detailsOf({ detail, remoteAddress, phases, responseHeaders }: Outcome): Details {
  return { detail, remoteAddress, phases, responseHeaders };
}

function plainDetails({ status_code: status, started_at: startedAt, way }: AttemptRow): Details {
  return { detail: answered(status), ...(way === null ? UNKNOWN : readWay(way, startedAt)) };
}

export const PROMPT_MS = 1000;

type Placed = Pick<AttemptRow, "event" | "endpoint" | "number" | "started_at" | "outcome">;
export interface LatePage {
  readonly endpoint: number;
  readonly at: number;
  readonly event: number;
  readonly number: number;
  readonly limit: number;
}

export type LateRow = AttemptRow & { readonly random: string; readonly at: number };

/**
 * Attempts that did not begin within a second of their event: retries, replays, what waited. They alone are indexed by
 * time. The rest is found by its event, whose key says when it began to within that second; an index over all of them
 * would cost every success an entry, on a page of its own where endpoints are many.
 */
export class LateAttempts {
  readonly #db: Database;
  readonly #note: Statement<unknown[]>;
  readonly #has: Statement<unknown[], number>;
  readonly #ofEvent: Statement<[number], Placed>;
  readonly #drop: Statement<unknown[]>;
  readonly #page: Readonly<Record<Order, Statement<unknown[], LateRow>>>;

  constructor(db: Database) {
    this.#db = db;
    const at = "endpoint = ? AND failed = ? AND started_at = ? AND event = ? AND number = ?";
    this.#note = db.prepare(
      "INSERT OR IGNORE INTO late_attempt (endpoint, failed, started_at, event, number) VALUES (?, ?, ?, ?, ?)",
    );
    this.#has = db.prepare<unknown[], number>(`SELECT 1 FROM late_attempt WHERE ${at}`).pluck();
    this.#drop = db.prepare(`DELETE FROM late_attempt WHERE ${at}`);
    this.#ofEvent = db.prepare("SELECT event, endpoint, number, started_at, outcome FROM attempt WHERE event = ?");
    const page = (way: string, compare: string) =>
      db.prepare<unknown[], LateRow>(
        `SELECT a.*, e.random, l.started_at AS at FROM late_attempt l
         CROSS JOIN attempt a ON a.event = l.event AND a.endpoint = l.endpoint AND a.number = l.number
         CROSS JOIN event e ON e.key = l.event
         WHERE l.endpoint = @endpoint AND l.failed = @failed
           AND (l.started_at, l.event, l.number) ${compare} (@at, @event, @number)
         ORDER BY l.started_at ${way}, l.event ${way}, l.number ${way} LIMIT @limit`,
      );
    this.#page = { newest: page("DESC", "<"), oldest: page("ASC", ">") };
  }

  /** For each attempt that is recorded, inside its transaction. */
  noteIfLate(row: Placed): void {
    if (!isPrompt(row)) this.#note.run(...keyOf(row));
  }

  /** All that there are, whatever was noted of them. Not inside a transaction. */
  noteAll(): void {
    this.#db.exec(
      `BEGIN;
       DELETE FROM late_attempt;
       INSERT INTO late_attempt (endpoint, failed, started_at, event, number)
         SELECT endpoint, outcome <> 0, started_at, event, number FROM attempt
         WHERE started_at - event / ${firstKeyAt(1)} NOT BETWEEN 0 AND ${PROMPT_MS - 1};
       COMMIT`,
    );
  }

  /** Whether it is found by time. An older version noted none. */
  has(row: Placed): boolean {
    return !isPrompt(row) && this.#has.get(...keyOf(row)) !== undefined;
  }

  /** Before the event's attempts are deleted. */
  dropOf(event: number): void {
    for (const row of this.#ofEvent.all(event)) if (!isPrompt(row)) this.#drop.run(...keyOf(row));
  }

  /** Those that failed, or those that did not. */
  page(order: Order, failed: boolean, from: LatePage): LateRow[] {
    return this.#page[order].all({ ...from, failed: +failed });
  }
}

function isPrompt({ started_at: startedAt, event }: Placed): boolean {
  const after = startedAt - instantOf(event);
  return after >= 0 && after < PROMPT_MS;
}

function keyOf({ endpoint, outcome, started_at: startedAt, event, number }: Placed) {
  return [endpoint, outcome === 0 ? 0 : 1, startedAt, event, number] as const;
}
