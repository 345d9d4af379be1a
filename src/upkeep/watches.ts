/** Checks that run repeatedly: of the disk, of damaged endpoints, of the host's clock and of memory. */
import { Alarm } from "../alarm.ts";
import { type Clock, hostAheadMs } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Space, Store, UpkeepStore } from "../store/store.ts";
import type { Endpoint } from "../domain/endpoints/endpoint.ts";
import { WebhookdError } from "../domain/errors.ts";
import { skewText } from "../domain/time/skew.ts";

export interface SpaceWatchParts {
  readonly store: { readonly upkeep: Pick<UpkeepStore, "checkSpace"> };
  readonly clock: Clock;
  readonly log: Log;
  readonly onSpace: (space: Space) => void;
  /** Called once for each trouble with the write-ahead log. */
  readonly onTrouble: (detail: string) => void;
}

const FULL =
  "the disk is full, or has less free space than [data] disk_floor: new events are refused with 507. Free some space (df -h); webhookd then accepts them again by itself";

/** Watches the free space on the disk, and the size of the write-ahead log. */
export class SpaceWatch {
  readonly #parts: SpaceWatchParts;
  readonly #alarm: Alarm;
  readonly #outage: Alarm;
  #isInTrouble = false;
  #saidFull = false;

  constructor(parts: SpaceWatchParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, parts.log);
    this.#outage = new Alarm(parts.clock, parts.log);
  }

  async run(): Promise<void> {
    const { store, onSpace, onTrouble } = this.#parts;
    const space = await store.upkeep.checkSpace();
    onSpace(space);
    this.#sayFull(space);
    const { trouble, freeBytes, outage } = space;
    if (outage) this.#outage.raise(`the store cannot be used: ${outage.detail}`);
    else this.#outage.clear("the store can be used again");
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

const LOOK_EVERY_MS = 60 * 60_000;
/**
 * The number of endpoints that are checked at a time. Reading ten thousand at once takes 400 ms, and V8 then keeps the
 * 16 MiB that its young generation grew to, because an idle daemon collects no garbage.
 */
const PAGE = 100;
const PAGE_EVERY_MS = 10_000;

export interface DamagedEndpointsParts {
  readonly store: Pick<Store, "endpoints">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once for each damaged endpoint that is found. */
  readonly onFound: (endpoint: Endpoint) => void;
}

/**
 * Finds endpoints with a part that cannot be read, at the start and then each hour. Each is reported once, and listed
 * until it is repaired.
 */
export class DamagedEndpoints {
  readonly #parts: DamagedEndpointsParts;
  readonly #known = new Map<string, Endpoint>();
  #lookAt = Number.NEGATIVE_INFINITY;
  /** The cursor of the next page; null for the first one. */
  #cursor: string | null = null;
  #running: Promise<void> | null = null;

  constructor(parts: DamagedEndpointsParts) {
    this.#parts = parts;
  }

  get all(): readonly Endpoint[] {
    return [...this.#known.values()];
  }

  /** Must be called each second. */
  run(): Promise<void> {
    return (this.#running ??= this.#run().finally(() => {
      this.#running = null;
    }));
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts;
    try {
      for (const { id } of this.all) this.#note(id, await this.#parts.store.endpoints.get(null, id));
      if (clock.monotonic() < this.#lookAt) return;
      await this.#look();
    } catch (error) {
      // The next call asks the store again.
      if (!(error instanceof WebhookdError)) throw error;
    }
  }

  async #look(): Promise<void> {
    const { clock, store } = this.#parts;
    const cursor = this.#cursor;
    // If reading the page fails, the next check begins with the first page.
    this.#cursor = null;
    const page = await store.endpoints.list({ tenant: null, limit: PAGE, order: "oldest", ...(cursor && { cursor }) });
    for (const endpoint of page.data) this.#note(endpoint.id, endpoint);
    this.#cursor = page.nextCursor;
    this.#lookAt = clock.monotonic() + (this.#cursor === null ? LOOK_EVERY_MS : PAGE_EVERY_MS);
  }

  #note(id: string, endpoint: Endpoint | null): void {
    const { log, onFound } = this.#parts;
    const before = this.#known.get(id);
    if (endpoint === null || endpoint.damaged === null) {
      if (this.#known.delete(id) && endpoint !== null) log.warn({ endpoint: id }, "the damaged endpoint was repaired");
      return;
    }
    this.#known.set(id, endpoint);
    if (before !== undefined) return;
    const { tenant, damaged } = endpoint;
    const found = { endpoint: id, tenant, parts: damaged.parts, reason: damaged.reason };
    log.error(found, "an endpoint is damaged: its deliveries wait until it is repaired; see webhookd doctor");
    onFound(endpoint);
  }
}

/** Compares this host's clock, each second, with the database's, which is the one that counts. */
export class ClockWatch {
  readonly #clock: Clock;
  readonly #alarm: Alarm;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#alarm = new Alarm(clock, log);
  }

  run(): void {
    const aheadMs = hostAheadMs(this.#clock);
    const skew = skewText(aheadMs);
    if (skew === null) return this.#alarm.clear("the clock of this host agrees with PostgreSQL's again");
    this.#alarm.raise(
      `the clock of this host is ${skew} PostgreSQL's; webhookd goes by PostgreSQL's, so nothing is early or late, but one of the two is wrong: synchronize them`,
      { ahead_ms: aheadMs },
    );
  }
}

/** The CPU time of an idle process in a minute, at most. */
const REST_MS = 600;
/** The CPU time since memory was last returned. After less than this, there is too little to return. */
const WORTH_MS = 300;

export interface MemoryWatchParts {
  /** Returns the CPU time of all threads since the process began. */
  readonly cpuMs: () => number;
  readonly giveBack: () => void;
}

/** Returns unused memory to the system, once the process is idle after some work. It checks each minute. */
export class MemoryWatch {
  readonly #parts: MemoryWatchParts;
  #lookedAt = 0;
  #gaveAt = Number.NEGATIVE_INFINITY;

  constructor(parts: MemoryWatchParts) {
    this.#parts = parts;
  }

  run(): void {
    const now = this.#parts.cpuMs();
    const isResting = now - this.#lookedAt < REST_MS;
    this.#lookedAt = now;
    if (!isResting || now - this.#gaveAt < WORTH_MS) return;
    this.#parts.giveBack();
    this.#gaveAt = this.#parts.cpuMs();
  }
}
