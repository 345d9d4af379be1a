/** Files that survive a crash whole or not at all, and checks that no other user can change them. */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { changeableBy, modeText } from "../../domain/files.ts";
import { isFull, refusedFull, StoreRefused } from "./refused.ts";

/**
 * Writes a whole file with mode 0600. After a crash the whole file is there, or none of it. Never use this for the
 * database or its lock: closing a descriptor of such a file would drop the locks that SQLite holds on it in this
 * process.
 */
export function writeDurably(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.tmp`;
  // A file that a crash left behind could have another owner or mode.
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", 0o600);
  try {
    fchmodSync(file, 0o600);
    writeFileSync(file, content);
    fsyncSync(file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/**
 * Creates a directory and all missing directories above it, and makes each name durable before anything is put into it.
 * Does not use Node's own `recursive`, which never returns if a parent exists but cannot be written to (seen below
 * /proc).
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  syncDirectory(parent);
}

/** Makes the names in a directory durable. Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Makes the contents of a file durable. Never call this for an open database: closing the file would drop its locks.
 */
export function syncFile(path: string): void {
  const file = openSync(path, "r+");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const READ_BY_OTHERS = 0o044;
const READ_BY_ALL = 0o004;

/**
 * Throws if a user other than this one, root and `owner` could change the path, and so put their own key or link in its
 * place.
 */
export function requireUnchangeable(path: string, owner?: number): void {
  const user = process.geteuid?.();
  const found = statSync(path, { throwIfNoEntry: false });
  // Windows has other rules, and no such bits.
  if (user === undefined || found === undefined) return;
  const fault = changeableBy(found, [0, user, owner ?? user]);
  if (fault === null) return;
  const own = `chmod go-w ${path}`;
  const todo =
    (found.mode & 0o022) !== 0 && [0, user].includes(found.uid)
      ? `${own}; if a volume has to stay that way, give the daemon its own directory on it with --data-dir`
      : `run webhookd as that user, or give it to this one: chown ${user} ${path}; ${own}`;
  throw new StoreRefused(1, `${path} ${fault}`, todo);
}

/** Returns those paths that other users can read, with their modes. */
export function readableByOthers(dir: string, files: readonly string[]): string[] {
  if (process.geteuid === undefined) return [];
  return [dir, ...files].flatMap((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    // systemd passes credentials with a group bit set, which stands for an access list.
    const bits = path === dir || dirname(path) === dir ? READ_BY_OTHERS : READ_BY_ALL;
    return (mode & bits) === 0 ? [] : [`${path} (mode ${modeText(mode)})`];
  });
}

export function makeDataDirectory({ dir, create }: { readonly dir: string; readonly create: boolean }): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found !== undefined)
    throw new StoreRefused(1, `${dir} is a file, not a directory`, "choose another with --data-dir");
  if (!create) throw noStore(dir);
  try {
    makeDirectory(dir);
  } catch (error) {
    if (isFull(error, dir)) throw refusedFull(dir, error);
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreRefused(
      74,
      `the data directory ${dir} cannot be created: ${reason}`,
      "check the owner and mode of its parent",
      error,
    );
  }
}

export function noStore(dir: string): StoreRefused {
  const todo = "name another with --data-dir; `webhookd serve` without --no-create creates one";
  return new StoreRefused(1, `there is no store in ${dir}`, todo);
}
