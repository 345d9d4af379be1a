/** What an error of SQLite means for us: a state that passes, or the end of this process. */
import { WebhookdError } from "../../../domain/errors.ts";

/**
 * - `full`: nothing was written; it passes when there is space again.
 * - `unavailable`: nothing was written (another program holds the file, the disk is read-only); it may pass.
 * - `damaged`: pages are not what was written there.
 * - `fatal`: what is on the disk is no longer known. A failed fsync must not be tried again, because the kernel may
 *   have dropped the pages and would report success.
 */
export type StorageFault = "full" | "unavailable" | "damaged" | "fatal";

const RETRY_AFTER_SECONDS = 5;

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

export function storageFull(cause?: unknown): WebhookdError {
  return new WebhookdError("storage_full", "there is too little free disk space: nothing was stored", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}

export function storageUnavailable(cause?: unknown): WebhookdError {
  return new WebhookdError("storage_unavailable", "the store cannot be written or read now", {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause,
  });
}
