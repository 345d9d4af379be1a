/** Opens the database file with durable settings, if it is ours and no newer than we know. */
import { chmodSync } from "node:fs";
import { basename, dirname } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { refusedFull, StoreRefused, isFull, systemCode } from "../../files/refused.ts";
import { notDurable, isDamage, storageFault } from "./condition.ts";
import { APPLICATION_ID, type Migration } from "./schema.ts";

const RESTORE = "restore a backup with: webhookd restore <file>";

/** Before 3.51.3, a checkpoint during a write by another connection could corrupt the file (the WAL-reset bug). */
const OLDEST_SQLITE = [3, 51, 3] as const;
const BUSY_MS = 50;

export interface DatabaseOptions {
  readonly nativeBinding?: NativeBinding | undefined;
  /** The schema that this program needs. */
  readonly wanted: number;
  /** True if an empty file may become a store. A first start that was cut short leaves one. */
  readonly mayCreate: boolean;
}

/** `version` is the schema of the file: 0 if it is empty, and never newer than the wanted one. */
export function openDatabase(
  file: string,
  options: DatabaseOptions,
): { readonly db: Database; readonly version: number } {
  let db: Database | undefined;
  try {
    db = openFile(file, { timeout: BUSY_MS, nativeBinding: options.nativeBinding });
    requireSqlite(db);
    const version = schemaOf(db, file, options);
    // chmod by name does not open the file. SQLite gives `-wal` and `-shm` the same mode.
    chmodSync(file, 0o600);
    configure(db);
    return { db, version };
  } catch (error) {
    db?.close();
    throw openingRefusal(error, file);
  }
}

/**
 * Returns the schema's number, or 0 for an empty file. Only reads, because a file that is not ours must not be changed.
 */
export function schemaOf(
  db: Database,
  file: string,
  { mayCreate, wanted }: Pick<DatabaseOptions, "mayCreate" | "wanted">,
): number {
  const id = pragma(db, "application_id");
  const version = pragma(db, "user_version");
  const objects = db.prepare("SELECT count(*) FROM sqlite_schema").pluck().get();
  if (id === 0 && version === 0 && objects === 0) {
    if (mayCreate) return 0;
    throw new StoreRefused(65, `the database ${file} is empty`, RESTORE);
  }
  if (id !== APPLICATION_ID || version < 1) {
    throw new StoreRefused(65, `${file} is not a webhookd database`, "move it away, or choose another [data] dir");
  }
  if (version > wanted) {
    throw new StoreRefused(
      65,
      `${file} has schema ${version}, and this webhookd knows schemas up to ${wanted}`,
      "use the newer webhookd that last ran on it, or go back: webhookd restore <file>, with the copy that was made before the upgrade (webhookd-schema-… among the backups)",
    );
  }
  return version;
}

/**
 * Sets the layout of pages. Call it for an empty file before setting the journal mode, or for a file that is about to
 * be written anew.
 */
export function shapePages(db: Database): void {
  db.pragma("page_size = 8192");
  // Pages keep track of who points to them, so that the last ones can be moved into free ones.
  db.pragma("auto_vacuum = INCREMENTAL");
}

function configure(db: Database): void {
  // For a file that already has pages, this would only write the same values again.
  if (pragma(db, "page_count") === 0) shapePages(db);
  if (db.pragma("journal_mode = WAL", { simple: true }) !== "wal") {
    throw new StoreRefused(74, "the data directory's file system has no shared memory", "use a local disk");
  }
  // The library's default for WAL is NORMAL, under which a power cut may lose a commit that was acknowledged.
  db.pragma("synchronous = FULL");
  // SQLite's own checkpoint runs inside a commit and delays its callers, so ours come first.
  db.pragma("wal_autocheckpoint = 2000");
  db.pragma(`journal_size_limit = ${64 * 1024 * 1024}`);
  // Events are written next to the previous ones, so a larger cache would not help. A start and each sweep fill the
  // cache with pages from all over the index of waiting deliveries, so an idle daemon would hold that memory for
  // nothing.
  db.pragma("cache_size = -4096");
  db.pragma("temp_store = MEMORY");
  db.pragma("foreign_keys = ON");
}

