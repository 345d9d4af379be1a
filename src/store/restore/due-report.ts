/** What a store that was restored would send: counted once, before it serves. */
import type { Database } from "better-sqlite3";

export interface DueReport {
  /** Deliveries that are pending; those that are not due yet included. */
  readonly pending: number;
  readonly due: number;
  /** Epoch milliseconds; null when nothing is pending. */
  readonly oldestDueAt: number | null;
  /** Most pending first, at most 20. */
  readonly endpoints: readonly DueOfEndpoint[];
}

export interface DueOfEndpoint {
  readonly id: string;
  readonly url: string;
  /** What a disabled one has pending is held. */
  readonly enabled: boolean;
  readonly pending: number;
  readonly due: number;
  readonly oldestDueAt: number;
}

const SHOWN = 20;

const COUNTS = `
  SELECT e.id, e.url, e.enabled, sum(d.pending) AS pending, sum(d.due) AS due, min(d.oldest) AS oldest FROM (
    SELECT endpoint, count(*) AS pending, sum(due_at <= $now) AS due, min(due_at) AS oldest
      FROM delivery INDEXED BY delivery_waiting WHERE status = 1 GROUP BY endpoint
    UNION ALL
    SELECT endpoint, count(*), count(*), min(due_at)
      FROM delivery INDEXED BY delivery_fresh WHERE status = 0 GROUP BY endpoint
  ) d JOIN endpoint e ON e.number = d.endpoint WHERE e.deleted_at IS NULL
  GROUP BY e.number ORDER BY pending DESC, e.number`;

interface Row {
  readonly id: string;
  readonly url: string;
  readonly enabled: 0 | 1;
  readonly pending: number;
  readonly due: number;
  readonly oldest: number;
}

export function reportDue(db: Database, now: number): DueReport {
  const rows = db.prepare<[{ now: number }], Row>(COUNTS).all({ now });
  const sum = (count: (row: Row) => number) => rows.reduce((total, row) => total + count(row), 0);
  return {
    pending: sum(({ pending }) => pending),
    due: sum(({ due }) => due),
    oldestDueAt: rows.length === 0 ? null : rows.reduce((least, { oldest }) => Math.min(least, oldest), Infinity),
    endpoints: rows
      .slice(0, SHOWN)
      .map(({ oldest, enabled, ...row }) => ({ ...row, enabled: enabled === 1, oldestDueAt: oldest })),
  };
}
