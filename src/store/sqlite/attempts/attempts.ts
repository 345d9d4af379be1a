/** Rows of attempts. A success is packed; a failure or a test is kept in full. */
import type { Database, Statement } from "better-sqlite3";
import { isPlain } from "../../../domain/deliveries/attempt.ts";
import type { Attempt, ResultFilter } from "../../store.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { LateAttempts } from "./attempts-by-time.ts";
import type { Responses } from "./responses.ts";
import { DELIVERED, isPrompt, outcomeCode, WAITING } from "../../rows/codes.ts";
import type { Interned } from "../numbers/names.ts";
import { ATTEMPTS, COLUMNS, FIRST, KEPT_FIRST } from "./attempt-columns.ts";
import {
  ATTEMPT_COLUMNS,
  attemptOf,
  attemptRow,
  type AttemptRow,
  type NewAttempt,
  packConnection,
} from "../../rows/attempt-row.ts";
import { matches } from "../../lists/filters.ts";

type ResultRow = Pick<AttemptRow, "error" | "status_code">;

export class Attempts {
  readonly #index: EndpointIndex;
  readonly #urls: Interned;
  readonly #responses: Responses;
  readonly late: LateAttempts;
  readonly #insert: Statement<[AttemptRow]>;
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
      `INSERT OR IGNORE INTO attempt (${COLUMNS}) VALUES (${ATTEMPT_COLUMNS.map((name) => `@${name}`).join()})`,
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
  add(event: number, endpoint: number, attempt: NewAttempt): void {
    const row = { ...attemptRow(event, endpoint, attempt), url: this.#urls.number(attempt.url) };
    if (this.#moveFirst.run(event, endpoint).changes === 1) this.#clearFirst.run(event, endpoint);
    if (this.#insert.run(row).changes === 0) return;
    this.late.noteIfLate(row);
    if (row.body !== null) this.#responses.noteIfLate(row.started_at, event, endpoint, row.number);
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
    const { id, secretVersion } = this.#index.byNumber(row.endpoint);
    return attemptOf(row, { event, endpoint: id, url: this.#urls.name(row.url), secretNow: secretVersion });
  }
}

/** Returns true if the delivery's row can contain everything about the attempt. */
export function isPlainFirst(event: number, { claim, startedAt, outcome }: NewAttempt): boolean {
  const { number, trigger, round } = claim;
  return (
    number === 1 && round === 1 && trigger === "ladder" && isPlain(outcome) && isPrompt(event, Math.round(startedAt))
  );
}
