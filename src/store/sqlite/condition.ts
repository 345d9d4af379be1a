/** Whether the store can take what it is given: free space, the last commit's fate, and faults that end the process. */
import type { Database, Statement } from "better-sqlite3";
import { WebhookdError } from "../../domain/errors.ts";
import type { Space } from "../store.ts";
import { storageFault, storageFull, storageUnavailable } from "./faults.ts";

/** Under this much of the disk itself even a small floor is passed: the WAL needs room that the freelist cannot give. */
const LEAST_DISK_BYTES = 128 * 1024 * 1024;

export type StatFs = (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;

export interface ConditionOptions {
  readonly dir: string;
  readonly floorBytes: number;
  readonly statfs: StatFs;
  /** Called once, for an error after which the process must end. */
  readonly onFault: (error: Error) => void;
}

export class Condition {
  readonly #options: ConditionOptions;
  readonly #freelist: Statement<[], number>;
  readonly #pageBytes: number;
  #failed = false;
  #unwritable = false;
  /** The disk said so itself. */
  #full = false;
  #low = false;

  constructor(db: Database, options: ConditionOptions) {
    this.#options = options;
    this.#freelist = db.prepare<[], number>("PRAGMA freelist_count").pluck();
    this.#pageBytes = db.pragma("page_size", { simple: true }) as number;
  }

  get state(): "ready" | "disk_full" | "store_unavailable" {
    if (this.#failed || this.#unwritable) return "store_unavailable";
    return this.#full || this.#low ? "disk_full" : "ready";
  }

  /** Throws when nothing more may be read or written. */
  requireUsable(): void {
    if (this.#failed) throw storageUnavailable();
  }

  /** Throws when nothing new may be stored; what follows from what is stored may still be written. */
  requireSpace(): void {
    if (this.#full || this.#low) throw storageFull();
  }

  async look(): Promise<Space> {
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
    const fault = storageFault(error);
    if (fault === null) return null;
    if (fault === "full") {
      this.#full = true;
      return storageFull(error);
    }
    if (fault === "unavailable") {
      this.#unwritable = true;
      return storageUnavailable(error);
    }
    if (!this.#failed) {
      this.#failed = true;
      this.#options.onFault(error as Error);
    }
    return storageUnavailable(error);
  }

  /** From now on nothing is read or written; whether it could be until now. */
  close(): boolean {
    const usable = !this.#failed;
    this.#failed = true;
    return usable;
  }
}
