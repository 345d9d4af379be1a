/**
 * Allows one daemon per data directory. The lock is a SQLite file held in `BEGIN EXCLUSIVE`, which the system releases
 * when the process ends, even by kill -9. Only SQLite may open that file: closing another descriptor of it would drop
 * the lock.
 */
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Database } from "better-sqlite3";
import { writeDurably } from "../files/durable-file.ts";
import { refusedFull, StoreRefused, isFull } from "../files/refused.ts";
import { openFile, type NativeBinding } from "../sqlite/engine/open-database.ts";
import { isDamage } from "../sqlite/engine/condition.ts";

export interface Lock {
  /** True if the disk had no space for a small file. */
  readonly isFull: boolean;
  /** True if the last process that held the lock did not release it, and the machine has not restarted since. */
  readonly sameBoot: boolean;
  release(): void;
}

export function takeLock(dir: string, now: number, nativeBinding?: NativeBinding): Lock {
  const holderFile = join(dir, "webhookd.pid");
  const file = join(dir, "webhookd.lock");
  let db: Database | undefined;
  let isHolderKnown: boolean;
  let sameBoot: boolean;
  try {
    db = openFile(file, { timeout: 0, nativeBinding });
    // chmod works by name and does not open the file, so the lock stays.
    chmodSync(file, 0o600);
    // Nothing is ever written, and a journal file would need disk space.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN EXCLUSIVE");
    sameBoot = isOfThisBoot(holderFile);
    isHolderKnown = saveHolder(holderFile, now);
  } catch (error) {
    db?.close();
    throw refusal(error, dir, holderFile);
  }
  const held = db;
  return {
    isFull: !isHolderKnown,
    sameBoot,
    release() {
      rmSync(holderFile, { force: true });
      held.close();
    },
  };
}

function isOfThisBoot(file: string): boolean {
  const boot = bootId();
  if (boot === null) return false;
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>).boot === boot;
  } catch {
    return false;
  }
}

/** Returns an id that changes at each boot of Linux, or null on other systems. */
function bootId(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return null;
  }
}

/** Returns false if the disk is full. Nothing depends on the file, and a stale one would name another process. */
function saveHolder(file: string, now: number): boolean {
  const holder = { pid: process.pid, started_at: new Date(now).toISOString(), host: hostname(), boot: bootId() };
  const text = JSON.stringify(holder);
  try {
    writeDurably(file, `${text}\n`);
    return true;
  } catch (error) {
    if (!isFull(error, dirname(file))) throw error;
    rmSync(file, { force: true });
    return false;
  }
}

function refusal(error: unknown, dir: string, holderFile: string): unknown {
  if (error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY")) {
    return new StoreRefused(
      75,
      `another webhookd (${holder(holderFile)}) is using ${dir}`,
      "use that one, or stop it first (press Ctrl-C where it runs, or kill its process); a second daemon needs its own --data-dir and --listen",
    );
  }
  if (isDamage(error)) {
    return new StoreRefused(65, `${join(dir, "webhookd.lock")} is not a webhookd lock file`, "move it away", error);
  }
  if (isFull(error, dir)) return refusedFull(dir, error);
  return new StoreRefused(
    74,
    `the data directory ${dir} cannot be written to`,
    "check its owner, mode and disk",
    error,
  );
}

function holder(file: string): string {
  try {
    const { pid, started_at, host } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    return `process ${String(pid)} on ${String(host)}, started ${String(started_at)}`;
  } catch {
    // The process has the lock but has not written its file yet, or we may not read it.
    return "its process is unknown";
  }
}
