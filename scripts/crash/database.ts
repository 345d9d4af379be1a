/** Checks the database with SQLite, once the daemon has closed it. */
import Database from "better-sqlite3";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { dataDir, type Home } from "./daemon.ts";

/** Returns the faults in a copy of the database, and leaves the original unchanged. */
export function databaseFaults(home: Home): string[] {
  const file = join(dataDir(home), "webhookd.db");
  const copy = join(home.dir, "check.db");
  const faults = existsSync(`${file}-wal`) ? ["a clean stop left a -wal file"] : [];
  // Neither a kill nor a power cut may damage the database.
  const alarms = readdirSync(dataDir(home)).filter((name) => name.includes(".damaged-"));
  faults.push(...alarms.map((name) => `a start took it for damaged, and kept ${name}`));
  copyFileSync(file, copy);
  const db = new Database(copy, { readonly: true });
  try {
    const integrity = db.pragma("integrity_check") as { integrity_check: string }[];
    faults.push(...integrity.map((row) => row.integrity_check).filter((text) => text !== "ok"));
    const broken = db.pragma("foreign_key_check") as { table: string; rowid: number }[];
    faults.push(...broken.map(({ table, rowid }) => `row ${rowid} of ${table} refers to nothing`));
  } finally {
    db.close();
  }
  return faults.map((fault) => `the database: ${fault}`);
}
