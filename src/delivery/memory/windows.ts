/**
 * Tracks what memory has loaded of pending deliveries: one window per endpoint, the total, the time of each window's
 * next read, and how much more may be loaded. Deliveries over the limits go back to the disk.
 */
import type { Claim, Position } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP } from "../../domain/endpoints/endpoint.ts";
import { FEW_LOADED } from "../../domain/events/routing.ts";
import { Timetable, type Scheduled } from "../../domain/time/timetable.ts";
import type { DuePage, PendingDelivery, Waiting } from "../../store/store.ts";

/**
 * The most deliveries loaded in all, and the most first attempts that are read of one endpoint.
 */
const LIMIT = 20_000;
const READ_FIRSTS = 512;
/** The deliveries that are read of an endpoint while memory is full: one to send, and the next. */
const LEAST = 2;

export class Windows {
  /** The number of deliveries loaded, and the bytes of their bodies. */
  loaded = 0;
  bytes = 0;
  readonly #limitBytes: number;
  readonly #capOf: (endpoint: string) => number;
  readonly #windows = new Map<string, Window>();
  /** Due times are on the wall clock. */
  readonly #planned = new Timetable<Window>();

  constructor(limitBytes: number, capOf: (endpoint: string) => number) {
    this.#limitBytes = limitBytes;
    this.#capOf = capOf;
  }

  of(endpoint: string): Window {
    let window = this.#windows.get(endpoint);
    if (window === undefined) {
      window = new Window(endpoint);
      this.#windows.set(endpoint, window);
    }
    return window;
  }

  find(endpoint: string, delivery: string): Claim | undefined {
    return this.#windows.get(endpoint)?.loaded.get(delivery);
  }

  all(): Iterable<Window> {
    return this.#windows.values();
  }

  get byEndpoint(): ReadonlyMap<string, Window> {
    return this.#windows;
  }

  endpoints(): Iterable<string> {
    return this.#windows.keys();
  }

  load(claim: Claim): void {
    const window = this.of(claim.endpoint);
    window.load(claim);
    window.atOnce = this.#capOf(claim.endpoint);
    this.#count(claim, 1);
  }

  /** If the delivery is not loaded, a read in progress will not load it either. */
  release(endpoint: string, delivery: string): void {
    const window = this.#windows.get(endpoint);
    if (window === undefined) return;
    const claim = window.loaded.get(delivery);
    window.release(delivery);
    window.atOnce = this.#capOf(endpoint);
    if (claim !== undefined) this.#count(claim, -1);
  }

  /** Takes in the result of a read. Returns the claims that were not loaded before. */
  endRead(window: Window, page: DuePage, until: number, limit: number): Claim[] {
    const claims = window.endRead(page, until, limit);
    for (const claim of claims) this.#count(claim, 1);
    window.atOnce = this.#capOf(window.endpoint);
    this.plan(window);
    return claims;
  }

  noteWaiting({ endpoint, dueAt, event }: Waiting): void {
    const window = this.of(endpoint);
    window.noteWaiting({ dueAt, event });
    if (window.nextDueAt === dueAt) this.plan(window);
  }

  /** Schedules a read of the window for when its next delivery is due. */
  plan(window: Window): void {
    const { nextDueAt } = window;
    if (window.heapAt !== -1 && window.wakeAt === nextDueAt) return;
    this.#planned.remove(window);
    if (nextDueAt < Number.POSITIVE_INFINITY) this.#planned.add(window, nextDueAt);
  }

  /** Returns the next window with something due by `now`, once for each plan, or undefined if there is none. */
  takeDue(now: number): Window | undefined {
    return this.#planned.take(now);
  }

  /** When the next read is due; Infinity if nothing is planned. */
  get nextDueAt(): number {
    return this.#planned.wakeAt;
  }

  get isFull(): boolean {
    return this.loaded >= LIMIT || this.bytes >= this.#limitBytes;
  }

