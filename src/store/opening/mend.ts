/**
 * Makes a sound database of a damaged one: what can be read is written into a new file that takes its place, and the
 * damaged one is kept beside it. Writing on into a file with a damaged page would only spread what is wrong.
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
  /** Of its schema. */
  readonly version: number;
  /** Whether the process that had it last did not close it. */
  readonly wasKilled: boolean;
  readonly setAside: SetAside;
  readonly migrations?: readonly Migration[];
  readonly clock: { now(): number; monotonic(): number };
  readonly log?: OpeningLog | undefined;
  readonly statfs?: StatFs | undefined;
  readonly nativeBinding?: NativeBinding | undefined;
}

/** What a start after a kill may spend on looking: 30,000 pages of 8 KiB or so. */
const START_LOOK_MS = 1000;
/** So that a report names pages where the damage was met on the way. */
const LOOK_MS = 5000;
/** Damage that comes back so soon is the disk's, and writing on it would lose more. */
const SOON_MS = 10 * 60_000;

/** Whether another database took this one's place. Throws `StoreRefused` where it cannot be mended, and changes nothing then. */
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

/** `looked` is what is known of its pages; looked for if it is not. */
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
      // The start that noticed damage to the log may have met this on its way.
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

/** Nothing was repaired where only the log was damaged. */
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
