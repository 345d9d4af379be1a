/**
 * Reports whether the store can accept work, judging by the free space, the result of the last commit, and faults that
 * end the process.
 */
import type { Database, Statement } from "better-sqlite3";
import { WebhookdError } from "../../../domain/errors.ts";
import { RAISE_LIMIT, StoreRefused, isFull, reachedLimit } from "../../files/refused.ts";
import type { Space } from "../../store.ts";
import { storageFull, storageUnavailable } from "../../files/unavailable.ts";

/** The value of `PRAGMA synchronous`. */
const FULL = 2;

/**
 * Publishes are refused when less than this is free on the disk itself, whatever the size of the freelist, because the
 * WAL cannot grow into the database's free pages.
 */
const LEAST_DISK_BYTES = 128 * 1024 * 1024;

export type StatFs = (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

export interface ConditionOptions {
  readonly dir: string;
  readonly floorBytes: number;
  readonly statfs: StatFs;
  /**
   * Returns the code with which the system refuses to write there now, such as EDQUOT, or null if it accepts writes.
   */
  readonly probe?: (dir: string) => string | null;
  /** Called once, with an error after which the process must end. */
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
  /** The disk refused a write because it is full. */
  #full = false;
  #low = false;
  /** The file size limit, if the last failed commit reached it, and otherwise null. */
  #limit: string | null = null;
  /** True while the disk is too full to take over the last process's work. Nothing new may be stored before that. */
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

  /** True if the database must be repaired before anything more is written to it. */
  get damaged(): boolean {
    return this.#damaged;
  }

  /** Throws if nothing more may be read or written. */
  requireUsable(): void {
    if (this.#failed) throw storageUnavailable();
  }

  /** Throws if nothing new may be stored. Changes that follow from stored events may still be written. */
  requireSpace(): void {
    if (this.#full || this.#low || this.behind) throw this.#noSpace();
  }

  /**
   * Called inside a transaction, before its commit, because a commit that is not synced would be acknowledged anyway.
   */
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

  /** Returns the error for the caller if the storage is at fault, and null for any other error. */
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

  /** Returns true if nothing was written because there is no space. */
  isFull(error: unknown): boolean {
    return isFull(error, this.#options.dir, this.#options.probe);
  }

  #faultOf(error: unknown): StorageFault | null {
    if (error instanceof StoreRefused) return "fatal";
    return this.isFull(error) ? "full" : storageFault(error);
  }

  /** Allows no more reads and writes. Returns true if they were possible until now. */
  close(): boolean {
    const usable = !this.#failed;
    this.#failed = true;
    return usable;
  }
}

/**
 * - `full`: nothing was written; it passes when there is space again.
 * - `unavailable`: nothing was written (another program holds the file, the disk is read-only); it may pass.
 * - `damaged`: pages do not contain what was written there.
 * - `fatal`: the contents of the disk are no longer known. A failed fsync must not be retried, because the kernel may
 *   have dropped the pages and would report success.
 */
export type StorageFault = "full" | "unavailable" | "damaged" | "fatal";

/**
 * True if pages do not contain what was written there, or if the disk does not return them (EIO). Nothing more may be
 * written to such a file.
 */
export function isDamage(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^SQLITE_(CORRUPT|NOTADB|IOERR_CORRUPTFS)/.test(code);
}

/** Returns null if the storage is not to blame, so that the error is our own bug. */
export function storageFault(error: unknown): StorageFault | null {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "SQLITE_FULL") return "full";
  if (isDamage(error)) return "damaged";
  if (code.startsWith("SQLITE_IOERR")) return "fatal";
  return /^SQLITE_(BUSY|READONLY|CANTOPEN|PERM|LOCKED|PROTOCOL)/.test(code) ? "unavailable" : null;
}
