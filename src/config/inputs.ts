/** What a configuration is made from: flags, variables and files. Each command loads this. */
import { closeSync, existsSync, fstatSync, lstatSync, openSync, readFileSync, statSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { changeableBy } from "../domain/keys/access.ts";
import { packed } from "../packed.ts";
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
  /** Flags that stand for a setting; the flag's name is for messages. */
  readonly settings?: readonly { readonly name: SettingName; readonly flag: string; readonly text: string }[];
}

/** All that a configuration is made from, so that loading one is a function of it. */
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
   * Null when there is no such file; throws when there is one that cannot be read. With `onlyOwn`, throws a
   * `ForeignFile` when users other than this one and root may change it.
   */
  readFile(path: string, onlyOwn?: boolean): string | null;
  exists(path: string): boolean;
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
    exists: existsSync,
  };
}

/** How the file can be changed by others, as the rest of a sentence. */
export class ForeignFile extends Error {}

function readIfThere(path: string, onlyOwn = false): string | null {
  try {
    // Before it is opened: another user's pipe would block us.
    if (onlyOwn) for (const stats of [lstatSync(path), statSync(path)]) requireOwn(stats);
    const file = openSync(path, "r");
    try {
      // It may have been exchanged since.
      if (onlyOwn) requireOwn(fstatSync(file));
      return readFileSync(file, "utf8");
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
  // The mode of a link says nothing.
  const mode = stats.isSymbolicLink() ? 0 : stats.mode;
  const fault = changeableBy({ uid: stats.uid, mode }, [0, user]);
  if (fault !== null) throw new ForeignFile(fault);
}