  /**
   * The number of further deliveries of any kind that may be read of the endpoint. While others fill the memory it
   * still gets a few, or it would have to wait for their receivers.
   */
  capacityForDue(window: Window, cap: number): number {
    if (this.isFull) return LEAST - window.loaded.size;
    const capacity = 2 * cap - window.backlog;
    return window.overflows ? Math.min(capacity, this.capacityForFirsts(window, cap)) : capacity;
  }

  /** Returns how many first attempts may be read, past a backlog that has filled the window. */
  capacityForFirsts(window: Window, cap: number): number {
    if (!window.overflows) return 0;
    return this.isFull ? LEAST - window.loaded.size : firstsAtOnce(cap) - window.firsts;
  }

  /** True if the window is empty enough to read on. Reading half the limit at a time avoids reading row by row. */
  isHalfEmpty(window: Window, cap: number): boolean {
    return window.overflows ? 2 * window.firsts <= firstsAtOnce(cap) : window.backlog <= cap;
  }

  /**
   * Returns the endpoint whose deliveries go back to the disk first while memory is full, or null if every endpoint has
   * few.
   */
  fullest(): string | null {
    let fullest: Window | null = null;
    for (const window of this.#windows.values()) {
      if (fullest === null || window.loaded.size > fullest.loaded.size) fullest = window;
    }
    return fullest !== null && fullest.loaded.size >= FEW_LOADED ? fullest.endpoint : null;
  }

  #count(claim: Claim, by: 1 | -1): void {
    this.loaded += by;
    this.bytes += by * claim.body.byteLength;
  }
}

const BEGINNING: Position = { dueAt: Number.NEGATIVE_INFINITY, event: "" };
/** Sorts after every event id. */
const AFTER_ALL = "~";
const NOTHING: ReadonlyMap<string, Claim> = new Map();

/**
 * One endpoint's pending deliveries that memory has loaded, and the horizon of its reads. An invariant holds for each
 * delivery that waits on disk. At or below the horizon, it is loaded here. Above the horizon, it falls due no earlier
 * than `nextDueAt`, and will be read then while something is loaded or planned. (A fresh delivery is always loaded.)
 *
 * Only a read raises the horizon. When a waiting delivery is committed and not loaded, or is released from memory, it
 * is noted in the same turn (`noteWaiting`), and the horizon drops to just below it. So the next read sees a replay due
 * now, a late result, an endpoint that was enabled, or a clock that was set back, and nothing gets stuck. After a crash
 * the horizon is at the beginning and everything due is read again, because nothing on disk says that it was claimed.
 * `HorizonSweep` checks the invariant once a minute.
 */
export class Window implements Scheduled {
  readonly endpoint: string;
  /** The time of the next planned read, and its index in the timetable. The index is -1 while none is planned. */
  wakeAt = Number.POSITIVE_INFINITY;
  heapAt = -1;
  /** Created with the first delivery that is loaded, because most of many endpoints only ever wait. */
  #loaded: Map<string, Claim> | null = null;
  /** The time at which the first delivery above the horizon falls due. Infinity if there is none. */
  nextDueAt = Number.POSITIVE_INFINITY;
  /** The number of first attempts that are loaded. */
  firsts = 0;
  /** The number of attempts that may be on the wire at a time, when a delivery was last loaded or released. */
  atOnce = INITIAL_CAP;
  /** True if first attempts may wait on disk. New ones then queue behind them, so that they start in order. */
  overflows = false;
  #overflowedMeanwhile = false;
  #horizon = BEGINNING;
  /** First attempts have been read this far, past a backlog that is due before them. It has no other meaning. */
  #readAhead = BEGINNING;
  /** The lowest position noted during a read, because the read may not have seen it. */
  #notedMeanwhile: Position | null = null;
  /** Deliveries released during a read, because the read may have seen their earlier state. Null outside of reads. */
  #releasedMeanwhile: Set<string> | null = null;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /**
   * The loaded deliveries by id: they wait for their turn, are on the wire, or have a result that is being recorded.
   */
  get loaded(): ReadonlyMap<string, Claim> {
    return this.#loaded ?? NOTHING;
  }

