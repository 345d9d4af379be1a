/** Reads a stopped daemon's store without any of the daemon's code. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { seqIn } from "./payload.ts";

const DELIVERED = 2;

export interface StoreCounts {
  readonly events: number;
  readonly delivered: number;
  readonly attempts: number;
}

export function countStore(dir: string): StoreCounts {
  return read(dir, (count) => ({
    events: count("SELECT count(*) FROM event"),
    delivered: count(`SELECT count(*) FROM delivery WHERE status = ${DELIVERED}`),
    attempts: count(
      "SELECT (SELECT count(*) FROM attempt) + (SELECT count(*) FROM delivery WHERE started_at IS NOT NULL)",
    ),
  }));
}

/** Returns the numbers of the events whose deliveries are still open. */
export function pendingSeqs(dir: string): Set<number> {
  return read(dir, (_, db) => {
    const bodies = db
      .prepare<[], Buffer>("SELECT e.body FROM delivery d JOIN event e ON e.key = d.event WHERE d.status <= 1")
      .pluck()
      .iterate();
    const seqs = new Set<number>();
    for (const body of bodies) seqs.add(seqIn(body));
    return seqs;
  });
}

function read<T>(dir: string, look: (count: (sql: string) => number, db: Database.Database) => T): T {
  const db = new Database(join(dir, "data/webhookd.db"), { readonly: true });
  try {
    return look((sql) => db.prepare<[], number>(sql).pluck().get()!, db);
  } finally {
    db.close();
  }
}
