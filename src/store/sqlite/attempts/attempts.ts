/** Rows of attempts. A success is packed; a failure or a test is kept in full. */
import type { Database, Statement } from "better-sqlite3";
import { answered, isByStatus, isPlain, type Outcome } from "../../../domain/deliveries/attempt.ts";
import type { Attempt, EndedAttempt, ResultFilter } from "../../store.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { LateAttempts } from "./attempts-by-time.ts";
import type { Responses } from "./responses.ts";
import {
  attemptId,
  DELIVERED,
  deliveryId,
  isPrompt,
  outcomeCode,
  outcomeOf,
  triggerCode,
  triggerOf,
  WAITING,
} from "../../rows/codes.ts";
import type { Interned } from "../numbers/names.ts";
import { ATTEMPTS, COLUMNS, FIRST, KEPT_FIRST } from "./attempt-columns.ts";
import { packConnection, readConnection, type AttemptRow, type ConnectionDetails } from "../../rows/attempt-row.ts";
import { matches } from "../../rows/filters.ts";

type ResultRow = Pick<AttemptRow, "error" | "status_code">;
type Details = ConnectionDetails & Pick<Outcome, "detail">;

/** The stored part of an attempt, whoever made it. */
export interface NewAttempt extends Omit<EndedAttempt, "claim" | "verdict"> {
  readonly claim: Pick<EndedAttempt["claim"], "number" | "trigger" | "round" | "retry">;
}

const NO_BODY = new Uint8Array(0);

export class Attempts {
  readonly #index: EndpointIndex;
  readonly #urls: Interned;
  readonly #responses: Responses;
  readonly late: LateAttempts;
  readonly #insert: Statement<unknown[]>;
  readonly #last: Statement<[number, number], AttemptRow>;
  readonly #lastSuccess: Statement<[number, number], AttemptRow>;
  readonly #lastResult: Statement<[number, number], ResultRow>;
  readonly #keepFirst: Statement<unknown[]>;
  readonly #moveFirst: Statement<[number, number]>;
  readonly #clearFirst: Statement<[number, number]>;

  constructor(db: Database, parts: { index: EndpointIndex; urls: Interned; responses: Responses }) {
    this.#index = parts.index;
    this.#urls = parts.urls;
    this.#responses = parts.responses;
    this.late = new LateAttempts(db);
    this.#insert = db.prepare(
      `INSERT OR IGNORE INTO attempt
       (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome, status_code, error,
        body_error, secret_version, truncated, body, details, connection)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    const last = `FROM ${ATTEMPTS} WHERE event = ? AND endpoint = ? ORDER BY number DESC LIMIT 1`;
    this.#last = db.prepare(`SELECT * ${last}`);
    const success = `WHERE event = ? AND endpoint = ? AND outcome = ${outcomeCode("succeeded")}`;
    this.#lastSuccess = db.prepare(`SELECT * FROM ${ATTEMPTS} ${success} ORDER BY number DESC LIMIT 1`);
    // Lists and jobs need this for each row that they look at, and a whole row would cost several times as much.
    this.#lastResult = db.prepare(`SELECT number, error, status_code ${last}`);
    this.#keepFirst = db.prepare(
      `UPDATE delivery SET status = ${DELIVERED}, attempts = 1, due_at = NULL, url = ?, started_at = ?, duration_ms = ?,
         status_code = ?, secret_version = ?, truncated = ?, body = ?, connection = ?
       WHERE event = ? AND endpoint = ? AND attempts = 0 AND status <= ${WAITING}`,
    );
    this.#moveFirst = db.prepare(
      `INSERT INTO attempt (${COLUMNS}) SELECT ${FIRST} FROM ${KEPT_FIRST} AND d.event = ? AND d.endpoint = ?`,
    );
    this.#clearFirst = db.prepare(
      `UPDATE delivery SET url = NULL, started_at = NULL, duration_ms = NULL, status_code = NULL, secret_version = NULL,
         truncated = NULL, body = NULL, connection = NULL WHERE event = ? AND endpoint = ?`,
    );
  }

  /**
   * Writes a plain first success into its delivery's row, and makes the delivery `delivered`. Returns false if that row
   * has changed since the attempt began.
   */
  deliverFirst(event: number, endpoint: number, { url, startedAt, outcome, secretVersion }: NewAttempt): boolean {
    const started = Math.round(startedAt);
    const { changes } = this.#keepFirst.run(
      this.#urls.number(url),
      started,
      Math.round(outcome.durationMs),
      outcome.statusCode,
      secretVersion,
      outcome.responseTruncated ? 1 : 0,
      outcome.responseBody.length === 0 ? null : outcome.responseBody,
      packConnection(outcome, started),
      event,
      endpoint,
    );
    return changes === 1;
  }

  /**
   * Leaves an existing attempt unchanged. Moves a first attempt out of the delivery's row, so that all attempts of a
   * delivery are in one place.
   */
  add(event: number, endpoint: number, { claim, url, startedAt, outcome, secretVersion }: NewAttempt): void {
    const plain = isByStatus(outcome) && claim.trigger !== "test";
    const started = Math.round(startedAt);
    const body = outcome.responseBody.length === 0 ? null : outcome.responseBody;
    const placed = {
      event,
      endpoint,
      number: claim.number,
      started_at: started,
      outcome: outcomeCode(outcome.outcome),
    };
    if (this.#moveFirst.run(event, endpoint).changes === 1) this.#clearFirst.run(event, endpoint);
    const { changes } = this.#insert.run(
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
      plain ? packConnection(outcome, started) : null,
    );
    if (changes === 0) return;
    this.late.noteIfLate(placed);
    if (body !== null) this.#responses.noteIfLate(started, event, endpoint, claim.number);
  }

  lastOf(event: string, key: number, endpoint: number): Attempt | null {
    const row = this.#last.get(key, endpoint);
    return row === undefined ? null : this.view(event, row);
  }

  lastSuccessOf(event: string, key: number, endpoint: number): Attempt | null {
    const row = this.#lastSuccess.get(key, endpoint);
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

/** Returns true if the delivery's row can contain everything about the attempt. */
export function isPlainFirst(event: number, { claim, startedAt, outcome }: NewAttempt): boolean {
  const { number, trigger, round } = claim;
  return (
    number === 1 && round === 1 && trigger === "ladder" && isPlain(outcome) && isPrompt(event, Math.round(startedAt))
  );
}

function secretOf(version: number | null, now: number): Attempt["secret"] {
  if (version === null) return null;
  return version === now ? "current" : "previous";
}

function detailsOf({ detail, remoteAddress, phases, responseHeaders }: Outcome): Details {
  return { detail, remoteAddress, phases, responseHeaders };
}

function plainDetails({ status_code: status, started_at: startedAt, connection }: AttemptRow): Details {
  return { detail: answered(status), ...readConnection(connection, startedAt) };
}
