/**
 * Makes backups, on demand and by `[backup] every`. A failure raises an alarm in the log, and stays in the status until
 * a backup succeeds.
 */
import type { Clock } from "../clock.ts";
import { WebhookdError, type ErrorCode } from "../domain/errors.ts";
import type { Log } from "../log.ts";
import type { BackupFile, BackupPlace, OperationsStore } from "../store/store.ts";

export interface BackupRules extends BackupPlace {
  /** Milliseconds; 0 for backups on demand only. */
  readonly every: number;
}

export interface BackupsParts {
  readonly store: { readonly operations: Pick<OperationsStore, "backup" | "noBackups" | "lastBackup"> };
  readonly clock: Clock;
  readonly log: Log;
  /** Read at the beginning of each backup. */
  readonly rules: () => BackupRules;
  /** Aborted when the daemon stops, because a caller that is waiting for a backup must not delay that. */
  readonly signal: AbortSignal;
  readonly onFailed?: (detail: string) => void;
}

export interface BackupFailure {
  readonly at: number;
  readonly detail: string;
}

const NO_FAILURES: readonly ErrorCode[] = ["backup_running", "shutting_down"];
/** After a failure the schedule waits for this long, or for its own period if that is shorter. */
const AGAIN_MS = 600_000;

export class Backups {
  /** The failure of the last backup; null after a success and after a start. */
  failure: BackupFailure | null = null;
  readonly #parts: BackupsParts;
  readonly #stopped: Promise<never>;

  constructor(parts: BackupsParts) {
    this.#parts = parts;
    const stopped = Promise.withResolvers<never>();
    // Usually nobody waits for it, and then its rejection would be unhandled.
    stopped.promise.catch(() => {});
    parts.signal.addEventListener("abort", () => stopped.reject(shuttingDown()), { once: true });
    this.#stopped = stopped.promise;
  }

  get rules(): BackupRules {
    return this.#parts.rules();
  }

  /**
   * `passphrase` seals `secret.key` into the copy. Rejects like `Store.backup`, and with `shutting_down` when the
   * daemon is stopping.
   */
  async make(passphrase?: string): Promise<BackupFile> {
    const { store, clock, log, onFailed } = this.#parts;
    const begun = clock.monotonic();
    try {
      const backup = await Promise.race([
        store.operations.backup({ ...this.rules, passphrase }, clock.now()),
        this.#stopped,
      ]);
      this.failure = null;
      const duration_ms = Math.round(clock.monotonic() - begun);
      log.info({ file: backup.file, bytes: backup.bytes, sealed: backup.sealed, duration_ms }, "a backup was made");
      return backup;
    } catch (error) {
      if (error instanceof WebhookdError && NO_FAILURES.includes(error.code)) throw error;
      // Only the caller needs this error: nothing failed, and no later backup would clear the failure.
      if (store.operations.noBackups !== null) throw error;
      const detail = error instanceof WebhookdError ? error.detail : String(error);
      this.failure = { at: clock.now(), detail };
      onFailed?.(detail);
      log.error({ detail }, "the backup failed: what was published since the last one is not in any backup");
      throw error;
    }
  }

  /** Must be called each minute. Makes a backup if one is due, even after a restart. */
  async pass(): Promise<void> {
    const { store, clock } = this.#parts;
    const { every } = this.rules;
    if (every === 0) return;
    const last = (await store.operations.lastBackup())?.at ?? Number.NEGATIVE_INFINITY;
    const now = clock.now();
    // A backup from the future means that the clock was set back, so its age is unknown.
    const dueAt = last > now ? now : last + every;
    const againAt = this.failure === null ? now : this.failure.at + Math.min(every, AGAIN_MS);
    if (now < Math.max(dueAt, againAt)) return;
    await this.make().catch((error: unknown) => {
      if (!(error instanceof WebhookdError)) throw error;
    });
  }
}

function shuttingDown(): WebhookdError {
  return new WebhookdError(
    "shutting_down",
    "the daemon is stopping and has abandoned the backup; ask again once it is running",
  );
}
