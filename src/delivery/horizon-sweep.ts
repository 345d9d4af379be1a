/**
 * Checks once a minute that memory has lost nothing that still waits on the disk (`Window` states the invariant). It
 * should find nothing. A lost delivery is our bug: it is logged as an error and repaired, so that the event is still
 * sent. The one exception by design is a commit that succeeded although its answer was lost. A commit and its hand-over
 * to memory are two steps, and a check may fall between them, so a delivery counts as lost only if two checks, a second
 * apart, both miss it.
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { DeliveryStore, EndpointStore, EventDelivery, PendingDelivery, RecoveryStore } from "../store/store.ts";
import type { Memory } from "./memory/memory.ts";
import type { Window } from "./memory/windows.ts";

/** The number of rows or endpoints to check in one turn of the event loop. */
const CHUNK = 500;
const CONFIRM_MS = 1000;

interface SweptStore {
  readonly deliveries: Pick<DeliveryStore, "earliestDue" | "waiting" | "fresh" | "park" | "requestedAttempts">;
  readonly endpoints: Pick<EndpointStore, "target">;
  readonly recovery: Pick<RecoveryStore, "doubt">;
}

type SweptMemory = Pick<Memory, "endpoints" | "ownEndpoints" | "windows"> & {
  readonly manual: Pick<Memory["manual"], "add">;
};

export interface HorizonSweepParts {
  readonly store: SweptStore;
  readonly memory: SweptMemory;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The deliveries that memory has lost, by id. If a million are lost at once, only the first 500 of each endpoint count.
 */
interface Lost {
  readonly waiting: Map<string, PendingDelivery>;
  readonly fresh: Map<string, PendingDelivery>;
}

export class HorizonSweep {
  /** The number of lost deliveries found since the start. */
  found = 0;
  readonly #parts: HorizonSweepParts;
  #running: Promise<Iterable<string>> | null = null;
  /** The count of late commits as of the last run. */
  #knownLate = 0;

  constructor(parts: HorizonSweepParts) {
    this.#parts = parts;
  }

  /** True if, since the last run, a commit succeeded whose caller had been told that it failed. */
  get isWanted(): boolean {
    return this.#parts.store.recovery.doubt.madeLate > this.#knownLate;
  }

