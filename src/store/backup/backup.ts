/**
 * Online backups: the store keeps accepting events while a thread copies the database, checks the copy and names it.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { WebhookdError } from "../../domain/errors.ts";
import { BackupDirectory, type BackupFacts, type CopyMark } from "./copy.ts";
import type { BackupFile, BackupPlace, StoreSize } from "../store.ts";
import { systemCode } from "../files/refused.ts";
import { readPassphrase } from "../../passphrase.ts";
import type { BackupThreadData, FromBackup } from "./backup-thread.ts";
import type { StatFs } from "../sqlite/engine/condition.ts";
import type { NativeBinding } from "../sqlite/engine/open-database.ts";
import { unawaited } from "../../domain/unawaited.ts";

export type StartBackup = (data: BackupThreadData) => Pick<Worker, "on" | "terminate">;

export interface BackupParts {
  readonly dir: string;
  readonly nativeBinding: NativeBinding | undefined;
  readonly start: StartBackup;
  readonly statfs: StatFs;
  /** The number of free bytes on the data's disk that no backup may use. */
  readonly floorBytes: number;
  readonly size: () => Promise<StoreSize>;
  /** Seals `secret.key` for copies of this store. */
  readonly sealKey: (passphrase: string) => Promise<string>;
}

export class Backup {
  readonly #parts: BackupParts;
  #running = false;
  #thread: Pick<Worker, "terminate"> | null = null;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  async make(place: BackupPlace, now: number): Promise<BackupFile> {
    this.requireNone();
    this.#running = true;
    try {
      return await this.#make(place, now);
    } catch (error) {
      throw error instanceof WebhookdError ? error : failure(place.dir, error);
    } finally {
      this.#running = false;
    }
  }

  requireNone(): void {
    if (this.#running) throw new WebhookdError("backup_running", "a backup is being made; wait until it is done");
  }

  /** Stops the thread. The next backup removes the unfinished file. */
  close(): void {
    unawaited(this.#thread?.terminate());
  }

  async #make(place: BackupPlace, now: number): Promise<BackupFile> {
    const { dir, mayMake, keep } = place;
    const passphrase = passphraseOf(place);
    const sealedKey = passphrase === null ? null : await this.#parts.sealKey(passphrase);
    const directory = new BackupDirectory(dir, mayMake);
    await this.#requireSpace(dir);
    try {
      const facts = await this.#copy(directory.partial(now), { at: now, sealedKey });
      const file = directory.keep(now);
      directory.prune(now, keep);
      return { file, at: now, ...facts, sealed: sealedKey !== null };
    } catch (error) {
      directory.abandon(now);
      throw error;
    }
  }

  async #requireSpace(dir: string): Promise<void> {
    const { statfs, size, floorBytes } = this.#parts;
    const { databaseBytes, logBytes } = await size();
    const sharesDisk = statSync(dir).dev === statSync(this.#parts.dir).dev;
    const needed = databaseBytes + logBytes + (sharesDisk ? floorBytes : 0);
    const { bavail, bsize } = await statfs(dir);
    if (bavail * bsize >= needed) return;
    throw new WebhookdError(
      "backup_failed",
      `${dir} has ${inMiB(bavail * bsize)} free, and a backup needs ${inMiB(needed)}${sharesDisk ? " including [data] disk_floor" : ""}: free some space, or name another [backup] dir`,
    );
  }

  #copy(target: string, mark: CopyMark): Promise<BackupFacts> {
    const { dir, nativeBinding, start } = this.#parts;
    return new Promise<BackupFacts>((resolve, reject) => {
      const thread = start({ database: join(dir, "webhookd.db"), target, mark, nativeBinding });
      this.#thread = thread;
      thread.on("message", (message: FromBackup) => {
        if ("done" in message) resolve(message.done);
        else reject(Object.assign(new Error(message.failed.message), { code: message.failed.code }));
      });
      thread.on("error", reject);
      thread.on("exit", () => reject(new Error("the daemon stopped before it was done")));
    }).finally(() => (this.#thread = null));
  }
}

function passphraseOf({ passphrase, sealWithFile = "" }: BackupPlace): string | null {
  if (passphrase !== undefined) return passphrase;
  if (sealWithFile === "") return null;
  const read = readPassphrase(sealWithFile);
  if ("passphrase" in read) return read.passphrase;
  throw new WebhookdError("backup_failed", `[backup] seal_with_file ${sealWithFile}${read.refused}`);
}

function failure(dir: string, error: unknown): WebhookdError {
  const { message } = error as Error;
  const sentence = SENTENCES[systemCode(error)];
  const detail = sentence === undefined ? `the backup into ${dir} failed: ${message}` : `${dir} ${sentence}`;
  return new WebhookdError("backup_failed", detail, { cause: error });
}

const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: "does not exist: create it, mount its disk, or name another [backup] dir",
  ENOTDIR: "is not a directory: name another [backup] dir",
  EACCES: "cannot be written to: check its owner and mode",
  EPERM: "cannot be written to: check its owner and mode",
  EROFS: "is on a read-only file system",
  ENOSPC: "is full: free some space, or name another [backup] dir",
  EDQUOT: "is over its quota: free some space, or name another [backup] dir",
  SQLITE_FULL: "is full: free some space, or name another [backup] dir",
};

function inMiB(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}
