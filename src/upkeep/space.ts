/** What the disk has left, and whether the write-ahead log takes it. */
import { Alarm } from "../alarm.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Space, Store } from "../store/store.ts";

export interface SpaceWatchParts {
  readonly store: Pick<Store, "checkSpace">;
  readonly clock: Clock;
  readonly log: Log;
  readonly onSpace: (space: Space) => void;
  /** Once for each trouble with the write-ahead log. */
  readonly onTrouble: (detail: string) => void;
}

export class SpaceWatch {
  readonly #parts: SpaceWatchParts;
  readonly #alarm: Alarm;
  #isInTrouble = false;

  constructor(parts: SpaceWatchParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, parts.log);
  }

  async run(): Promise<void> {
    const { store, onSpace, onTrouble } = this.#parts;
    const space = await store.checkSpace();
    onSpace(space);
    const { walTrouble: trouble, freeBytes } = space;
    if (trouble === null) this.#alarm.clear("the write-ahead log is no larger than it may be again");
    else {
      if (!this.#isInTrouble) onTrouble(trouble);
      this.#alarm.raise(`${trouble}; look at the disk before it is full`, { free_bytes: freeBytes });
    }
    this.#isInTrouble = trouble !== null;
  }
}
