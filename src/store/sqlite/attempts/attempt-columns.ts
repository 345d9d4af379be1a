/**
 * SQL for the columns of an attempt, which has a row of its own or is kept in its delivery's row
 * (`rows/attempt-row.ts`).
 */
import { ATTEMPT_COLUMNS } from "../../rows/attempt-row.ts";

export const COLUMNS = ATTEMPT_COLUMNS.join();
/** The same columns of a first attempt that is kept in its delivery's row. */
export const FIRST = `d.event, d.endpoint, 1 AS number, d.url, 0 AS trigger, 1 AS round, 0 AS retry, d.started_at,
  d.duration_ms, 0 AS outcome, d.status_code, NULL AS error, NULL AS body_error, d.secret_version, d.truncated, d.body,
  NULL AS details, d.connection`;
export const KEPT_FIRST = "delivery d WHERE d.started_at IS NOT NULL";
/** SQL for all attempts, wherever they are kept. */
export const ATTEMPTS = `(SELECT ${COLUMNS} FROM attempt UNION ALL SELECT ${FIRST} FROM ${KEPT_FIRST})`;

/** SQL for the number of `a`, or of the first attempt that `d` keeps; NULL if there was none. */
export const NUMBER = "coalesce(a.number, iif(d.started_at IS NULL, NULL, 1))";
/** SQL for the columns of `delivery d LEFT JOIN attempt a`. */
export const JOINED = `d.event, d.endpoint, ${NUMBER} AS number, coalesce(a.url, d.url) AS url,
  coalesce(a.trigger, 0) AS trigger, coalesce(a.round, 1) AS round, coalesce(a.retry, 0) AS retry,
  coalesce(a.started_at, d.started_at) AS started_at, coalesce(a.duration_ms, d.duration_ms) AS duration_ms,
  coalesce(a.outcome, 0) AS outcome, coalesce(a.status_code, d.status_code) AS status_code, a.error, a.body_error,
  coalesce(a.secret_version, d.secret_version) AS secret_version, coalesce(a.truncated, d.truncated) AS truncated,
  coalesce(a.body, d.body) AS body, a.details, coalesce(a.connection, d.connection) AS connection`;
