/**
 * The operations that commands carry out on a data directory while no daemon uses it, each under its lock. Apart from
 * `daemon.ts`, this is the only place that joins a store with the machine.
 */
import { existsSync, lchownSync, lstatSync, readdirSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { nativeBinding } from "./native.ts";
import { compactStore, type Compacted } from "./store/opening/maintenance.ts";
import { migrateStore, type MigrateOptions, type MigrationReport } from "./store/opening/migrate-store.ts";
import { rekeyStore, reissueSecrets, type Affected, type Reissued, type Rekeyed } from "./store/opening/maintenance.ts";
import { openStore } from "./store/opening/open.ts";
import { restoreKey, type RestoredKey, type RestoreKeyOptions } from "./store/restore/restore-key.ts";
import { restoreBackup, type FoundBackup, type Restored, type RestoreOptions } from "./store/restore/restore.ts";
import type { Moved, MoveOptions, MoveProgress } from "./store/move/move.ts";
import type { BackupFile } from "./store/store.ts";
import { startThread } from "./thread.ts";

export type { Affected, Compacted, FoundBackup, MigrateOptions, MigrationReport, Moved, MoveProgress, Restored };

type Restoring = Pick<RestoreOptions, "backup" | "givenKeyFile" | "passphrase" | "mustUnseal" | "confirm">;

/** Null if nobody confirmed it. */
export async function restore({ data }: Config, restoring: Restoring): Promise<Restored | null> {
  const { dir, secretKeyFile } = data;
  return asOwner(dir, () =>
    restoreBackup({ ...restoring, dir, secretKeyFile, clock: systemClock, nativeBinding: nativeBinding(dir) }),
  );
}

/** Restores only `secret.key`, from a backup in which it is sealed. */
export async function restoreOnlyKey(
  config: Config,
  from: Pick<RestoreKeyOptions, "backup" | "passphrase">,
): Promise<RestoredKey> {
  return asOwner(config.data.dir, () => restoreKey({ ...from, ...placeOf(config) }));
}

/** Null if nobody confirmed it. */
export async function reissue(
  config: Config,
  confirm: (endpoints: readonly Affected[]) => Promise<boolean>,
): Promise<Reissued | null> {
  return asOwner(config.data.dir, () => reissueSecrets({ ...placeOf(config), confirm }));
}

export async function rekey(config: Config): Promise<Rekeyed> {
  return asOwner(config.data.dir, () => rekeyStore(placeOf(config)));
}

function placeOf({ data: { dir, secretKeyFile } }: Config) {
  return { dir, secretKeyFile, clock: systemClock, nativeBinding: nativeBinding(dir) };
}

export async function migrate({ data, backup }: Config, how: MigrateOptions["how"]): Promise<MigrationReport> {
  const { dir } = data;
  return asOwner(dir, () => migrateStore({ dir, how, backup, clock: systemClock, nativeBinding: nativeBinding(dir) }));
}

type Moving = Pick<MoveOptions, "url" | "direction" | "how" | "resume" | "beside" | "onReady" | "onProgress">;

/** Moves the store between the file of the data directory and PostgreSQL. */
export async function move(config: Config, moving: Moving): Promise<Moved> {
  const { moveStore } = await import("./store/move/move.ts");
  const now = systemClock.now();
  const monotonic = () => systemClock.monotonic();
  return asOwner(config.data.dir, () => moveStore({ ...moving, ...placeOf(config), now, monotonic }));
}

export async function giveUp(
  config: Config,
  { url, direction }: Pick<MoveOptions, "url" | "direction">,
): Promise<void> {
  const { giveUpMove } = await import("./store/move/move.ts");
  const now = systemClock.now();
  return asOwner(config.data.dir, () => giveUpMove({ url, direction, ...placeOf(config), now }));
}

export async function compact({ data: { dir } }: Config): Promise<Compacted> {
  return asOwner(dir, () => compactStore({ dir, clock: systemClock, nativeBinding: nativeBinding(dir) }));
}

/** Makes a backup as the daemon does, in `[backup] dir`. `passphrase` seals `secret.key` into it. */
export async function backUp(config: Config, passphrase: string | undefined): Promise<BackupFile> {
  return asOwner(config.data.dir, () => backUpHere(config, passphrase));
}

async function backUpHere({ data, backup }: Config, passphrase: string | undefined): Promise<BackupFile> {
  const { store } = await openStore({
    dir: data.dir,
    // Files that root creates here belong to the directory's owner.
    owner: process.getuid?.() === 0 ? statSync(data.dir, { throwIfNoEntry: false })?.uid : undefined,
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
    return await store.operations.backup({ ...backup, passphrase }, systemClock.now());
  } finally {
    await store.close();
  }
}

/** Gives the files that root created to the owner of the directory, who could not open them otherwise. */
async function asOwner<T>(dir: string, work: () => Promise<T>): Promise<T> {
  process.umask(0o077);
  try {
    return await work();
  } finally {
    if (process.getuid?.() === 0 && existsSync(dir)) giveAway(dir, statSync(dir));
  }
}

function giveAway(dir: string, { uid, gid }: Stats): void {
  if (uid === 0) return;
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" })) {
    const path = join(dir, name);
    // lchown works by name, so it opens nothing, and changes a link itself rather than its target.
    if (lstatSync(path).uid === 0) lchownSync(path, uid, gid);
  }
}
