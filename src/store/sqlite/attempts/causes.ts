/**
 * Stores the cause of a delivery's failure as one number in its row, so that lists and reports find it by an index in
 * which no plain success has an entry. The number holds the delivery's state and the error of its last attempt. It is
 * NULL if the delivery arrived or was not attempted. An interrupted attempt says nothing about the receiver, so the
 * attempt before it counts.
 */
import type { Database, Statement } from "better-sqlite3";
import { ATTEMPT_ERRORS, type AttemptError } from "../../../domain/deliveries/attempt.ts";
import type { Meta } from "../engine/meta.ts";
import { CANCELLED, DELIVERED, FAILED, outcomeCode, triggerCode, WAITING } from "../../rows/codes.ts";

/* These numbers are on disk: a status, plus five for a test, then the error's place (from 1) and the status code. */
const STATE = 1_000_000;
const ERROR = 1000;
const TEST = 5;

const IS_TEST = `iif(trigger = ${triggerCode("test")}, ${TEST}, 0)`;

/** SQL that cancels a delivery, and SQL that starts a new round. */
export const CANCEL = `status = ${CANCELLED}, due_at = NULL,
  cause = coalesce(cause, (status + ${IS_TEST}) * ${STATE}) + (${CANCELLED} - status) * ${STATE}`;
export const RESTART = `status = ${WAITING}, round = round + 1, retry = 0,
  cause = cause + (${WAITING} - status) * ${STATE}`;

/** SQL to run before failed deliveries are removed, so that they no longer count as failures. */
export const UNCOUNT = "UPDATE delivery SET failed_at = NULL, failing_since = NULL WHERE failed_at IS NOT NULL AND";

export interface Cause {
  readonly status: number;
  readonly test: boolean;
  /** Null if no attempt failed. */
  readonly error: AttemptError | null;
  readonly statusCode: number | null;
}

function causeNumber({ status, test, error, statusCode }: Cause): number {
  const state = (status + (test ? TEST : 0)) * STATE;
  return error === null ? state : state + (ATTEMPT_ERRORS.indexOf(error) + 1) * ERROR + (statusCode ?? 0);
}

export function causeOf(number: number): Cause {
  const state = Math.floor(number / STATE);
  const code = number % ERROR;
  return {
    status: state % TEST,
    test: state > TEST,
    error: ATTEMPT_ERRORS[Math.floor((number % STATE) / ERROR) - 1] ?? null,
    statusCode: code === 0 ? null : code,
  };
}

interface Row {
  readonly status: number;
  readonly test: number;
  readonly outcome: number | null;
  readonly error: AttemptError | null;
  readonly statusCode: number | null;
  readonly lastAt: number | null;
  readonly firstAt: number | null;
}

interface Walked {
  readonly event: number;
  readonly endpoint: number;
  readonly wanted: number;
}

/** The number of deliveries that one step of the walk examines. */
const STEP = 2000;

export class Causes {
  readonly #row: Statement<[number, number], Row>;
  readonly #set: Statement<[number | null, number | null, number | null, number, number]>;
  readonly #walk: Statement<[number, number], Walked>;
  readonly #walkOf: Statement<[number], Walked>;

