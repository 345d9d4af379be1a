/** Operations on the store as a whole: pause, backups, the change of `secret.key`, and the size. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { WebhookdError } from "../../domain/errors.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";
import { Backup, type StartBackup } from "../backup/backup.ts";
import type { BackupFile, BackupPlace, Damage, OpenMove, OperationsStore, Rekeyed, StoreSize } from "../store.ts";
import type { Engine } from "./engine/engine.ts";
import type { StatFs } from "./engine/condition.ts";
import type { NativeBinding } from "./engine/open-database.ts";
import { Rekey } from "./secrets/key-change.ts";

interface Options {
  readonly diskFloor: number;
  readonly nativeBinding: NativeBinding | undefined;
  readonly secretKeyFile: string;
  readonly startBackup: StartBackup;
  readonly statfs: StatFs;
}

export class SqliteOperations implements OperationsStore {
  readonly schemaVersion: number;
  readonly noBackups = null;
  readonly #engine: Engine;
  readonly #backup: Backup;
  readonly #rekey: Rekey;
  #unsaved: Pause | null = null;
  #saving: Promise<void> | null = null;

  constructor(engine: Engine, options: Options) {
    const { box, db, dir, meta } = engine;
    const { diskFloor: floorBytes, nativeBinding, secretKeyFile, startBackup: start, statfs } = options;
    this.#engine = engine;
    this.schemaVersion = db.pragma("user_version", { simple: true }) as number;
    this.#backup = new Backup({
      dir,
      floorBytes,
      nativeBinding,
      start,
      statfs,
      size: () => this.size(),
      sealKey: (passphrase) => box.sealKey(passphrase, meta.keyCheck),
    });
    this.#rekey = new Rekey(engine, { dir, secretKeyFile, nativeBinding });
  }

  async getPause(): Promise<Pause | null> {
    return this.#unsaved ?? this.#engine.read(() => this.#engine.meta.pause);
  }

  /** A pause must work when nothing else does, so one that does not fit on the disk holds in memory until a restart. */
  async pause(pause: Pause): Promise<Pause> {
    const { commit, meta } = this.#engine;
    try {
      return await commit.run(() => meta.pause ?? (meta.pause = pause));
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      return (await this.getPause()) ?? (this.#unsaved = { ...pause, saved: false });
    }
  }

  /** Call it when there may be space again. Concurrent callers wait for the same write. */
  savePause(): Promise<void> {
    return (this.#saving ??= this.#save().finally(() => (this.#saving = null)));
  }

  async #save(): Promise<void> {
    const unsaved = this.#unsaved;
    if (unsaved === null) return;
    const { saved: _, ...pause } = unsaved;
    const { commit, meta } = this.#engine;
    await commit.run(() => meta.pause ?? (meta.pause = pause));
    if (this.#unsaved === unsaved) this.#unsaved = null;
    // Sending was resumed while the pause was being written.
    else await commit.run(() => (meta.pause = null));
  }

  async resume(): Promise<boolean> {
    const { commit, meta } = this.#engine;
    const wasUnsaved = this.#unsaved !== null;
    this.#unsaved = null;
    // No pause is on the disk, so nothing must be removed.
    if (wasUnsaved) return true;
    return commit.run(() => {
      if (meta.pause === null) return false;
      meta.pause = null;
      return true;
    });
  }

  async backup(place: BackupPlace, now: number): Promise<BackupFile> {
    const { commit, meta } = this.#engine;
    // The rows must fit the key that is sealed beside them. No turn may pass between this wait and the start of the
    // backup.
    while (this.#rekey.running !== null) await this.#rekey.running.catch(() => {});
    const backup = await this.#backup.make(place, now);
    await commit.run(() => (meta.lastBackup = backup));
    return backup;
  }

  async rekey(): Promise<Rekeyed> {
    this.#backup.requireNone();
    return this.#rekey.run();
  }

  async lastBackup(): Promise<BackupFile | null> {
    return this.#engine.read(() => this.#engine.meta.lastBackup);
  }

  async damage(): Promise<Damage | null> {
    const damage = this.#engine.read(() => this.#engine.meta.damage);
    return damage !== null && existsSync(damage.file) ? damage : null;
  }

  async openMove(): Promise<OpenMove | null> {
    return this.#engine.read(() => this.#engine.meta.openMove);
  }

  /** Stats the files by name, because opening the database would drop the locks on it. */
  async size(): Promise<StoreSize> {
    const bytes = (name: string) => stat(join(this.#engine.dir, name)).then(({ size }) => size);
    // There is no WAL before the first write, nor for a moment after the last one.
    const [databaseBytes, logBytes] = await Promise.all([
      bytes("webhookd.db"),
      bytes("webhookd.db-wal").catch(() => 0),
    ]);
    return { databaseBytes, logBytes };
  }

  close(): void {
    this.#rekey.close();
    this.#backup.close();
  }
}
