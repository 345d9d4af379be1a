/** Reads a process's file system calls from strace, because the calls that SQLite makes are visible nowhere else. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const CALLS =
  "mkdir,mkdirat,open,openat,rename,renameat,renameat2,fsync,fdatasync,write,writev,sendto,pwrite64,pwritev";

/** True if strace is installed and may trace. Containers often forbid it. */
export function canTrace(): boolean {
  return spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0;
}

export function traced(file: string): readonly [string, ...string[]] {
  // With -D the daemon itself is the child, so that signals reach it.
  return ["strace", "-D", "-f", "-y", "-s", "32", "-e", `trace=${CALLS}`, "-o", file];
}

export interface Calls {
  /** Names created below `root` whose directory was not synced afterwards. */
  readonly unsynced: ReadonlySet<string>;
  /** Names created below `root`. */
  readonly made: ReadonlySet<string>;
  /** Files below `root` that SQLite wrote to and did not sync afterwards. */
  readonly unsyncedData: ReadonlySet<string>;
}

/** Returns the calls before the first write whose text begins with `text`. Throws if there is none. */
export function callsUntil(trace: string, text: string, root: string): Calls {
  const unsynced = new Set<string>();
  const made = new Set<string>();
  const unsyncedData = new Set<string>();
  for (const line of wholeLines(readFileSync(trace, "utf8"))) {
    if (/ (write|writev|sendto)\(/.test(line) && line.includes(`"${text}`)) return { unsynced, made, unsyncedData };
    if (/ = -1 /.test(line)) continue;
    const synced = / (?:fsync|fdatasync)\(\d+<([^>]+)>/.exec(line)?.[1];
    if (synced !== undefined) {
      unsyncedData.delete(synced);
      for (const name of unsynced) if (dirname(name) === synced) unsynced.delete(name);
    }
    const written = / pwrite\w*\(\d+<([^>]+)>/.exec(line)?.[1];
    if (written?.startsWith(root) === true) unsyncedData.add(written);
    const name = nameMadeBy(line);
    if (name === null || !name.startsWith(root)) continue;
    const from = / rename\w*\((?:AT_FDCWD[^,]*, )?"([^"]+)"/.exec(line)?.[1];
    // Later opens of an existing file may use O_CREAT too.
    if (from === undefined && made.has(name)) continue;
    made.add(name);
    unsynced.add(name);
    if (from !== undefined) unsynced.delete(from);
  }
  throw new Error(`${trace} has no write of ${text}`);
}

function nameMadeBy(line: string): string | null {
  const made =
    / mkdir\w*\((?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]+)"/.exec(line) ??
    / open(?:at)?\((?:AT_FDCWD(?:<[^>]*>)?, )?"([^"]+)", [^)]*O_CREAT/.exec(line) ??
    / rename\w*\(.*"([^"]+)"(?:, \d+)?\) /.exec(line);
  return made === null ? null : resolve(made[1]!);
}

/** strace splits a call that another thread interrupts into two lines: the call, and then its result. */
function* wholeLines(text: string): Generator<string> {
  const begun = new Map<string, string>();
  for (const line of text.split("\n")) {
    const thread = /^\d+/.exec(line)?.[0] ?? "";
    const [, head] = /^(.*) <unfinished \.\.\.>$/.exec(line) ?? [];
    if (head !== undefined) {
      begun.set(thread, head);
      continue;
    }
    const [, tail] = /<\.\.\. \w+ resumed>(.*)$/.exec(line) ?? [];
    yield tail === undefined ? line : `${begun.get(thread) ?? ""}${tail}`;
  }
}
