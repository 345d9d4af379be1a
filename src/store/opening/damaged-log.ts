/**
 * Detects damage to the write-ahead log before SQLite opens it, because the first commit after that overwrites the
 * evidence.
 */
import { chmodSync, constants, copyFileSync } from "node:fs";
import { join } from "node:path";
import { logDamageText } from "../../domain/wording.ts";
import { syncDirectory, syncFile } from "../files/durable-file.ts";
import { StoreRefused } from "../files/refused.ts";
import { lookForLostLog } from "../sqlite/damage/damaged-log.ts";
import type { Meta } from "../sqlite/engine/meta.ts";
import type { DamagedLog } from "../store.ts";
import type { Lock } from "./lock.ts";
import type { OpeningLog } from "./mend.ts";

interface Place {
  readonly dir: string;
  readonly lock: Pick<Lock, "sameBoot">;
}

/**
 * Logs what was lost and keeps a copy of the log. Returns null if nothing was lost, or if there is no space for the
 * copy.
 */
export function noticeDamagedLog({ dir, lock }: Place, now: number, log: OpeningLog | undefined): DamagedLog | null {
  const file = join(dir, "webhookd.db-wal");
  const lost = lookForLostLog(file, lock);
  if (lost === null) return null;
  const kept = join(dir, `webhookd.db.damaged-${new Date(now).toISOString().replaceAll(/[-:.]/g, "")}-wal`);
  const said = `${logDamageText(lost)}: publish again what was acknowledged in the last minutes of the last run, with the same idempotency keys, and check the disk`;
  try {
    copyFileSync(file, kept, constants.COPYFILE_FICLONE);
    chmodSync(kept, 0o600);
    syncFile(kept);
    syncDirectory(dir);
  } catch (error) {
    log?.error?.({ err: error, file, ...lost }, `${said}; no copy of the log could be kept`);
    return null;
  }
  log?.error?.({ file: kept, ...lost }, `${said}; a copy of the log is kept until you remove it`);
  return { file: kept, ...lost };
}

/**
 * Keeps the report in the store until the copy is removed, together with damaged pages that this start has repaired.
 */
export function recordDamagedLog(meta: Meta, log: DamagedLog, foundAt: number): void {
  const { damage } = meta;
  meta.damage =
    damage !== null && damage.at >= foundAt
      ? { ...damage, log }
      : { at: foundAt, file: log.file, pages: [], lost: [], log };
}

/** Used by commands that would silently overwrite the damaged log. */
export function refuseDamagedLog({ dir, lock }: Place): void {
  const lost = lookForLostLog(join(dir, "webhookd.db-wal"), lock);
  if (lost === null) return;
  throw new StoreRefused(
    65,
    logDamageText(lost),
    "start webhookd: it says what is lost and keeps a copy of the log; then stop it, and try again",
  );
}
