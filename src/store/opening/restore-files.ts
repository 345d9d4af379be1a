/**
 * Changes files during a restore so that a crash leaves the old store, the new one, or a state that the next start
 * finishes.
 *
 * The new files are completed beside the old ones (`….restoring`). Then `RESTORE` is written. From then on every rename
 * can be repeated until it is done. Before that, nothing was touched.
 */
import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { noStore, syncDirectory, writeDurably } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";

export const MARKER_TEXT = "This directory contains a webhookd store: the database is webhookd.db.\n";

/** Follows the database's name if the store was moved elsewhere. */
export const MOVED_SUFFIX = ".moved-";

const JOURNAL = "RESTORE";
const STAGED = ".restoring";
const DATABASE = "webhookd.db";
/**
 * These files move with the database: SQLite would read an old `-wal` beside a restored database as part of it, and
 * bring the old data back.
 */
const WITH_DATABASE = [
  `${DATABASE}-wal`,
  `${DATABASE}-shm`,
  `${DATABASE}-journal`,
  `.${DATABASE}-litestream`,
  DATABASE,
];
const REPLACED = { [DATABASE]: WITH_DATABASE, "secret.key": ["secret.key"], "admin.key": ["admin.key"] } as const;

export type Replaced = keyof typeof REPLACED;

export interface FinishedRestore {
  readonly backup: string;
  /** The names under which the old files are kept. */
  readonly kept: readonly string[];
}

/**
 * Returns the name of the file that was the database until the store was moved, or the latest one if it was moved more
 * than once. Returns null if there is none.
 */
export function movedAside(dir: string): string | null {
  const isOne = (name: string) => name.startsWith(DATABASE + MOVED_SUFFIX) && !/-(wal|shm)$/.test(name);
  return readdirSync(dir).filter(isOne).toSorted().at(-1) ?? null;
}

/** Called if there is no database, or an empty one. Throws if that means that a store was lost. */
export function refuseLoss({ dir, create }: { readonly dir: string; readonly create: boolean }): void {
  const moved = movedAside(dir);
  if (moved !== null) {
    const todo = `start it there, with [data] store; to bring it back as it is now: webhookd migrate --from postgres://…; to go back to what it was then: webhookd restore ${join(dir, moved)}`;
    throw new StoreRefused(65, `the store of ${dir} was moved to PostgreSQL`, todo);
  }
  if (existsSync(join(dir, "STORE"))) {
    const what = `${dir} held a store, but its database ${join(dir, DATABASE)} is missing or empty`;
    throw new StoreRefused(65, what, "restore a backup with: webhookd restore <file>");
  }
  if (!create) throw noStore(dir);
}

/** Returns the path for the new version of this file. */
export function stagedFile(dir: string, name: Replaced): string {
  return join(dir, name + STAGED);
}

/**
 * Commits to the restore: from here on it will be finished, even after a crash. The staged files must be durable. `at`
 * names the old files that are kept.
 */
export function commitRestore(dir: string, backup: string, at: number): void {
  const suffix = `.before-restore-${new Date(at).toISOString().replaceAll(/[-:.]/g, "")}`;
  writeDurably(join(dir, JOURNAL), `${JSON.stringify({ backup, suffix })}\n`);
}

/** Does the same for a database that was repaired. `suffix` names the old files that are kept. */
export function commitReplacement(dir: string, suffix: string): void {
  writeDurably(join(dir, JOURNAL), `${JSON.stringify({ backup: "", suffix })}\n`);
}

/** True if a restore or repair was begun and is not finished. */
export function isBegun(dir: string): boolean {
  return existsSync(join(dir, JOURNAL));
}

/**
 * Call it under the lock. Returns null if no restore was begun, after removing the files of any that did not get that
 * far.
 */
export function finishRestore(dir: string): FinishedRestore | null {
  const journal = join(dir, JOURNAL);
  if (!isBegun(dir)) {
    removeStaged(dir);
    return null;
  }
  const { backup, suffix } = readJournal(journal);
  for (const name of Object.keys(REPLACED) as Replaced[]) {
    if (!existsSync(stagedFile(dir, name))) continue;
    for (const old of REPLACED[name]) {
      if (existsSync(join(dir, old))) renameSync(join(dir, old), join(dir, keptName(old, suffix)));
    }
    // The old file's rename must be durable before its name is taken.
    syncDirectory(dir);
    renameSync(stagedFile(dir, name), join(dir, name));
    syncDirectory(dir);
  }
  if (!existsSync(join(dir, "STORE"))) writeDurably(join(dir, "STORE"), MARKER_TEXT);
  rmSync(journal);
  syncDirectory(dir);
  return { backup, kept: readdirSync(dir).filter((name) => name.includes(suffix)) };
}

/** Keeps the name by which SQLite finds a write-ahead log, so that the kept database can be opened and restored. */
function keptName(name: string, suffix: string): string {
  return name.startsWith(DATABASE) ? DATABASE + suffix + name.slice(DATABASE.length) : name + suffix;
}

export function removeStaged(dir: string): void {
  const prefixes = [...Object.keys(REPLACED).map((name) => name + STAGED), `${JOURNAL}.`];
  const left = readdirSync(dir).filter((name) => prefixes.some((prefix) => name.startsWith(prefix)));
  for (const name of left) rmSync(join(dir, name), { force: true });
}

function readJournal(file: string): { readonly backup: string; readonly suffix: string } {
  try {
    const { backup, suffix } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    if (typeof backup === "string" && typeof suffix === "string") return { backup, suffix };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StoreRefused(
    65,
    `${file} says that a restore was begun, but not which one`,
    "move it away and restore again",
  );
}
