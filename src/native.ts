/**
 * The addons: SQLite, and koffi, which calls functions of the C library that Node does not. In a checkout their packages
 * find them. The executable carries them inside itself, but the system loads shared libraries from real files only, so
 * each is written to one first, in a place where no other user can put code of theirs in its stead.
 */
import { hash, randomBytes } from "node:crypto";
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
import { asset } from "./bundle.ts";
import { makeDirectory } from "./store/files/durable-file.ts";

export interface EmbeddedAddon {
  /** Of the file that it becomes, with a hash of its content. */
  readonly name: string;
  /** The file beside the bundle that holds it, compressed. */
  readonly asset: string;
  /** Of its content, in hexadecimal. */
  readonly sha256: string;
}

export interface Addons {
  readonly sqlite: EmbeddedAddon;
  /** Null for a platform on which nobody asks it anything. */
  readonly koffi: EmbeddedAddon | null;
}

/** By platform and processor. Set by scripts/build.ts. */
declare const __ADDONS__: Readonly<Record<string, Addons>> | undefined;

const requireFile = createRequire(import.meta.url);
const platform = `${process.platform}-${process.arch}`;

/**
 * What better-sqlite3 takes as `nativeBinding`, on this thread and, handed over in `workerData`, on any other:
 * the addon's path, or undefined for the package's own. A `dataDir` that is not there yet is made.
 */
export function nativeBinding(dataDir?: string): string | undefined {
  return typeof __ADDONS__ === "undefined" ? undefined : extracted(addonsIn(__ADDONS__).sqlite, dataDir);
}

/** As much of koffi as is used. */
export interface Koffi {
  load(library: null): { func(declaration: string): unknown };
}

/** Loads koffi. Throws where it cannot be had. */
export function loadKoffi(dataDir: string): Koffi {
  if (typeof __ADDONS__ === "undefined") return requireFile(`@koromix/koffi-${platform}`) as Koffi;
  const { koffi } = addonsIn(__ADDONS__);
  if (koffi === null) throw new Error(`there is no koffi for ${platform} in this executable`);
  return requireFile(extracted(koffi, dataDir)) as Koffi;
}

/** As /proc/self/smaps has it: of which file, and whether any page of it is no longer the file's. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \d+ +(\/.+)$(?:\n(?![0-9a-f]+-).*$)*?\nAnonymous: +0 kB$/gm;
/** <asm-generic/mman-common.h> */
const MADV_DONTNEED = 4;

/**
 * Gives back what is resident and not needed. Of freed memory glibc keeps some 30 MiB after a flood, unless it is asked.
 * And of Node's own code, which is mapped from its file, the parts that a start or a rare request needed stay resident
 * until the kernel runs short; they are read again where they are needed.
 */
export function giveBackMemory(dataDir: string): void {
  if (process.platform !== "linux") return;
  try {
    const library = loadKoffi(dataDir).load(null);
    const advise = library.func("int madvise(size_t from, size_t length, int advice)") as (
      ...args: [from: number, length: number, advice: number]
    ) => number;
    for (const [, from, to, file] of readFileSync("/proc/self/smaps", "latin1").matchAll(MAPPING)) {
      const [begin, end] = [Number.parseInt(from!, 16), Number.parseInt(to!, 16)];
      if (file === process.execPath) advise(begin, end - begin, MADV_DONTNEED);
    }
    const trim = library.func("int malloc_trim(size_t keep)") as (keep: number) => number;
    trim(0);
  } catch {
    // Without koffi, or with another C library, it keeps what it has.
  }
}

function addonsIn(all: Readonly<Record<string, Addons>>): Addons {
  const addons = all[platform];
  if (addons !== undefined) return addons;
  throw new AddonRefused(
    `this package has no build of webhookd for ${platform}`,
    `it has builds for ${Object.keys(all).join(", ")}`,
  );
}

function extracted({ name, asset: file, sha256 }: EmbeddedAddon, dataDir: string | undefined): string {
  const bytes = () => asset(file);
  return extractAddon({ name, sha256, bytes }, addonDirectories(dataDir, process.env), requireFile);
}

/** Where addons may be kept, best first: a daemon can always write to its data directory. */
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

interface Addon extends Pick<EmbeddedAddon, "name" | "sha256"> {
  /** Asked only when it has to be written. */
  readonly bytes: () => Buffer;
}

/**
 * Writes the addon unless it is there already, whole, and loads it, in the first directory that allows both.
 * Throws `AddonRefused` when none does.
 */
export function extractAddon(addon: Addon, directories: readonly string[], load: (file: string) => unknown): string {
  const faults: string[] = [];
  for (const directory of directories) {
    const file = join(directory, addon.name);
    try {
      claimDirectory(directory);
      if (!isIntact(file, addon.sha256)) writeWhole(file, addon.bytes());
      // Fails on a file system mounted noexec.
      load(file);
      return file;
    } catch (error) {
      faults.push(`${directory}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new AddonRefused(
    `there is no directory to load ${addon.name} from: ${faults.join("; ")}`,
    "set XDG_CACHE_HOME to a directory that belongs to this user, on a file system that is not mounted noexec",
  );
}

/** For people, like the store's own refusals: what is wrong, what to do about it, and the exit code for failing storage. */
export class AddonRefused extends Error {
  override readonly name = "AddonRefused";
  readonly exitCode = 74;
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

function claimDirectory(directory: string): void {
  makeDirectory(directory);
  // Not stat: a link could be pointed elsewhere by whoever owns it.
  const stat = lstatSync(directory);
  if (!stat.isDirectory()) throw new Error("not a directory");
  if (!isOurs(stat)) throw new Error("belongs to another user");
  if ((stat.mode & 0o022) !== 0) throw new Error("other users can write to it");
}

function isIntact(file: string, sha256: string): boolean {
  let fd: number;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch {
    return false;
  }
  try {
    const stat = fstatSync(fd);
    return stat.isFile() && isOurs(stat) && (stat.mode & 0o022) === 0 && hash("sha256", readFileSync(fd)) === sha256;
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
