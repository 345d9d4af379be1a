/** Takes a database from the schema it has to the one that this program needs: all steps in one transaction. */
import type { Database } from "better-sqlite3";
import { StoreRefused } from "../../files/refused.ts";
import { storageFault } from "./faults.ts";
import { APPLICATION_ID, type Migration } from "./schema.ts";

/** `seed` runs in the same transaction. Whatever fails leaves the database as it was. */
export function applySteps(
  db: Database,
  version: number,
  { migrations, seed }: { readonly migrations: readonly Migration[]; readonly seed?: (db: Database) => void },
): void {
  if (version === migrations.length) return;
  const all = db.transaction(() => {
    for (const [place, step] of [...migrations.entries()].slice(version)) applyStep(db, place, step);
    const broken = db.pragma("foreign_key_check") as readonly { readonly table: string }[];
    if (broken.length > 0) throw new Error(`the migration would break references of ${broken[0]!.table}`);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${migrations.length}`);
    seed?.(db);
  });
  all.immediate();
}

function applyStep(db: Database, place: number, { name, sql }: Migration): void {
  try {
    db.exec(sql);
  } catch (error) {
    if (storageFault(error) === "full") {
      throw new StoreRefused(
        74,
        `the disk is full: the migration to schema ${place + 1} (${name}) was undone`,
        "free some space and try again; nothing was changed",
        error,
      );
    }
    throw error;
  }
}

/** Runs the steps on the real data and undoes them. */
export function tryOut(db: Database, version: number, migrations: readonly Migration[]): void {
  const undone = new Error("undone");
  try {
    applySteps(db, version, {
      migrations,
      seed: () => {
        throw undone;
      },
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
}
