/**
 * Repairs a damaged database: copies what can be read into a new file that takes its place, and keeps the damaged one
 * beside it. Writing to a file with a damaged page would only spread the damage.
 */
import { readdirSync, rmSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { syncDirectory, syncFile } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";
import { commitReplacement, finishRestore, stagedFile } from "./restore-files.ts";
import type { SetAside } from "../files/spare-files.ts";
import { lookForDamage, type Looked } from "../sqlite/damage/damage.ts";
import { salvage } from "../sqlite/damage/salvage.ts";
import { Meta } from "../sqlite/engine/meta.ts";
import { openFile, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { MIGRATIONS, type Migration } from "../sqlite/engine/schema.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import type { Damage } from "../store.ts";

type Say = (fields: object, message: string) => void;

export interface OpeningLog {
  readonly warn: Say;
  readonly info?: Say;
  readonly error?: Say;
}

export interface Opened {
  readonly dir: string;
  readonly db: Database;
  /** The version of its schema. */
  readonly version: number;
  /** True if the last process did not close the database. */
  readonly wasKilled: boolean;
  readonly setAside: SetAside;
  readonly migrations?: readonly Migration[];
  readonly clock: { now(): number; monotonic(): number };
  readonly log?: OpeningLog | undefined;
  readonly statfs?: StatFs | undefined;
  readonly nativeBinding?: NativeBinding | undefined;
}

/** The time that a start after a kill may spend on checking pages: enough for about 30,000 pages of 8 KiB. */
const START_LOOK_MS = 1000;
/** The time for checking pages after work ran into damage, so that the report names them. */
const LOOK_MS = 5000;
/** If damage returns within this time, the disk is at fault, and writing to it would lose more. */
const SOON_MS = 10 * 60_000;

/**
 * Returns true if a repaired database took this one's place. Throws `StoreRefused` if it cannot be repaired. Then
 * nothing has changed.
 */
export async function mendIfDamaged(opened: Opened): Promise<boolean> {
  const { db, clock, log, setAside, wasKilled } = opened;
  let looked: Looked | null = null;
  if (!setAside.isThere) {
    if (!wasKilled || opened.version === 0) return false;
    looked = lookForDamage(db, { budgetMs: START_LOOK_MS, monotonic: () => clock.monotonic() });
    const { pages, of } = looked;
    log?.info?.(
      { pages, of, damaged: looked.damaged.size },
      "the last process did not stop cleanly: checked the pages of its database",
    );
    if (looked.damaged.size === 0) return false;
  }
  const damage = await mend(opened, looked);
  log?.error?.(
    { ...damage },
    "the database was damaged: a new one contains what could be read, and the damaged one is kept until you remove it",
  );
  return true;
}

/** Checks the pages now if `looked` is null. */
async function mend(opened: Opened, looked: Looked | null): Promise<Damage> {
  const { dir, db, version, clock, nativeBinding } = opened;
  const migrations = (opened.migrations ?? MIGRATIONS).slice(0, version);
  const database = join(dir, "webhookd.db");
  const now = clock.now();
  const staged = stagedFile(dir, "webhookd.db");
  try {
    const before = new Meta(db).damage;
    requireFirst(before, database, now);
    await requireSpace(dir, database, opened.statfs ?? statfs);
    const { damaged } = looked ?? lookForDamage(db, { budgetMs: LOOK_MS, monotonic: () => clock.monotonic() });
    rmSync(staged, { force: true });
    const to = openFile(staged, { timeout: 0, nativeBinding });
    const suffix = `.damaged-${new Date(now).toISOString().replaceAll(/[-:.]/g, "")}`;
    const pages = [...damaged].map(([name, all]) => ({ name, pages: all }));
    let damage: Damage;
    try {
      const lost = salvage({ from: db, to, file: database, migrations });
      // The start that found damage to the log may have run into this damage as well.
      const log = before !== null && isSoon(before, now) ? before.log : null;
      damage = { at: now, file: join(dir, `webhookd.db${suffix}`), pages, lost, log };
      new Meta(to).damage = damage;
    } finally {
      to.close();
    }
    syncFile(staged);
    syncDirectory(dir);
    db.close();
    commitReplacement(dir, suffix);
    finishRestore(dir);
    return damage;
  } catch (error) {
    for (const name of readdirSync(dir)) if (join(dir, name).startsWith(staged)) rmSync(join(dir, name));
    throw error;
  } finally {
    db.close();
  }
}

/** Refuses a second repair soon after the first. Damage to the log alone was not a repair. */
function requireFirst(before: Damage | null, database: string, now: number): void {
  if (before === null || before.file === before.log?.file || !isSoon(before, now)) return;
  throw new StoreRefused(
    65,
    `${database} is damaged again, although it was repaired at ${new Date(before.at).toISOString()}: do not trust its disk`,
    "restore a backup on another disk with: webhookd restore <file> --data-dir <directory>",
  );
}

function isSoon({ at }: Damage, now: number): boolean {
  return now >= at && now - at <= SOON_MS;
}

async function requireSpace(dir: string, database: string, ask: StatFs): Promise<void> {
  const needed = statSync(database).size;
  const { bavail, bsize } = await ask(dir);
  if (bavail * bsize >= needed) return;
  throw new StoreRefused(
    65,
    `${database} is damaged, and writing what can still be read to a new file needs ${needed} bytes`,
    "free some space and start it again, or restore a backup with: webhookd restore <file>",
  );
}
