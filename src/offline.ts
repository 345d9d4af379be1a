/**
 * What commands do to a data directory while no daemon has it, each under its lock: beside `daemon.ts` the only place
 * where a store is put together with the machine.
 */
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { nativeBinding } from "./native.ts";
import { migrateStore, type MigrateOptions, type MigrationReport } from "./store/migrate-store.ts";
import { openStore } from "./store/open.ts";
import { restoreBackup, type FoundBackup, type Restored, type RestoreOptions } from "./store/restore.ts";
import type { BackupFile } from "./store/store.ts";
import { startThread } from "./thread.ts";

export type { FoundBackup, MigrateOptions, MigrationReport, Restored };

type Restoring = Pick<RestoreOptions, "backup" | "givenKeyFile" | "passphrase" | "mustUnseal" | "confirm">;

/** Null when it was not confirmed. */
export async function restore({ data }: Config, restoring: Restoring): Promise<Restored | null> {
  process.umask(0o077);
  const { dir, secretKeyFile } = data;
  return restoreBackup({ ...restoring, dir, secretKeyFile, clock: systemClock, nativeBinding: nativeBinding(dir) });
}

export async function migrate({ data, backup }: Config, how: MigrateOptions["how"]): Promise<MigrationReport> {
  process.umask(0o077);
  const { dir } = data;
  return migrateStore({ dir, how, backup, clock: systemClock, nativeBinding: nativeBinding(dir) });
}

/** As the daemon makes one, into `[backup] dir`; `passphrase` seals `secret.key` into it. */
export async function backUp({ data, backup }: Config, passphrase: string | undefined): Promise<BackupFile> {
  process.umask(0o077);
  const { store } = await openStore({
    dir: data.dir,
    create: false,
    migrate: false,
    secretKeyFile: data.secretKeyFile,
    diskFloor: 0,
    clock: systemClock,
    nativeBinding: nativeBinding(data.dir),
    startBackup: (thread) => startThread("backup", thread),
    onFault: (error) => {
      throw error;
    },
  });
  try {
    return await store.backup({ ...backup, passphrase }, systemClock.now());
  } finally {
    await store.close();
  }
}
