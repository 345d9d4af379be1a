/**
 * Loads the native addons: SQLite, and koffi, which calls C library functions that Node does not offer. In a checkout
 * their packages find them. The executable contains them, but the system loads shared libraries only from real files.
 * So each is first written to a file, in a place where no other user can replace it.
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
  /** The name of the file that is written, with a hash of its content. */
  readonly name: string;
  /** The compressed file beside the bundle. */
  readonly asset: string;
  /** The hash of its content, in hexadecimal. */
  readonly sha256: string;
}

export interface Addons {
  readonly sqlite: EmbeddedAddon;
  /** Null for a platform on which koffi is not used. */
  readonly koffi: EmbeddedAddon | null;
}

/** The addons by platform and processor. Set by scripts/build.ts. */
declare const __ADDONS__: Readonly<Record<string, Addons>> | undefined;

const requireFile = createRequire(import.meta.url);
const platform = `${process.platform}-${process.arch}`;

/**
 * Returns the value for better-sqlite3's `nativeBinding`, on this thread or, passed in `workerData`, on another: the
 * addon's path, or undefined for the package's own. Creates `dataDir` if it is missing.
 */
export function nativeBinding(dataDir?: string): string | undefined {
  return typeof __ADDONS__ === "undefined" ? undefined : extracted(addonsIn(__ADDONS__).sqlite, dataDir);
}

/** The part of koffi's interface that is used. */
export interface Koffi {
  load(library: null): { func(declaration: string): unknown };
}

/** Loads koffi. Throws if it is not available. */
export function loadKoffi(dataDir: string): Koffi {
  if (typeof __ADDONS__ === "undefined") return requireFile(`@koromix/koffi-${platform}`) as Koffi;
  const { koffi } = addonsIn(__ADDONS__);
  if (koffi === null) throw new Error(`there is no koffi for ${platform} in this executable`);
  return requireFile(extracted(koffi, dataDir)) as Koffi;
}

/** A mapping in /proc/self/smaps, with its file, none of whose pages differ from the file. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p \S+ \S+ \d+ +(\/.+)$(?:\n(?![0-9a-f]+-).*$)*?\nAnonymous: +0 kB$/gm;
/** <asm-generic/mman-common.h> */
const MADV_DONTNEED = 4;

/**
 * Returns resident memory that is not needed to the system. After a flood, glibc keeps some 30 MiB of freed memory
 * unless it is told to release it. And parts of Node's own code, which is mapped from its file, stay resident after a
 * start or a rare request until the kernel runs short. They are read again when they are needed.
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
    // Without koffi, or with another C library, the memory stays.
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

/** The directories where addons may be kept, best first: a daemon can always write to its data directory. */
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
  /** Called only if the addon must be written. */
  readonly bytes: () => Buffer;
}

/**
 * Writes the addon, unless it is already there and intact, and loads it from the first directory that allows both.
 * Throws `AddonRefused` if none does.
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

/**
 * A refusal for people, like those of the store: what is wrong, what to do about it, and the exit code for failing
 * storage.
 */
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
  // Use lstat, not stat: the owner of a link could point it elsewhere.
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

/**
 * Writes a temporary file and renames it, so that a crash, or several first starts at once, leave a whole file or none.
 */
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
