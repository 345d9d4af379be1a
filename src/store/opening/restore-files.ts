/**
 * How a restore changes files, so that a crash leaves the old store, the new one, or what the next start finishes.
 *
 * What comes is made whole beside what is there (`….restoring`). Then `RESTORE` is written: from there on every rename
 * can be made again until it is done, and before it nothing was touched.
 */
import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { noStore, syncDirectory, writeDurably } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";

export const MARKER_TEXT = "This directory contains a webhookd store: the database is webhookd.db.\n";

/** After the database's name: of a store that lives elsewhere now. */
export const MOVED_SUFFIX = ".moved-";

const JOURNAL = "RESTORE";
const STAGED = ".restoring";
const DATABASE = "webhookd.db";
/**
 * With the database goes all that belongs to it: an old `-wal` beside a restored database would be read as its own and
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
  /** The names under which what was there before is kept. */
  readonly kept: readonly string[];
}

/** What was the database until the store was moved, the latest if it was moved more than once; null if there is none. */
export function movedAside(dir: string): string | null {
  const isOne = (name: string) => name.startsWith(DATABASE + MOVED_SUFFIX) && !/-(wal|shm)$/.test(name);
  return readdirSync(dir).filter(isOne).toSorted().at(-1) ?? null;
}

/** There is no database, or nothing in it. */
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

/** Where the file that is to take this name's place is made. */
export function stagedFile(dir: string, name: Replaced): string {
  return join(dir, name + STAGED);
}

/** The point of no return; what is staged must be durable. `at` names what is kept. */
export function commitRestore(dir: string, backup: string, at: number): void {
  const suffix = `.before-restore-${new Date(at).toISOString().replaceAll(/[-:.]/g, "")}`;
  writeDurably(join(dir, JOURNAL), `${JSON.stringify({ backup, suffix })}\n`);
}

/** The same for a database that was mended; `suffix` names what is kept. */
export function commitReplacement(dir: string, suffix: string): void {
  writeDurably(join(dir, JOURNAL), `${JSON.stringify({ backup: "", suffix })}\n`);
}

/** Whether one was begun that is not done. */
export function isBegun(dir: string): boolean {
  return existsSync(join(dir, JOURNAL));
}

/** Under the lock. Null when no restore was begun; then what one left that never came so far is removed. */
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
    // What is there must be away for good before its name is taken.
    syncDirectory(dir);
    renameSync(stagedFile(dir, name), join(dir, name));
    syncDirectory(dir);
  }
  if (!existsSync(join(dir, "STORE"))) writeDurably(join(dir, "STORE"), MARKER_TEXT);
  rmSync(journal);
  syncDirectory(dir);
  return { backup, kept: readdirSync(dir).filter((name) => name.includes(suffix)) };
}

/** A write-ahead log keeps the name by which SQLite finds it: what is kept can be opened, and restored. */
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