  /**
   * Returns the endpoints that may have changed. Their deliveries must be read again, whatever memory knew about them.
   */
  run(): Promise<Iterable<string>> {
    return (this.#running ??= this.#run().finally(() => (this.#running = null)));
  }

  async #run(): Promise<Iterable<string>> {
    const { clock, memory, store } = this.#parts;
    const { madeLate } = store.recovery.doubt;
    const changed = new Set<string>();
    if (this.isWanted) {
      // Nobody was notified of the changes that such a commit made.
      await findPending(this.#parts, memory);
      for (const endpoint of memory.ownEndpoints()) if (memory.endpoints.get(endpoint)) changed.add(endpoint);
    }
    const suspected = await this.#look();
    if (suspected.waiting.size + suspected.fresh.size > 0) {
      await new Promise<void>((resolve) => void clock.after(CONFIRM_MS, resolve));
      const again = await this.#look();
      const lost = { waiting: both(suspected.waiting, again.waiting), fresh: both(suspected.fresh, again.fresh) };
      if (lost.waiting.size + lost.fresh.size > 0)
        for (const endpoint of await this.#repair(lost)) changed.add(endpoint);
    }
    this.#knownLate = madeLate;
    return changed;
  }

  async #look(): Promise<Lost> {
    const lost: Lost = { waiting: new Map(), fresh: new Map() };
    await this.#turn();
    let seen = 0;
    for await (const page of endpointsWithPending(this.#parts.store)) {
      for (const [endpoint, dueAt] of page) {
        const window = this.#parts.memory.windows.of(endpoint);
        if (window.reaches(dueAt) || !window.awaits(dueAt)) {
          const { missed, rows } = await this.#lookAt(window);
          for (const pending of missed) lost.waiting.set(pending.delivery, pending);
          seen += rows;
        }
        if (++seen < CHUNK) continue;
        seen = 0;
        await this.#turn();
      }
    }
    for (let after: PendingDelivery | null = null; ;) {
      const page: readonly PendingDelivery[] = await this.#parts.store.deliveries.fresh(after, CHUNK);
      for (const pending of page) if (await this.#isLost(pending)) lost.fresh.set(pending.delivery, pending);
      if (page.length < CHUNK) return lost;
      after = page.at(-1)!;
      await this.#turn();
    }
  }

  /** Reads only up to the horizon. If nothing is wrong, that is exactly what memory has loaded. */
  async #lookAt(window: Window): Promise<{ missed: readonly PendingDelivery[]; rows: number }> {
    const { endpoint } = window;
    let after = { dueAt: Number.NEGATIVE_INFINITY, event: "" };
    for (let rows = 0; ;) {
      // Read one row more than are loaded: that row should be the first one above the horizon.
      const limit = Math.min(CHUNK, window.loaded.size + 1);
      const page = await this.#parts.store.deliveries.waiting(endpoint, after, limit);
      rows += page.length;
      if (page.some((pending) => window.misses(pending))) {
        if (!(await this.#isSentTo(endpoint))) return { missed: [], rows };
        const all = await this.#parts.store.deliveries.waiting(endpoint, after, CHUNK);
        return { missed: all.filter((pending) => window.misses(pending)), rows: rows + all.length };
      }
      if (page.length < limit || !window.reaches(page.at(-1)!.dueAt)) return { missed: [], rows };
      after = page.at(-1)!;
      await this.#turn();
    }
  }

  /** Asks the disk, because deliveries of a disabled or deleted endpoint are not lost. */
  async #isSentTo(endpoint: string): Promise<boolean> {
    return (await this.#parts.store.endpoints.target(endpoint))?.enabled === true;
  }

  async #isLost({ endpoint, delivery }: PendingDelivery): Promise<boolean> {
    return this.#parts.memory.windows.find(endpoint, delivery) === undefined && (await this.#isSentTo(endpoint));
  }

  async #repair({ waiting, fresh }: Lost): Promise<Iterable<string>> {
    const { clock, log, memory, store } = this.#parts;
    const { windows } = memory;
    const all = [...waiting.values(), ...fresh.values()];
    const endpoints = new Set(all.map(({ endpoint }) => endpoint));
    const [first] = all;
    const fields = { deliveries: all.length, fresh: fresh.size, endpoints: endpoints.size, first: first!.delivery };
    if (this.isWanted || store.recovery.doubt.isOpen) {
      log.warn(
        fields,
        "sending deliveries that were committed after all, although their caller was told that they were not",
      );
    } else {
      this.found += all.length;
      const { heapAt, loaded, nextDueAt, overflows } = windows.of(first!.endpoint);
      // The state of the first delivery's window.
      const window = { next_due_at: nextDueAt, is_planned: heapAt !== -1, loaded: loaded.size, overflows };
      log.error(
        { ...fields, first_due_at: first!.dueAt, ...window },
        "deliveries were lost from memory and are being sent now; this is a bug in webhookd: please report it with this line",
      );
    }
    const lostFresh = [...fresh.values()];
    for (let at = 0; at < lostFresh.length; at += CHUNK) {
      for (const parked of await store.deliveries.park(lostFresh.slice(at, at + CHUNK), clock.now()))
        windows.noteWaiting(parked);
    }
    for (const pending of waiting.values()) windows.noteWaiting(pending);
    return endpoints;
  }

  /** Waits for a turn of the event loop, so that memory has taken in every commit before it. */
  #turn(): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.nextTurn(resolve));
  }
}

/**
 * Finds the endpoints with waiting deliveries, and the attempts that were requested by hand. Endpoints that are already
 * known are read again.
 */
export async function findPending(
  { clock, store }: Pick<HorizonSweepParts, "clock" | "store">,
  { manual, windows }: Pick<SweptMemory, "manual" | "windows">,
) {
  const now = clock.now();
  for await (const page of endpointsWithPending(store)) {
    for (const [endpoint, dueAt] of page) {
      windows.noteWaiting({ endpoint, dueAt, event: "" });
      if (dueAt <= now) windows.of(endpoint).overflow();
    }
  }
  for (let after: EventDelivery | null = null; ;) {
    const page: readonly EventDelivery[] = await store.deliveries.requestedAttempts(after, CHUNK);
    for (const requested of page) manual.add(requested);
    if (page.length < CHUNK) break;
    after = page.at(-1)!;
  }
}

/** Yields pages of endpoints with waiting deliveries, each with its earliest due time. */
async function* endpointsWithPending(store: Pick<SweptStore, "deliveries">): AsyncGenerator<Map<string, number>> {
  for (let after: string | null = null; ;) {
    const page: Map<string, number> = await store.deliveries.earliestDue(after, CHUNK);
    yield page;
    if (page.size < CHUNK) return;
    after = [...page.keys()].at(-1)!;
  }
}

/** Returns the deliveries that both checks found lost, at the same due time. */
function both(
  first: ReadonlyMap<string, PendingDelivery>,
  second: ReadonlyMap<string, PendingDelivery>,
): Map<string, PendingDelivery> {
  return new Map([...second].filter(([delivery, { dueAt }]) => first.get(delivery)?.dueAt === dueAt));
}
