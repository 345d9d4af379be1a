/** Migrates a store to a newer schema, by a command while no daemon has it open, or when a daemon opens it. */
import { existsSync } from "node:fs";
import { statfs as systemStatfs } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { copyBefore } from "../backup/copy.ts";
import { StoreRefused } from "../files/refused.ts";
import { finishRestore, refuseLoss } from "./restore-files.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import { refuseDamagedLog } from "./damaged-log.ts";
import { takeLock } from "./lock.ts";
import type { OpeningLog } from "./mend.ts";
import {
  applySteps,
  tryOut,
  openDatabase,
  openingRefusal,
  type NativeBinding,
} from "../sqlite/engine/open-database.ts";
import { MIGRATIONS, type Migration } from "../sqlite/engine/schema.ts";

export interface MigrateOptions {
  readonly dir: string;
  /** `status` only looks. `dry-run` runs the steps on the real data and undoes them. */
  readonly how: "status" | "dry-run" | "migrate";
  readonly clock: Clock;
  readonly nativeBinding?: NativeBinding | undefined;
  /** The directory for the copy that is made before the migration. */
  readonly backup: { readonly dir: string; readonly mayMake: boolean };
  readonly statfs?: StatFs;
  readonly migrations?: readonly Migration[];
}

export interface MigrationReport {
  /** The schema of the store before the migration. */
  readonly schema: number;
  /** The schema that this program needs. */
  readonly wanted: number;
  readonly steps: readonly { readonly to: number; readonly name: string }[];
  /** The path of the copy; null unless the store was migrated. */
  readonly copy: string | null;
}

/** Throws `StoreRefused` if it cannot be done. Then nothing has changed. */
export async function migrateStore(options: MigrateOptions): Promise<MigrationReport> {
  const { dir, how, clock, nativeBinding, backup, statfs = systemStatfs, migrations = MIGRATIONS } = options;
  const database = join(dir, "webhookd.db");
  if (!existsSync(dir)) throw new StoreRefused(1, `there is no store in ${dir}`, "name another with --data-dir");
  const lock = takeLock(dir, clock.now(), nativeBinding);
  try {
    finishRestore(dir);
    if (!existsSync(database)) refuseLoss({ dir, create: false });
    const wanted = migrations.length;
    if (how !== "status") refuseDamagedLog({ dir, lock });
    const { db, version } = openDatabase(database, { nativeBinding, mayCreate: false, wanted });
    try {
      const steps = [...migrations.entries()].slice(version).map(([place, { name }]) => ({ to: place + 1, name }));
      const report = { schema: version, wanted, steps, copy: null };
      if (steps.length === 0 || how === "status") return report;
      if (how === "dry-run") {
        tryOut(db, version, migrations);
        return report;
      }
      const now = clock.now();
      const copy = await copyBefore({ ...backup, database, from: version, to: wanted, now, statfs, nativeBinding });
      applySteps(db, version, { migrations });
      return { ...report, copy };
    } finally {
      db.close();
    }
  } catch (error) {
    throw openingRefusal(error, database);
  } finally {
    lock.release();
  }
}

interface Preparing extends Pick<MigrateOptions, "dir" | "clock" | "nativeBinding" | "statfs"> {
  /** If false, a store with an older schema is refused. */
  readonly migrate?: boolean;
  readonly backup?: MigrateOptions["backup"];
  readonly log?: OpeningLog | undefined;
}

/**
 * Called when a store is opened. Makes the copy that undoes an upgrade, or refuses the store if it must not
 * be migrated.
 */
export async function prepareMigration(options: Preparing, from: number, to: number): Promise<void> {
  const { dir, clock, nativeBinding, migrate = true, log } = options;
  const database = join(dir, "webhookd.db");
  if (!migrate) {
    const what = `${database} has schema ${from}, but this webhookd needs ${to}`;
    throw new StoreRefused(1, what, `webhookd migrate --data-dir ${dir}`);
  }
  const place = options.backup ?? { dir: join(dir, "backups"), mayMake: true };
  const now = clock.now();
  const copy = await copyBefore({
    ...place,
    database,
    from,
    to,
    now,
    statfs: options.statfs ?? systemStatfs,
    nativeBinding,
  });
  log?.warn({ from, to, copy }, "migrating the store to a newer schema; the copy lets you go back");
}
