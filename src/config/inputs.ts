/**
 * The inputs of a configuration (flags, variables and files), and the default places of files. Each command loads this.
 */
import { createHash } from "node:crypto";
import { closeSync, existsSync, fstatSync, lstatSync, openSync, readFileSync, statSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { changeableBy } from "../domain/files.ts";
import { utf8Of } from "../domain/utf8.ts";
import { packed } from "../build.ts";
import { readSecretFile, type ReadSecret } from "../secret-file.ts";
import type { SettingName } from "./schema.ts";

export interface ConfigFlags {
  /** `--config` */
  readonly config?: string | undefined;
  readonly dev?: boolean | undefined;
  readonly paused?: boolean | undefined;
  /** False with `--no-create`. */
  readonly create?: boolean | undefined;
  /** False with `--no-migrate`. */
  readonly migrate?: boolean | undefined;
  /** Flags that stand for a setting. Messages use the flag's name. */
  readonly settings?: readonly { readonly name: SettingName; readonly flag: string; readonly text: string }[];
}

/** Everything that a configuration is made from, so that loading one is a pure function of it. */
export interface ConfigInputs {
  readonly flags: ConfigFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly root: boolean;
  readonly platform: NodeJS.Platform;
  /** The checkout's folder; null for the executable. */
  readonly checkout: string | null;
  /**
   * Returns null if there is no such file. Throws if it cannot be read, and `NotUtf8` if it is not text. With
   * `onlyOwn`, throws a `ForeignFile` if users other than this one and root can change it.
   */
  readFile(path: string, onlyOwn?: boolean): string | null;
  /** Returns null if the caller needs no secrets: a client may not be permitted to read them. */
  readSecret(path: string): ReadSecret | null;
  exists(path: string): boolean;
  /** True if this user is not permitted to know whether the path exists. */
  isHidden(path: string): boolean;
}

/** The inputs of this process. */
export function processInputs(flags: ConfigFlags): ConfigInputs {
  return {
    flags,
    env: process.env,
    cwd: process.cwd(),
    // homedir() throws for a user without an entry in passwd.
    home: process.env.HOME || (process.platform === "win32" ? homedir() : "/"),
    root: process.getuid?.() === 0,
    platform: process.platform,
    checkout: packed ? null : fileURLToPath(new URL("../..", import.meta.url)),
    readFile: readIfThere,
    readSecret: readSecretFile,
    exists: existsSync,
    isHidden,
  };
}

/** For programs that only look for the daemon. Settings whose secret is in a file of its own keep their defaults. */
export function withoutSecrets(inputs: ConfigInputs): ConfigInputs {
  return { ...inputs, readSecret: () => null };
}

function isHidden(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** The message says how others can change the file, as the end of a sentence. */
export class ForeignFile extends Error {}

function readIfThere(path: string, onlyOwn = false): string | null {
  try {
    // Check before opening: another user's pipe would block us.
    if (onlyOwn) for (const stats of [lstatSync(path), statSync(path)]) requireOwn(stats);
    const file = openSync(path, "r");
    try {
      // The file may have been replaced since the first check.
      if (onlyOwn) requireOwn(fstatSync(file));
      return utf8Of(readFileSync(file));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function requireOwn(stats: Stats): void {
  const user = process.geteuid?.();
  // Windows has other rules, and no such bits.
  if (user === undefined) return;
  // A symbolic link's own mode has no meaning.
  const mode = stats.isSymbolicLink() ? 0 : stats.mode;
  const fault = changeableBy({ uid: stats.uid, mode }, [0, user]);
  if (fault !== null) throw new ForeignFile(fault);
}

/** The default data directory: beside the sources in a checkout, otherwise where the system's conventions put it. */
export function defaultDataDir({ checkout, env, home, root }: ConfigInputs): string {
  if (checkout !== null) return join(checkout, "data");
  const state = firstOf(env.STATE_DIRECTORY);
  if (state !== null) return state;
  if (root) return "/var/lib/webhookd";
  return join(firstOf(env.XDG_DATA_HOME) ?? join(home, ".local", "share"), "webhookd");
}

export function defaultSecretKeyFile(dataDir: string, { env, exists }: ConfigInputs): string {
  const credentials = firstOf(env.CREDENTIALS_DIRECTORY);
  const given = credentials && join(credentials, "secret.key");
  return given !== null && exists(given) ? given : join(dataDir, "secret.key");
}

/** Returns "" if no path is short enough; the daemon then has no socket. */
export function defaultSocket(dataDir: string, inputs: ConfigInputs): string {
  const runtime = firstOf(inputs.env.RUNTIME_DIRECTORY);
  const path = join(runtime ?? dataDir, "webhookd.sock");
  if (fitsSocket(path, inputs.platform)) return path;
  const user = firstOf(inputs.env.XDG_RUNTIME_DIR);
  // The folder is shared by all daemons of the user, so the name says which data directory this one serves.
  const name = `webhookd-${createHash("sha256").update(dataDir).digest("hex").slice(0, 12)}.sock`;
  return user !== null && fitsSocket(join(user, name), inputs.platform) ? join(user, name) : "";
}

/** The kernel keeps a socket's path in a field of fixed size (sun_path), and truncates longer ones. */
export function fitsSocket(path: string, platform: NodeJS.Platform): boolean {
  return Buffer.byteLength(path) <= (platform === "linux" ? 107 : 103);
}

/** systemd separates several paths by colons. A relative path must be ignored (XDG base directory specification). */
function firstOf(paths: string | undefined): string | null {
  const [first = ""] = (paths ?? "").split(":");
  return isAbsolute(first) ? first : null;
}
