/**
 * The SQLite addon. In a checkout better-sqlite3 finds its own prebuild. The executable carries the addon inside
 * itself, but the system loads shared libraries from real files only, so it is written to one first, in a place where
 * no other user can put code of theirs in its stead.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  type Stats,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { makeDirectory } from "./store/durable-file.ts";

/** The addon's file name beside the bundle, with a hash of its content; set by scripts/build.ts. */
declare const __ADDON__: string | undefined;

/**
 * What better-sqlite3 takes as `nativeBinding`, on this thread and, handed over in `workerData`, on any other:
 * the addon's path, or undefined for the package's own. A `dataDir` that is not there yet is made.
 */
export function nativeBinding(dataDir?: string): string | undefined {
  if (typeof __ADDON__ === "undefined") return undefined;
  const addon = { name: __ADDON__, bytes: readFileSync(join(import.meta.dirname, __ADDON__)) };
  return extractAddon(addon, addonDirectories(dataDir, process.env), createRequire(import.meta.url));
}

/** Where the addon may be kept, best first: a daemon can always write to its data directory. */
export function addonDirectories(dataDir: string | undefined, env: NodeJS.ProcessEnv): string[] {
  const directories: string[] = [];
  if (dataDir !== undefined) directories.push(join(dataDir, ".native"));
  const caches = [env.CACHE_DIRECTORY, env.XDG_CACHE_HOME, env.HOME && join(env.HOME, ".cache"), env.LOCALAPPDATA];
  for (const cache of caches) {
    if (cache && isAbsolute(cache)) directories.push(join(cache, "webhookd"));
  }
  directories.push(join(tmpdir(), `webhookd-${process.getuid?.() ?? "addon"}`));
  return directories;
}

/**
 * Writes the addon unless it is there already, byte for byte, and loads it, in the first directory that allows both.
 * Throws `AddonRefused` when none does.
 */
export function extractAddon(
  addon: { readonly name: string; readonly bytes: Buffer },
  directories: readonly string[],
  load: (file: string) => unknown,
): string {
  const faults: string[] = [];
  for (const directory of directories) {
    const file = join(directory, addon.name);
    try {
      claimDirectory(directory);
      if (!isIntact(file, addon.bytes)) writeWhole(file, addon.bytes);
      // Fails on a file system mounted noexec.
      load(file);
      return file;
    } catch (error) {
      faults.push(`${directory}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new AddonRefused(`there is no directory to load the SQLite addon from: ${faults.join("; ")}`);
}

/** For people, like the store's own refusals: what is wrong, what to do about it, and the exit code for failing storage. */
export class AddonRefused extends Error {
  override readonly name = "AddonRefused";
  readonly exitCode = 74;
  readonly hint = "set XDG_CACHE_HOME to a directory of this user's own, on a file system that is not mounted noexec";
}

function claimDirectory(directory: string): void {
  makeDirectory(directory);
  // Not stat: a link could be pointed elsewhere by whoever owns it.
  const stat = lstatSync(directory);
  if (!stat.isDirectory()) throw new Error("not a directory");
  if (!isOurs(stat)) throw new Error("belongs to another user");
  if ((stat.mode & 0o022) !== 0) throw new Error("other users can write to it");
}

function isIntact(file: string, bytes: Buffer): boolean {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return false;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && isOurs(stat) && (stat.mode & 0o022) === 0 && readFileSync(fd).equals(bytes);
  } finally {
    closeSync(fd);
  }
}

/** By way of a temporary file, so that several first starts at once and a crash in between leave a whole file or none. */
function writeWhole(file: string, bytes: Buffer): void {
  const temporary = `${file}.${randomBytes(8).toString("hex")}`;
  const fd = openSync(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o500);
  try {
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function isOurs(stat: Stats): boolean {
  return process.getuid === undefined || stat.uid === process.getuid();
}
