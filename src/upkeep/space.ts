/** What the disk has left, and whether the write-ahead log takes it. */
import { Alarm } from "../alarm.ts";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Space, UpkeepStore } from "../store/store.ts";

export interface SpaceWatchParts {
  readonly store: { readonly upkeep: Pick<UpkeepStore, "checkSpace"> };
  readonly clock: Clock;
  readonly log: Log;
  readonly onSpace: (space: Space) => void;
  /** Once for each trouble with the write-ahead log. */
  readonly onTrouble: (detail: string) => void;
}

const FULL =
  "the disk is full, or has less free than [data] disk_floor: new events are refused with 507. Free some space (df -h); webhookd then accepts them again by itself";

export class SpaceWatch {
  readonly #parts: SpaceWatchParts;
  readonly #alarm: Alarm;
  #isInTrouble = false;
  #saidFull = false;

  constructor(parts: SpaceWatchParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, parts.log);
  }

  async run(): Promise<void> {
    const { store, onSpace, onTrouble } = this.#parts;
    const space = await store.upkeep.checkSpace();
    onSpace(space);
    this.#sayFull(space);
    const { trouble, freeBytes } = space;
    if (trouble === null) this.#alarm.clear("the write-ahead log is back within its limit");
    else {
      if (!this.#isInTrouble) onTrouble(trouble);
      this.#alarm.raise(`${trouble}; check the disk before it is full`, { free_bytes: freeBytes });
    }
    this.#isInTrouble = trouble !== null;
  }

  #sayFull({ state, freeBytes, floorBytes }: Space): void {
    const { log } = this.#parts;
    if (state === "store_unavailable" || this.#saidFull === (state === "disk_full")) return;
    this.#saidFull = !this.#saidFull;
    const fields = { free_bytes: freeBytes, floor_bytes: floorBytes };
    if (this.#saidFull) log.error(fields, FULL);
    else log.info(fields, "there is space again: events are accepted");
  }
}
