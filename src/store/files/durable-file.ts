import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Writes a whole file with mode 0600 that is there after a crash or not at all. Never for the database or its lock:
 * closing a descriptor of theirs would drop the locks that SQLite holds on them in this process.
 */
export function writeDurably(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  // What a crash left behind could have another owner or mode.
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", 0o600);
  try {
    fchmodSync(file, 0o600);
    writeSync(file, text);
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
 * Makes a directory with all that is missing above it, each level's name durable before there is anything in it. Not
 * Node's own `recursive`: that never returns where a parent is there and cannot be written to (seen below /proc).
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have been first.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  syncDirectory(parent);
}

/** Makes the names in a directory durable; Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
  if (process.platform === "win32") return;
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
