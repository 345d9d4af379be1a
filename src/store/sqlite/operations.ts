/** The verbs that are about the store as a whole. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "better-sqlite3";
import { WebhookdError } from "../../domain/errors.ts";
import type { Pause } from "../../domain/pause.ts";
import type { OperationsStore, ReadStore, StoreSize } from "../store.ts";
import { Backup, type StartBackup } from "../backup/backup.ts";
import type { Box } from "./engine/box.ts";
import type { StatFs } from "./engine/condition.ts";
import type { Cursors } from "./engine/cursor.ts";
import type { GroupCommit } from "./engine/group-commit.ts";
import type { Meta } from "./engine/meta.ts";
import type { NativeBinding } from "./engine/open-file.ts";
import { Pages } from "./engine/page.ts";
import { Rekey } from "./secrets/rekey.ts";
import { Tenants } from "./reads/tenants.ts";

export interface OperationsParts {
  readonly dir: string;
  readonly secretKeyFile: string;
  readonly random: (bytes: number) => Uint8Array;
  readonly box: Box;
  readonly nativeBinding: NativeBinding | undefined;
  readonly startBackup: StartBackup;
  readonly statfs: StatFs;
  readonly floorBytes: number;
  readonly commit: GroupCommit;
  readonly meta: Meta;
  readonly read: <T>(work: () => T) => T;
  readonly defer: (run: () => void) => void;
  readonly cursors: Cursors;
}

export class Operations implements OperationsStore {
  readonly schemaVersion: number;
  readonly #parts: OperationsParts;
  readonly #tenants: Tenants;
  readonly #pages: Pages;
  readonly #backup: Backup;
  readonly #rekey: Rekey;
  #unsaved: Pause | null = null;

  constructor(db: Database, parts: OperationsParts) {
    this.#parts = parts;
    this.schemaVersion = db.pragma("user_version", { simple: true }) as number;
    this.#tenants = new Tenants(db);
    this.#pages = new Pages(parts);
    this.#backup = new Backup({
      ...parts,
      start: parts.startBackup,
      size: this.size,
      sealKey: (passphrase) => parts.box.sealKey(passphrase, parts.meta.keyCheck),
    });
    this.#rekey = new Rekey(db, parts);
  }

  readonly getPause: OperationsStore["getPause"] = async () =>
    this.#unsaved ?? this.#parts.read(() => this.#parts.meta.pause);

  /** The brake must work when nothing else does: what the disk does not take holds until a restart. */
  readonly pause: OperationsStore["pause"] = async (pause) => {
    const { commit, meta } = this.#parts;
    try {
      return await commit.run(() => meta.pause ?? (meta.pause = pause));
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      return (await this.getPause()) ?? (this.#unsaved = { ...pause, saved: false });
    }
  };

  /** To be called when there may be space again. */
  async savePause(): Promise<void> {
    const unsaved = this.#unsaved;
    if (unsaved === null) return;
    const { saved: _, ...pause } = unsaved;
    const { commit, meta } = this.#parts;
    await commit.run(() => meta.pause ?? (meta.pause = pause));
    if (this.#unsaved === unsaved) this.#unsaved = null;
    // Taken off while it was being written.
    else await commit.run(() => (meta.pause = null));
  }

  readonly resume: OperationsStore["resume"] = async () => {
    const { commit, meta } = this.#parts;
    const wasUnsaved = this.#unsaved !== null;
    this.#unsaved = null;
    // Nothing is on the disk that would have to go.
    if (wasUnsaved) return true;
    return commit.run(() => {
      if (meta.pause === null) return false;
      meta.pause = null;
      return true;
    });
  };

  readonly backup: OperationsStore["backup"] = async (place, now) => {
    const { commit, meta } = this.#parts;
    // Rows and the key that is sealed beside them must fit together. No turn may pass between this and the start.
    while (this.#rekey.running !== null) await this.#rekey.running.catch(() => {});
    const backup = await this.#backup.make(place, now);
    await commit.run(() => (meta.lastBackup = backup));
    return backup;
  };

  readonly rekey: OperationsStore["rekey"] = async () => {
    this.#backup.requireNone();
    return this.#rekey.run();
  };

  readonly lastBackup: OperationsStore["lastBackup"] = async () => this.#parts.read(() => this.#parts.meta.lastBackup);

  readonly damage: OperationsStore["damage"] = async () => {
    const damage = this.#parts.read(() => this.#parts.meta.damage);
    return damage !== null && existsSync(damage.file) ? damage : null;
  };

  readonly listTenants: ReadStore["listTenants"] = (query) => this.#pages.of(this.#tenants.list(query), query);

  /** By the files' names: opening the database would drop the locks on it. */
  readonly size = async (): Promise<StoreSize> => {
    const bytes = (name: string) => stat(join(this.#parts.dir, name)).then(({ size }) => size);
    // There is no WAL before the first write, and none for a moment after the last.
    const [databaseBytes, logBytes] = await Promise.all([
      bytes("webhookd.db"),
      bytes("webhookd.db-wal").catch(() => 0),
    ]);
    return { databaseBytes, logBytes };
  };

  close(): void {
    this.#rekey.close();
    this.#backup.close();
  }
}
