/** What there is of deliveries and endpoints, counted along indexes some rows at a time. */
import type { Database, Statement } from "better-sqlite3";
import type { Census as Counts, CensusStep } from "../../store.ts";
import { FAILED, FRESH, triggerCode, WAITING } from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";

type Counting = { -readonly [K in keyof Counts]: Counts[K] };

/** One index to walk: a row's first columns are the keys that it is sorted by. */
interface Part {
  readonly keys: number;
  readonly rows: Statement<number[], number[]>;
  count(row: readonly number[], counts: Counting): void;
}

export class Census {
  readonly #parts: readonly Part[];

  constructor(db: Database, index: EndpointIndex) {
    const part = (keys: number, sql: string, count: Part["count"]): Part => {
      return { keys, count, rows: db.prepare<number[], number[]>(`${sql} LIMIT ${CHUNK}`).raw() };
    };
    const open = (event: number, number: number, counts: Counting) => {
      const { deleted, enabled, cancelTo } = index.byNumber(number);
      if (deleted || event <= (cancelTo ?? -1)) return;
      if (enabled) counts.pending++;
      else counts.held++;
    };
    this.#parts = [
      part(
        3,
        `SELECT endpoint, due_at, event FROM delivery INDEXED BY delivery_waiting
         WHERE status = ${WAITING} AND (endpoint, due_at, event) > (?, ?, ?) ORDER BY endpoint, due_at, event`,
        ([endpoint, , event], counts) => open(event!, endpoint!, counts),
      ),
      part(
        2,
        `SELECT event, endpoint FROM delivery INDEXED BY delivery_fresh
         WHERE status = ${FRESH} AND (event, endpoint) > (?, ?) ORDER BY event, endpoint`,
        ([event, endpoint], counts) => open(event!, endpoint!, counts),
      ),
      part(
        2,
        `SELECT event, endpoint, trigger FROM delivery INDEXED BY delivery_failed
         WHERE status = ${FAILED} AND (event, endpoint) > (?, ?) ORDER BY event, endpoint`,
        ([, , trigger], counts) => {
          if (trigger !== triggerCode("test")) counts.failed++;
        },
      ),
      part(
        1,
        "SELECT number, enabled, deleted_at IS NOT NULL FROM endpoint WHERE number > ? ORDER BY number",
        ([, enabled, deleted], counts) => {
          if (deleted === 1) return;
          if (enabled === 1) counts.enabled++;
          else counts.disabled++;
        },
      ),
    ];
  }

  step(from: string | null): CensusStep {
    const [at, ...after] = from === null ? [0] : from.split(",").map(Number);
    const { keys, rows, count } = this.#parts[at!]!;
    const found = rows.all(...(after.length > 0 ? after : Array.from({ length: keys }, () => -1)));
    const counts: Counting = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0 };
    for (const row of found) count(row, counts);
    const last = found.length < CHUNK ? null : found.at(-1)!.slice(0, keys);
    if (last !== null) return { ...counts, next: [at, ...last].join(",") };
    return { ...counts, next: at! + 1 < this.#parts.length ? String(at! + 1) : null };
  }
}