  /** The number of retries and replays that are loaded. */
  get backlog(): number {
    return this.loaded.size - this.firsts;
  }

  load(claim: Claim): void {
    (this.#loaded ??= new Map()).set(claim.delivery, claim);
    if (claim.fresh) this.firsts++;
  }

  release(delivery: string): void {
    if (this.#loaded?.get(delivery)?.fresh === true) this.firsts--;
    this.#loaded?.delete(delivery);
    this.#releasedMeanwhile?.add(delivery);
  }

  /** A first attempt was left on the disk. */
  overflow(): void {
    this.overflows = this.#overflowedMeanwhile = true;
  }

  /** A delivery was committed as waiting at this position, and memory has not loaded it. */
  noteWaiting(position: Position): void {
    const lowest = this.#notedMeanwhile === null || isBefore(position, this.#notedMeanwhile);
    if (this.#releasedMeanwhile !== null && lowest) this.#notedMeanwhile = position;
    this.#lower(position);
  }

  /** True if something due at this instant may lie at or below the horizon. */
  reaches(dueAt: number): boolean {
    return dueAt <= this.#horizon.dueAt;
  }

  /** True if something above the horizon that falls due at this instant will be read then. */
  awaits(dueAt: number): boolean {
    // While something is loaded, the end of its attempt triggers the next read.
    return this.nextDueAt <= dueAt && (this.heapAt !== -1 || this.loaded.size > 0);
  }

  /** True if the invariant is broken for a delivery that waits on disk: memory has lost it. */
  misses(pending: PendingDelivery): boolean {
    if (this.loaded.has(pending.delivery)) return false;
    return !isBefore(this.#horizon, pending) || !this.awaits(pending.dueAt);
  }

  /** With `ahead`, the read is for first attempts only. */
  beginRead(ahead = false): Position {
    this.#releasedMeanwhile = new Set();
    this.#overflowedMeanwhile = false;
    return ahead && isBefore(this.#horizon, this.#readAhead) ? this.#readAhead : this.#horizon;
  }

  /**
   * Takes in a page read up to `until`. Returns the claims that were not loaded before and now are. First attempts that
   * were read ahead do not raise the horizon, because what is due before them has yet to be read.
   */
  endRead({ claims, nextDueAt, reached }: DuePage, until: number, limit: number): Claim[] {
    const last = reached === undefined ? claims.length === limit && claims.at(-1)! : (reached ?? false);
    // If the clock was set back, `until` may lie below the horizon.
    const end = last ? { dueAt: last.dueAt, event: last.event } : { dueAt: until, event: AFTER_ALL };
    if (reached !== undefined) this.#readAhead = end;
    else {
      if (isBefore(this.#horizon, end)) this.#horizon = end;
      this.nextDueAt = nextDueAt ?? Number.POSITIVE_INFINITY;
    }
    if (!last && !this.#overflowedMeanwhile && this.#notedMeanwhile === null) this.overflows = false;
    const added: Claim[] = [];
    for (const claim of claims) {
      if (this.loaded.has(claim.delivery) || this.#releasedMeanwhile?.has(claim.delivery) === true) continue;
      this.load(claim);
      added.push(claim);
    }
    this.cancelRead();
    return added;
  }

  /** Ends a read that failed and so has changed nothing. */
  cancelRead(): void {
    this.#releasedMeanwhile = null;
    if (this.#notedMeanwhile !== null) this.#lower(this.#notedMeanwhile);
    this.#notedMeanwhile = null;
  }

  #lower(position: Position): void {
    const below = { dueAt: position.dueAt, event: "" };
    if (!isBefore(this.#horizon, position)) this.#horizon = below;
    if (!isBefore(this.#readAhead, position)) this.#readAhead = below;
    if (position.dueAt < this.nextDueAt) this.nextDueAt = position.dueAt;
  }
}

function firstsAtOnce(cap: number): number {
  return cap < INITIAL_CAP ? 2 * cap : READ_FIRSTS;
}

function isBefore(a: Position, b: Position): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.event < b.event);
}
