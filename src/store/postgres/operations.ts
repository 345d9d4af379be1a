/** Operations on the store as a whole: pause, size, and the reasons why others are refused. */
import { WebhookdError } from "../../domain/errors.ts";
import type { Pause } from "../../domain/deliveries/pause.ts";
import type { BackupFile, Damage, OpenMove, OperationsStore, Rekeyed, StoreSize } from "../store.ts";
import { openMove } from "./engine/change-log.ts";
import type { Queries } from "./engine/database.ts";
import { getMeta, setMeta, type Engine } from "./engine/engine.ts";
import { SCHEMA_VERSION } from "./engine/schema.ts";

export class PostgresOperations implements OperationsStore {
  readonly schemaVersion = SCHEMA_VERSION;
  readonly noBackups =
    "the store is a PostgreSQL database: back it up with PostgreSQL's own tools (pg_basebackup, pg_dump)";
  readonly #engine: Engine;
  #unsaved: Pause | null = null;
  #saving: Promise<void> | null = null;
  /** A pause that was ended before it was saved. A commit that succeeded late may still have saved it. */
  #over: Pause | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async getPause(): Promise<Pause | null> {
    if (this.#unsaved !== null) return this.#unsaved;
    const text = await getMeta(this.#engine.database, "pause");
    return this.#over !== null && text === textOf(this.#over) ? null : pauseOf(text);
  }

  /** A pause must work when nothing else does, so one that the database refuses holds in memory until a restart. */
  async pause(pause: Pause): Promise<Pause> {
    try {
      return await this.#engine.write(async (tx) => {
        await this.#removeOver(tx);
        await tx.change("INSERT INTO meta (name, value) VALUES ('pause', $1) ON CONFLICT DO NOTHING", [textOf(pause)]);
        return pauseOf(await getMeta(tx, "pause"))!;
      });
    } catch (error) {
      if (!(error instanceof WebhookdError)) throw error;
      return (this.#unsaved ??= { ...pause, saved: false });
    }
  }

  async resume(): Promise<boolean> {
    if (this.#unsaved !== null) {
      [this.#unsaved, this.#over] = [null, this.#unsaved];
      await this.#forgetOver().catch(() => {});
      return true;
    }
    return this.#engine.write(async (tx) => (await tx.change("DELETE FROM meta WHERE name = 'pause'")) === 1);
  }

  async size(): Promise<StoreSize> {
    const [row] = await this.#engine.database.lists.rows<{ bytes: number }>(
      "SELECT pg_database_size(current_database()) AS bytes",
    );
    return { databaseBytes: row!.bytes, logBytes: 0 };
  }

  async backup(): Promise<BackupFile> {
    throw new WebhookdError("backup_failed", this.noBackups);
  }

  async rekey(): Promise<Rekeyed> {
    const detail = "if several nodes may share a store, its secret.key cannot be changed while they run";
    throw new WebhookdError("key_not_changeable", detail);
  }

  async lastBackup(): Promise<BackupFile | null> {
    return null;
  }

  async damage(): Promise<Damage | null> {
    return null;
  }

  openMove(): Promise<OpenMove | null> {
    return openMove(this.#engine.database.lists);
  }

  /**
   * Called about every second: saves the pause as soon as the database accepts it. Concurrent callers wait for the same
   * write, because a second one could undo the end of the pause.
   */
  savePause(): Promise<void> {
    return (this.#saving ??= this.#save().finally(() => (this.#saving = null)));
  }

  async #save(): Promise<void> {
    await this.#forgetOver();
    const unsaved = this.#unsaved;
    if (unsaved === null) return;
    await this.#engine.write((tx) => setMeta(tx, "pause", textOf(unsaved)));
    if (this.#unsaved === unsaved) this.#unsaved = null;
  }

  async #forgetOver(): Promise<void> {
    const over = this.#over;
    if (over === null) return;
    await this.#engine.write((tx) => this.#removeOver(tx));
    if (this.#over === over) this.#over = null;
  }

  /** Another node may have paused since then, and its pause must stay. */
  async #removeOver(tx: Queries): Promise<void> {
    if (this.#over === null) return;
    await tx.change("DELETE FROM meta WHERE name = 'pause' AND value = $1", [textOf(this.#over)]);
  }
}

/** Returns the pause as it is saved. */
function textOf(pause: Pause): string {
  const { saved: _, ...kept } = pause;
  return JSON.stringify(kept);
}

function pauseOf(text: string | null): Pause | null {
  return text === null ? null : (JSON.parse(text) as Pause);
}
