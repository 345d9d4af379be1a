/** Whether the store can take what it is given: free space, the last commit's fate, and faults that end the process. */
import type { Database, Statement } from "better-sqlite3";
import { WebhookdError } from "../../../domain/errors.ts";
import { RAISE_LIMIT, StoreRefused, isFull, reachedLimit } from "../../files/refused.ts";
import type { Space } from "../../store.ts";
import { storageFull, storageUnavailable } from "../../files/unavailable.ts";

/** `PRAGMA synchronous`. */
const FULL = 2;

/** Under this much of the disk itself even a small floor is passed: the WAL needs room that the freelist cannot give. */
const LEAST_DISK_BYTES = 128 * 1024 * 1024;

export type StatFs = (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

export interface ConditionOptions {
  readonly dir: string;
  readonly floorBytes: number;
  readonly statfs: StatFs;
  /** The code with which the system refuses to write there now, such as EDQUOT; null when it takes what is written. */
  readonly probe?: (dir: string) => string | null;
  /** Called once, for an error after which the process must end. */
  readonly onFault: (error: Error) => void;
}

export function notDurable(): StoreRefused {
  return new StoreRefused(
    74,
    "SQLite does not run with synchronous=FULL, so commits could be lost",
    "please report this",
  );
}

export class Condition {
  readonly #options: ConditionOptions;
  readonly #freelist: Statement<[], number>;
  readonly #pageBytes: number;
  readonly #synchronous: Statement<[], number>;
  #failed = false;
  #damaged = false;
  #unwritable = false;
  /** The disk said so itself. */
  #full = false;
  #low = false;
  /** What stood against the last commit, if it was the limit for files. */
  #limit: string | null = null;
  /** What the last process left could not be taken up for want of space, and nothing new may come before it. */
  behind = false;

  constructor(db: Database, options: ConditionOptions) {
    this.#options = options;
    this.#freelist = db.prepare<[], number>("PRAGMA freelist_count").pluck();
    this.#synchronous = db.prepare<[], number>("PRAGMA synchronous").pluck();
    this.#pageBytes = db.pragma("page_size", { simple: true }) as number;
  }

  get state(): "ready" | "disk_full" | "store_unavailable" {
    if (this.#failed || this.#unwritable) return "store_unavailable";
    return this.#full || this.#low || this.behind ? "disk_full" : "ready";
  }

  /** Whether the database is to be mended before anything more is written to it. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** Throws when nothing more may be read or written. */
  requireUsable(): void {
    if (this.#failed) throw storageUnavailable();
  }

  /** Throws when nothing new may be stored; what follows from what is stored may still be written. */
  requireSpace(): void {
    if (this.#full || this.#low || this.behind) throw this.#noSpace();
  }

  /** Inside a transaction, before its commit: one that is not synced would be answered all the same. */
  requireDurable(): void {
    if (this.#synchronous.get() !== FULL) throw notDurable();
  }

  async look(): Promise<Pick<Space, "freeBytes" | "floorBytes">> {
    const { dir, floorBytes, statfs } = this.#options;
    const { bavail, bsize } = await statfs(dir).catch((error: unknown) => {
      throw storageUnavailable(error);
    });
    this.requireUsable();
    const disk = bavail * bsize;
    const freeBytes = disk + this.#freelist.get()! * this.#pageBytes;
    this.#low = freeBytes < floorBytes || disk < Math.min(LEAST_DISK_BYTES, floorBytes);
    if (!this.#low) this.#full = false;
    return { freeBytes, floorBytes };
  }

  committed(): void {
    this.#full = false;
    this.#unwritable = false;
  }

  /** What the caller is to be told when the storage is at fault; null for any other error. */
  failed(error: unknown): WebhookdError | null {
    const fault = this.#faultOf(error);
    if (fault === null) return null;
    if (fault === "full") {
      this.#full = true;
      this.#limit = reachedLimit(this.#options.dir);
      return this.#noSpace(error);
    }
    if (fault === "unavailable") {
      this.#unwritable = true;
      return storageUnavailable(error);
    }
    if (!this.#failed) {
      this.#failed = true;
      this.#damaged = fault === "damaged";
      this.#options.onFault(error as Error);
    }
    return storageUnavailable(error);
  }

  #noSpace(cause?: unknown): WebhookdError {
    return this.#full && this.#limit !== null
      ? storageFull(cause, `${this.#limit}: nothing was stored; ${RAISE_LIMIT}`)
      : storageFull(cause);
  }

  /** Nothing was written, for want of space. */
  isFull(error: unknown): boolean {
    return isFull(error, this.#options.dir, this.#options.probe);
  }

  #faultOf(error: unknown): StorageFault | null {
    if (error instanceof StoreRefused) return "fatal";
    return this.isFull(error) ? "full" : storageFault(error);
  }

  /** From now on nothing is read or written; whether it could be until now. */
  close(): boolean {
    const usable = !this.#failed;
    this.#failed = true;
    return usable;
  }
}

/**
 * - `full`: nothing was written; it passes when there is space again.
 * - `unavailable`: nothing was written (another program holds the file, the disk is read-only); it may pass.
 * - `damaged`: pages are not what was written there.
 * - `fatal`: what is on the disk is no longer known. A failed fsync must not be tried again, because the kernel may
 *   have dropped the pages and would report success.
 */
export type StorageFault = "full" | "unavailable" | "damaged" | "fatal";

/**
 * Pages that are not what was written there, or that the disk does not give back (EIO): nothing that stays in this file
 * can be trusted to be written.
 */
export function isDamage(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^SQLITE_(CORRUPT|NOTADB|IOERR_CORRUPTFS)/.test(code);
}

/** Null when the error says nothing about the storage: it is our own bug. */
export function storageFault(error: unknown): StorageFault | null {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "SQLITE_FULL") return "full";
  if (isDamage(error)) return "damaged";
  if (code.startsWith("SQLITE_IOERR")) return "fatal";
  return /^SQLITE_(BUSY|READONLY|CANTOPEN|PERM|LOCKED|PROTOCOL)/.test(code) ? "unavailable" : null;
}