/** Runs a transaction first, because until then the library reports FULL and means NORMAL. */
export function requireDurable(db: Database): void {
  db.exec("BEGIN IMMEDIATE; COMMIT");
  if (pragma(db, "synchronous") !== 2) throw notDurable();
}

function requireSqlite(db: Database): void {
  const text = db.prepare("SELECT sqlite_version()").pluck().get() as string;
  const parts = text.split(".").map(Number);
  const differs = OLDEST_SQLITE.findIndex((part, index) => parts[index] !== part);
  if (differs === -1 || parts[differs]! > OLDEST_SQLITE[differs]!) return;
  throw new StoreRefused(1, `SQLite ${text} can corrupt a database`, `use ${OLDEST_SQLITE.join(".")} or newer`);
}

function pragma(db: Database, name: string): number {
  return db.pragma(name, { simple: true }) as number;
}

/**
 * Explains to people an error while the store opens. Returns other errors unchanged. `instead` is what to do about a
 * damaged file.
 */
export function openingRefusal(error: unknown, file: string, instead = RESTORE): unknown {
  if (error instanceof StoreRefused) return error;
  const code = systemCode(error);
  if (isDamage(error)) {
    const what = code.startsWith("SQLITE_NOTADB") ? "is not a SQLite database" : "is damaged";
    return new StoreRefused(65, `${file} ${what}`, instead, error);
  }
  if (code.startsWith("SQLITE_BUSY")) {
    return new StoreRefused(75, `another program is writing ${file}`, "close it (a sqlite3 shell?)", error);
  }
  if (isFull(error, dirname(file))) return refusedFull(dirname(file), error);
  if (storageFault(error) !== null || code.startsWith("E")) {
    const reason = error instanceof Error ? error.message : String(error);
    return new StoreRefused(
      74,
      `${basename(file)} cannot be opened: ${reason}`,
      "check the disk and the file's mode",
      error,
    );
  }
  return error;
}

/** The SQLite addon, or its path, if node_modules does not contain it. */
export type NativeBinding = string | object;

const QUOTED_OR_PARAMETER = /'[^']*'|"[^"]*"|--.*|\?\d*|[@$]\w+/g;

export function openFile(
  file: string,
  options: { timeout: number; nativeBinding?: NativeBinding | undefined; readonly?: boolean },
): Database {
  const { timeout, nativeBinding, readonly = false } = options;
  if (nativeBinding === undefined) return keepPlans(new Sqlite(file, { timeout, readonly }));
  // The package accepts the addon itself as well as its path, but its types know only the path.
  return keepPlans(new Sqlite(file, { timeout, readonly, nativeBinding: nativeBinding as string }));
}

/**
 * Hides parameters from SQLite's planner. If a bound value might change the plan, SQLite prepares the statement again
 * at each run. That affects most statements with an ORDER BY, a LIMIT or a join, and takes 5 to 50 µs each time, for
 * plans that never differ. The planner does not look through a unary plus.
 */
function keepPlans(db: Database): Database {
  const prepare = db.prepare.bind(db) as typeof db.prepare;
  db.prepare = ((sql: string) => prepare(sql.replaceAll(QUOTED_OR_PARAMETER, hidden))) as typeof db.prepare;
  return db;
}

function hidden(part: string): string {
  return /^[?@$]/.test(part) ? `+${part}` : part;
}

/** Runs `seed` in the same transaction. A failure leaves the database as it was. */
export function applySteps(
  db: Database,
  version: number,
  { migrations, seed }: { readonly migrations: readonly Migration[]; readonly seed?: (db: Database) => void },
): void {
  if (version === migrations.length) return;
  const steps = db.transaction(() => {
    for (const [place, step] of [...migrations.entries()].slice(version)) applyStep(db, place, step);
    const broken = db.pragma("foreign_key_check") as readonly { readonly table: string }[];
    if (broken.length > 0) throw new Error(`the migration would break references of ${broken[0]!.table}`);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${migrations.length}`);
    seed?.(db);
  });
  steps.immediate();
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
