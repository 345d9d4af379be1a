/**
 * Deliveries whose rows are on a damaged page, from what else knows of them: each index has its share of the row, and
 * the attempts say how far it got. So what is owed is still sent, and what was delivered is not.
 */
import type { Database } from "better-sqlite3";
import { CANCELLED, DELIVERED, FAILED, FRESH, WAITING } from "../numbers/codes.ts";
import { isDamage } from "../engine/faults.ts";
import { instantOf } from "../numbers/ids.ts";
import type { Gap } from "./readable-rows.ts";

export interface Rebuilding {
  readonly from: Database;
  /** Has all that could be read of the tables. */
  readonly to: Database;
  readonly gaps: readonly Gap[];
}

type Pair = [event: number, endpoint: number];
type Owed = [...Pair, dueAt: number | null];

interface Last {
  readonly number: number;
  readonly round: number;
  readonly retry: number;
  readonly outcome: number;
  readonly trigger: number;
}

const SUCCEEDED = 0;
const REFUSED = 1;
/** Attempts that were asked for by hand, and tests, use no rung. */
const LAST_ON_LADDER = 1;

export function rebuildDeliveries({ from, to, gaps }: Rebuilding): void {
  const last = to.prepare<Pair, Last>(
    "SELECT number, round, retry, outcome, trigger FROM attempt WHERE event = ? AND endpoint = ? ORDER BY number DESC",
  );
  const insert = to.prepare(
    `INSERT OR IGNORE INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const open = new Map<string, { readonly status: number; readonly dueAt: number | null }>();
  const within = (index: string, status: number, dueAt: string) =>
    inGaps<Owed>(
      from,
      gaps,
      `SELECT event, endpoint, ${dueAt} FROM delivery INDEXED BY ${index} WHERE status = ${status}`,
    );
  for (const [event, endpoint, dueAt] of within("delivery_waiting", WAITING, "due_at"))
    open.set(`${event} ${endpoint}`, { status: WAITING, dueAt });
  // Due at once: when it was published, it was handed over.
  for (const [event, endpoint] of within("delivery_fresh", FRESH, "NULL"))
    open.set(`${event} ${endpoint}`, { status: FRESH, dueAt: instantOf(event) });
  for (const [event, endpoint] of within("delivery_failed", FAILED, "NULL"))
    open.set(`${event} ${endpoint}`, { status: FAILED, dueAt: null });
  for (const [event, endpoint] of inGaps<Pair>(
    from,
    gaps,
    "SELECT event, endpoint FROM delivery INDEXED BY delivery_endpoint WHERE TRUE",
  )) {
    const made = last.all(event, endpoint);
    const delivered = made.some(({ outcome }) => outcome === SUCCEEDED);
    const { status, dueAt } = open.get(`${event} ${endpoint}`) ?? {
      status: delivered ? DELIVERED : CANCELLED,
      dueAt: null,
    };
    const [latest] = made;
    const attempts = status === FRESH ? 0 : (latest?.number ?? 0);
    const retry = status === WAITING ? rungAfter(made) : (latest?.retry ?? 0);
    insert.run(event, endpoint, status, attempts, latest?.round ?? 1, retry, latest?.trigger ?? 0, dueAt);
  }
}

/** `made` is all that was attempted, the latest first. */
function rungAfter(made: readonly Last[]): number {
  const counted = made.filter(
    ({ outcome, round, trigger }) => outcome === REFUSED && round === made[0]!.round && trigger <= LAST_ON_LADDER,
  );
  return Math.max(0, ...counted.map(({ retry }) => retry + 1));
}

/** As much of it as can be read. */
function* inGaps<T extends [number, ...unknown[]]>(db: Database, gaps: readonly Gap[], select: string): Generator<T> {
  for (const { after, before } of gaps) {
    try {
      yield* db.prepare<[number, number], T>(`${select} AND event BETWEEN ? AND ?`).raw().iterate(after, before);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
}