  constructor(db: Database) {
    this.#row = db.prepare(
      `SELECT d.status, e.test, last.outcome, last.error, last.status_code AS statusCode, last.started_at AS lastAt,
         CASE last.number WHEN 1 THEN last.started_at ELSE (
           SELECT started_at FROM attempt
           WHERE event = last.event AND endpoint = last.endpoint AND round = last.round AND outcome = last.outcome
             AND error IS last.error AND status_code IS last.status_code ORDER BY number LIMIT 1) END AS firstAt
       FROM delivery d JOIN event e ON e.key = d.event
       LEFT JOIN attempt last ON last.event = d.event AND last.endpoint = d.endpoint AND last.number = (
         SELECT number FROM attempt
         WHERE event = d.event AND endpoint = d.endpoint AND outcome <> ${outcomeCode("interrupted")}
         ORDER BY number DESC LIMIT 1)
       WHERE d.event = ? AND d.endpoint = ?`,
    );
    this.#set = db.prepare(
      "UPDATE delivery SET cause = ?, failed_at = ?, failing_since = ? WHERE event = ? AND endpoint = ?",
    );
    const walk = `SELECT event, endpoint, status <> ${DELIVERED} OR attempts > 1 AS wanted FROM delivery`;
    this.#walk = db.prepare(`${walk} WHERE event < ? ORDER BY event DESC, endpoint DESC LIMIT ?`);
    this.#walkOf = db.prepare(`${walk} WHERE event = ?`);
  }

  /** Call it inside a transaction, for each delivery that anything except a first success changed. */
  note(event: number, endpoint: number): void {
    const row = this.#row.get(event, endpoint);
    if (row === undefined) return;
    const { status, lastAt, firstAt, statusCode } = row;
    const failed = row.outcome === outcomeCode("failed");
    const [error, test] = [failed ? row.error : null, row.test === 1];
    const isPlain = !failed && status !== FAILED && status !== CANCELLED;
    const cause = isPlain ? null : causeNumber({ status, test, error, statusCode: failed ? statusCode : null });
    this.#set.run(cause, failed ? lastAt : null, failed ? firstAt : null, event, endpoint);
  }

  /** Records some of the missing causes, newest first. Returns false at the end. Call it inside a transaction. */
  noteSome(meta: Meta): boolean {
    const from = meta.causesNoted;
    if (from === null) return false;
    const rows = this.#walk.all(from, STEP);
    const isEnd = rows.length < STEP;
    const last = isEnd ? -1 : rows.at(-1)!.event;
    // The last event may have more deliveries than were read.
    for (const { event, endpoint, wanted } of [
      ...rows.filter(({ event }) => event !== last),
      ...this.#walkOf.all(last),
    ]) {
      if (wanted === 1) this.note(event, endpoint);
    }
    meta.causesNoted = isEnd ? null : last;
    return !isEnd;
  }
}

/** An endpoint, and a cause that some of its deliveries have. */
export interface Group {
  readonly endpoint: number;
  readonly cause: number;
}

/** More than the number of causes, so that an endpoint and a cause fit into one number. */
const CAUSES = 2 * TEST * STATE;
const NEXT = `SELECT endpoint * ${CAUSES} + cause FROM delivery INDEXED BY delivery_cause WHERE cause IS NOT NULL`;

/**
 * Lists the existing causes, with one search of the index for each. It does not compare two columns at once, because
 * SQLite would start at the rows with the same two values and walk over all of them.
 */
export class CauseList {
  readonly #all: Statement<[object], number>;
  readonly #endpoints: Statement<[number], number>;

  constructor(db: Database) {
    this.#all = db
      .prepare<[object], number>(
        `WITH RECURSIVE found (number) AS (
           SELECT CAST(@after AS INTEGER) UNION ALL
           SELECT coalesce(
             (${NEXT} AND endpoint = number / ${CAUSES} AND cause > number % ${CAUSES} ORDER BY cause LIMIT 1),
             (${NEXT} AND endpoint > number / ${CAUSES} ORDER BY endpoint, cause LIMIT 1))
           FROM found WHERE number < @last
         )
         SELECT number FROM found WHERE number > @after AND number <= @last LIMIT @limit`,
      )
      .pluck();
    this.#endpoints = db
      .prepare<[number], number>(
        `WITH RECURSIVE found (endpoint) AS (
           SELECT -1 UNION ALL
           SELECT (SELECT d.endpoint FROM delivery d INDEXED BY delivery_cause
                   WHERE cause IS NOT NULL AND d.endpoint > found.endpoint ORDER BY d.endpoint LIMIT 1)
           FROM found WHERE endpoint IS NOT NULL
         )
         SELECT endpoint FROM found WHERE endpoint >= 0 LIMIT ?`,
      )
      .pluck();
  }

  /** Lists the causes of one endpoint, or of all. */
  groups(endpoint: number | null, limit = Number.MAX_SAFE_INTEGER): Group[] {
    const after = endpoint === null ? -1 : endpoint * CAUSES;
    const last = endpoint === null ? Number.MAX_SAFE_INTEGER : (endpoint + 1) * CAUSES - 1;
    const numbers = this.#all.all({ after, last, limit });
    return numbers.map((number) => ({ endpoint: Math.floor(number / CAUSES), cause: number % CAUSES }));
  }

  /** Returns endpoints that have causes, at most `limit`. */
  endpoints(limit: number): number[] {
    return this.#endpoints.all(limit);
  }
}
