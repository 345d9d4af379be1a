/** Reads what has fallen due from the disk, one window after another, as far as memory has capacity for it. */
import type { Clock } from "../clock.ts";
import type { DuePage, Store } from "../store/store.ts";
import { beginRead, READ_LIMIT, type Read } from "./core/disk.ts";
import { settledOf } from "./memory/clock.ts";
import type { Memory } from "./memory/memory.ts";
import type { Window } from "./memory/windows.ts";
import { unawaited } from "../domain/unawaited.ts";

/** The minimum cost of a read, in rows. It limits the number of reads in one turn of the event loop. */
const READ_COST = 8;
/** A read of only first attempts may look at many more rows than it returns. */
const AHEAD_COST = 128;

export interface DueReaderParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly memory: Memory;
}

/** A page of deliveries, or an endpoint that must be looked up before the next step. */
export type DueStep = { readonly read: Read; readonly page: DuePage } | { readonly unknown: string };

export class DueReader {
  readonly #parts: DueReaderParts;

  constructor(parts: DueReaderParts) {
    this.#parts = parts;
  }

  /**
   * Reads every window that has something due. Yields to the event loop when a turn's budget of rows is used up.
   * `written` resolves once all due times that were computed before this call are committed.
   */
  async *pass(written: Promise<void>): AsyncGenerator<DueStep, void, void> {
    await this.#moveDue(written);
    const { clock, memory, store } = this.#parts;
    const { halts, windows } = memory;
    const now = clock.now();
    const next = () => windows.takeDue(now);
    let cost = 0;
    for (let window = next(); window !== undefined; window = next()) {
      const some = [window];
      while (some.length < store.deliveries.dueAtOnce && (window = next()) !== undefined) some.push(window);
      cost += yield* this.#read(some);
      if (halts.stopping) return;
      if (cost < READ_LIMIT) continue;
      cost = 0;
      await this.#nextTurn();
    }
  }

  /**
   * Requests all pages in one turn, so that a store may read them together; their limits add up to that of one read.
   * Returns the cost of the reads, in rows. Windows without capacity are planned again when they have some.
   */
  async *#read(some: readonly Window[]): AsyncGenerator<DueStep, number, void> {
    const { clock, memory, store } = this.#parts;
    const { endpoints, windows } = memory;
    const left = new Set(some.filter((window) => this.#isWanted(window)));
    let cost = 0;
    try {
      for (const { endpoint } of left) {
        const isElsewhere = memory.elsewhere?.(endpoint) === true;
        if (!isElsewhere && endpoints.get(endpoint) === undefined) yield { unknown: endpoint };
      }
      const limit = Math.ceil(READ_LIMIT / left.size);
      const reads: Read[] = [];
      for (const window of left) {
        const read = beginRead(memory, window, clock.now(), limit);
        if (read !== null) reads.push(read);
        else if (left.delete(window)) cost++;
      }
      const ask = ({ ahead, window: { endpoint }, after, until, limit: rows }: Read) =>
        store.deliveries[ahead ? "dueFirst" : "due"](endpoint, after, until, rows);
      const pages = await Promise.all(reads.map(ask));
      for (const [at, read] of reads.entries()) {
        const page = pages[at]!;
        cost += Math.max(read.ahead ? AHEAD_COST : READ_COST, page.claims.length);
        left.delete(read.window);
        yield { read, page };
      }
      return cost;
    } finally {
      for (const window of left) {
        // The window was taken out of the plan, so without this the next pass would not find it.
        window.cancelRead();
        windows.plan(window);
      }
    }
  }

  #isWanted(window: Window): boolean {
    const { capOf, elsewhere, windows } = this.#parts.memory;
    const cap = capOf(window.endpoint);
    if (elsewhere?.(window.endpoint) === true) return true;
    return windows.capacityForDue(window, cap) > 0 || windows.capacityForFirsts(window, cap) > 0;
  }

  /** Moves due times after the clock was set, at most 500 in a turn. After an error it can be continued. */
  async #moveDue(written: Promise<void>): Promise<void> {
    const { clock, store, memory } = this.#parts;
    const { dueMoves, windows } = memory;
    if (dueMoves.pending.length === 0) return;
    await written;
    // If the process dies half-way, this tells the next one to clamp due times.
    await store.recovery.clockUnsettled();
    for (let [move] = dueMoves.pending; move !== undefined; [move] = dueMoves.pending) {
      for (let endpoint = move.endpoints[0]; endpoint !== undefined; endpoint = move.endpoints[0]) {
        const shift = { ...move.change, except: settledOf(move, endpoint) };
        const { moved, next } = await store.recovery.shiftDue(endpoint, shift, move.from);
        for (const waiting of moved) windows.noteWaiting(waiting);
        dueMoves.advance(next);
        if (moved.length > 0) await this.#nextTurn();
      }
      dueMoves.end();
    }
    await store.recovery.clockSettled(clock.now());
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#parts.clock.nextTurn(resolve));
  }
}

/** A tick comes every second, so only deliveries due before the next one get their own timer. */
const TICK_MS = 1000;

export interface WakerParts {
  readonly clock: Clock;
  readonly pass: () => Promise<void>;
  readonly nextDueAt: () => number;
  /** Called when a pass has ended and no other follows at once. */
  readonly onRest: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Runs passes one at a time: at each wake, and when something falls due before the next tick. A wake during a pass
 * causes one more pass and is never lost.
 */
export class Waker {
  readonly #parts: WakerParts;
  #passing = false;
  #woken = false;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The time at which the last pass began. */
  #passedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: WakerParts) {
    this.#parts = parts;
  }

  get passing(): boolean {
    return this.#passing;
  }

  wake(): void {
    this.#woken = true;
    if (this.#passing || this.#stopped) return;
    this.#passing = true;
    unawaited(this.#run());
  }

  /**
   * Sets a timer for the next due time, if that comes before the next tick. The tick retries what a pass left unread.
   */
  arm(): void {
    if (this.#stopped || this.#passing) return;
    const at = this.#parts.nextDueAt();
    const now = this.#parts.clock.now();
    if (at >= now + TICK_MS || at >= this.#timerAt) return;
    // The last pass could not read it, and another one now could not either.
    if (at <= Math.min(this.#passedAt, now)) return;
    this.#disarm();
    this.#timerAt = at;
    this.#cancelTimer = this.#parts.clock.after(Math.max(1, at - now), () => {
      this.#disarm();
      this.wake();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  async #run(): Promise<void> {
    try {
      while (this.#woken && !this.#stopped) {
        // Cleared before the pass, not after it, so that a wake during the pass is kept.
        this.#woken = false;
        this.#passedAt = this.#parts.clock.now();
        await this.#parts.pass();
      }
    } catch (error) {
      this.#parts.onError(error);
    }
    this.#passing = false;
    if (this.#woken && !this.#stopped) this.wake();
    else {
      this.arm();
      this.#parts.onRest();
    }
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }
}
