/** What the disk has left, and whether the write-ahead log takes it. */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Space, Store } from "../store/store.ts";

export interface SpaceWatchParts {
  readonly store: Pick<Store, "checkSpace">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
  readonly onSpace: (space: Space) => void;
  /** Once for each trouble with the write-ahead log. */
  readonly onTrouble: (detail: string) => void;
}

const SAID_EVERY_MS = 60_000;

export class SpaceWatch {
  readonly #parts: SpaceWatchParts;
  #saidAt: number | null = null;

  constructor(parts: SpaceWatchParts) {
    this.#parts = parts;
  }

  async run(): Promise<void> {
    const { store, clock, log, onSpace, onTrouble } = this.#parts;
    const space = await store.checkSpace();
    onSpace(space);
    if (space.walTrouble === null) {
      if (this.#saidAt !== null) log.info({}, "the write-ahead log is no larger than it may be again");
      this.#saidAt = null;
      return;
    }
    if (this.#saidAt === null) onTrouble(space.walTrouble);
    else if (clock.monotonic() - this.#saidAt < SAID_EVERY_MS) return;
    this.#saidAt = clock.monotonic();
    log.error({ free_bytes: space.freeBytes }, `${space.walTrouble}; look at the disk before it is full`);
  }
}
