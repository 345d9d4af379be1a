/** An operator who makes backups, and restores one when the process has died. */
import { EventEmitter } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { copyDatabase } from "../../src/store/backup/copy.ts";
import type { StartBackup } from "../../src/store/backup/backup.ts";
import { restoreBackup } from "../../src/store/restore/restore.ts";
import type { VirtualClock } from "./clock.ts";
import type { Process } from "./process.ts";
import type { Random } from "./random.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const KEPT = 3;

export class Backups {
  readonly #dir: string;
  readonly #clock: VirtualClock;
  readonly #random: Random;
  #last: { readonly file: string; readonly begunAt: number } | null = null;
  #copying = Promise.withResolvers<void>();

  constructor(dir: string, clock: VirtualClock, random: Random) {
    this.#dir = dir;
    this.#clock = clock;
    this.#random = random;
    this.#copying.resolve();
  }

  /** Resolves when no copy is being written. Until then virtual time stands still. */
  get rest(): Promise<void> {
    return this.#copying.promise;
  }

  /** Does the work of the thread, without a thread. */
  readonly start: StartBackup = (data) => {
    const thread = new EventEmitter();
    const fail = ({ code = "", message }: { code?: string; message: string }) =>
      thread.emit("message", { failed: { code, message } });
    unawaited(
      copyDatabase(data)
        .then((done) => thread.emit("message", { done }), fail)
        .finally(this.#copying.resolve),
    );
    return Object.assign(thread, { terminate: async () => 0 }) as unknown as ReturnType<StartBackup>;
  };

  make({ real }: Process): void {
    const begunAt = this.#clock.monotonic;
    this.#copying = Promise.withResolvers<void>();
    const made = real.operations.backup({ dir: this.#dir, mayMake: true, keep: KEPT }, this.#clock.now());
    // The file may exist although the backup was refused. It is then not used.
    made.then(({ file }) => (this.#last = { file, begunAt }), this.#copying.resolve);
  }

  /**
   * Restores the last backup and returns the time at which it was begun. Returns null, and changes nothing, if there is
   * none.
   */
  async restore(dir: string): Promise<number | null> {
    if (this.#last === null || !existsSync(this.#last.file)) return null;
    const { file, begunAt } = this.#last;
    await restoreBackup({
      dir,
      backup: file,
      secretKeyFile: join(dir, "secret.key"),
      passphrase: null,
      mustUnseal: false,
      clock: this.#clock.forProcess(() => true),
      random: (length) => this.#random.bytes(length),
      statfs: async () => ({ bavail: 2 ** 30, bsize: 4096 }),
      confirm: async () => true,
    });
    return begunAt;
  }
}
