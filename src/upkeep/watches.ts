/** What may go wrong by itself, and is looked at again and again: the disk, and endpoints that cannot be read. */
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
  /** Once for each trouble with the write-ahead log. */
  readonly onTrouble: (detail: string) => void;
}

const FULL =
  "the disk is full, or has less free space than [data] disk_floor: new events are refused with 507. Free some space (df -h); webhookd then accepts them again by itself";

/** What the disk has left, and whether the write-ahead log takes it. */
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
 * Endpoints that are looked at in one go. To open ten thousand takes 400 ms, and V8 keeps the 16 MiB of young objects that
 * it grew to meanwhile: a daemon at rest collects nothing.
 */
const PAGE = 100;
const PAGE_EVERY_MS = 10_000;

export interface DamagedEndpointsParts {
  readonly store: Pick<Store, "endpoints">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once for each that is found. */
  readonly onFound: (endpoint: Endpoint) => void;
}

/** Endpoints of which something cannot be read: looked for from the start on and each hour, told once, seen until mended. */
export class DamagedEndpoints {
  readonly #parts: DamagedEndpointsParts;
  readonly #known = new Map<string, Endpoint>();
  #lookAt = Number.NEGATIVE_INFINITY;
  /** Where the look goes on; null where it begins. */
  #cursor: string | null = null;
  #running: Promise<void> | null = null;

  constructor(parts: DamagedEndpointsParts) {
    this.#parts = parts;
  }

  get all(): readonly Endpoint[] {
    return [...this.#known.values()];
  }

  /** To be called each second. */
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
      // What the store does not tell now, the next call asks again.
      if (!(error instanceof WebhookdError)) throw error;
    }
  }

  async #look(): Promise<void> {
    const { clock, store } = this.#parts;
    const cursor = this.#cursor;
    // A look that fails begins anew.
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

/** Each second: whether this host's clock agrees with the database's, which is the one that counts. */
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

/** Of CPU in a minute: more is no rest. */
const REST_MS = 600;
/** Of CPU: what less needed is not worth giving back. */
const WORTH_MS = 300;

export interface MemoryWatchParts {
  /** Of all threads, since the process began. */
  readonly cpuMs: () => number;
  readonly giveBack: () => void;
}

/** Each minute: has what a process no longer needs given back, once it rests after it has done something. */
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
