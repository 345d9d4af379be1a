/**
 * All that memory has loaded of pending deliveries: a window per endpoint, how much it is, whose next delivery falls due
 * when, and how much more there is room for. What is loaded over the limits is given back to the disk.
 */
import type { Claim, Position } from "../../domain/deliveries/delivery.ts";
import { INITIAL_CAP } from "../../domain/endpoints/endpoint.ts";
import { Timetable, type Scheduled } from "../../domain/time/timetable.ts";
import type { DuePage, Owed, Waiting } from "../../store/store.ts";

/** Deliveries loaded in all, and first attempts of one endpoint: as they are committed, and as they are read. */
const LIMIT = 20_000;
const FRESH_LIMIT = 4096;
const READ_FIRSTS = 512;
/** When memory is full, an endpoint that has less loaded than this still gets its fresh deliveries sent at once. */
const FEW = 32;
/** What is read of an endpoint while memory is full: one to send, and the next. */
const LEAST = 2;

export class Windows {
  /** Deliveries loaded, and the bytes of their bodies. */
  loaded = 0;
  bytes = 0;
  readonly #limitBytes: number;
  readonly #windows = new Map<string, Window>();
  /** By the wall clock. */
  readonly #planned = new Timetable<Window>();

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
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

  endpoints(): Iterable<string> {
    return this.#windows.keys();
  }

  load(claim: Claim): void {
    this.of(claim.endpoint).load(claim);
    this.#count(claim, 1);
  }

  /** One that is not loaded is not brought in by a read that is under way either. */
  release(endpoint: string, delivery: string): void {
    const window = this.#windows.get(endpoint);
    const claim = window?.loaded.get(delivery);
    window?.release(delivery);
    if (claim !== undefined) this.#count(claim, -1);
  }

  /** Takes in what a read found; the answer is what was not loaded yet. */
  endRead(window: Window, page: DuePage, until: number, limit: number): Claim[] {
    const claims = window.endRead(page, until, limit);
    for (const claim of claims) this.#count(claim, 1);
    this.plan(window);
    return claims;
  }

  noteWaiting({ endpoint, dueAt, event }: Waiting): void {
    const window = this.of(endpoint);
    window.noteWaiting({ dueAt, event });
    if (window.nextDueAt === dueAt) this.plan(window);
  }

  /** Has the window read when its next delivery is due. */
  plan(window: Window): void {
    const { nextDueAt } = window;
    if (window.heapAt !== -1 && window.wakeAt === nextDueAt) return;
    this.#planned.remove(window);
    if (nextDueAt < Number.POSITIVE_INFINITY) this.#planned.add(window, nextDueAt);
  }

  /** The next window with something due by `now`, once for each plan; undefined when there is none. */
  takeDue(now: number): Window | undefined {
    return this.#planned.take(now);
  }

  /** When the next read is worth it; Infinity when nothing is planned. */
  get nextDueAt(): number {
    return this.#planned.wakeAt;
  }

  get isFull(): boolean {
    return this.loaded >= LIMIT || this.bytes >= this.#limitBytes;
  }

  /** Whether one more fresh delivery of the endpoint may be loaded, if `cap` of its attempts may be in flight. */
  hasRoom(endpoint: string, cap: number): boolean {
    const window = this.#windows.get(endpoint);
    if (window === undefined) return true;
    if (window.overflows) return false;
    if (this.isFull) return window.loaded.size < FEW;
    return window.firsts < (cap < INITIAL_CAP ? 2 * cap : FRESH_LIMIT);
  }

  /**
   * How many more deliveries may be read of the endpoint, whichever they are. When others fill the memory it still gets
   * a little, or it would wait for their receivers.
   */
  roomForDue(window: Window, cap: number): number {
    if (this.isFull) return LEAST - window.loaded.size;
    const room = 2 * cap - window.backlog;
    return window.overflows ? Math.min(room, this.roomForFirsts(window, cap)) : room;
  }

  /** How many first attempts may be read, past a backlog that leaves no room. */
  roomForFirsts(window: Window, cap: number): number {
    if (!window.overflows) return 0;
    return this.isFull ? LEAST - window.loaded.size : firstsAtOnce(cap) - window.firsts;
  }

  /** Whether there is room to read on: that is done in halves of what may be loaded, not row by row. */
  isHalfEmpty(window: Window, cap: number): boolean {
    return window.overflows ? 2 * window.firsts <= firstsAtOnce(cap) : window.backlog <= cap;
  }

  /** While memory is full: the endpoint whose deliveries go back to the disk first; null when all have few. */
  fullest(): string | null {
    let fullest: Window | null = null;
    for (const window of this.#windows.values()) {
      if (fullest === null || window.loaded.size > fullest.loaded.size) fullest = window;
    }
    return fullest !== null && fullest.loaded.size >= FEW ? fullest.endpoint : null;
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
 * What memory has loaded of one endpoint's pending deliveries, and its horizon.
 *
 * The invariant, for each delivery that waits on disk: at or below the horizon it is loaded here; above it, it falls due
 * no earlier than `nextDueAt`, and while something is loaded or planned it will be read then. (A fresh delivery is
 * always loaded.) Only a read raises the horizon. A waiting delivery that is committed and not loaded, or that memory
 * lets go of, is noted in the same turn (`noteWaiting`), and the horizon drops to just below it. So a replay due now, a
 * late result, an enable, a clock set back are seen by the next read, and nothing is stuck. After a crash the horizon is
 * at the beginning and everything due is read again: nothing is claimed on disk. `HorizonSweep` checks once a minute
 * that all of this is so.
 */
export class Window implements Scheduled {
  readonly endpoint: string;
  /** When the next read is planned, and its place in the timetable; -1 while none is planned. */
  wakeAt = Number.POSITIVE_INFINITY;
  heapAt = -1;
  /** Made for the first delivery that is loaded: most of many endpoints only ever wait. */
  #loaded: Map<string, Claim> | null = null;
  /** When the first delivery above the horizon falls due; Infinity when there is none. */
  nextDueAt = Number.POSITIVE_INFINITY;
  /** How many first attempts are loaded. */
  firsts = 0;
  /** First attempts may wait on disk: what is committed now queues behind them, so that they start in this order. */
  overflows = false;
  #overflowedMeanwhile = false;
  #horizon = BEGINNING;
  /** First attempts were read up to here at least, past a backlog that is due before them. It decides of no more. */
  #readAhead = BEGINNING;
  /** The lowest position noted while a read was under way: the read may not have seen it. */
  #notedMeanwhile: Position | null = null;
  /** Let go while a read is under way: the read may have seen them as they were before. Null when there is none. */
  #releasedMeanwhile: Set<string> | null = null;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /** By delivery id: waiting for its turn, on the wire, or with its result on the way to the disk. */
  get loaded(): ReadonlyMap<string, Claim> {
    return this.#loaded ?? NOTHING;
  }

  /** How many retries and replays are loaded. */
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

  /** A first attempt was left to the disk. */
  overflow(): void {
    this.overflows = this.#overflowedMeanwhile = true;
  }

  /** A delivery was committed as waiting at this position, and memory has not loaded it. */
  noteWaiting(position: Position): void {
    const lowest = this.#notedMeanwhile === null || isBefore(position, this.#notedMeanwhile);
    if (this.#releasedMeanwhile !== null && lowest) this.#notedMeanwhile = position;
    this.#lower(position);
  }

  /** Whether something due at this instant may lie at or below the horizon. */
  reaches(dueAt: number): boolean {
    return dueAt <= this.#horizon.dueAt;
  }

  /** Whether something above the horizon that falls due at this instant will be read then. */
  awaits(dueAt: number): boolean {
    // What is loaded comes to its end, and then its room is filled.
    return this.nextDueAt <= dueAt && (this.heapAt !== -1 || this.loaded.size > 0);
  }

  /** Whether the invariant does not hold for a delivery that waits on disk: memory has lost it. */
  misses(owed: Owed): boolean {
    if (this.loaded.has(owed.delivery)) return false;
    return !isBefore(this.#horizon, owed) || !this.awaits(owed.dueAt);
  }

  /** `ahead`: of first attempts alone. */
  beginRead(ahead = false): Position {
    this.#releasedMeanwhile = new Set();
    this.#overflowedMeanwhile = false;
    return ahead && isBefore(this.#horizon, this.#readAhead) ? this.#readAhead : this.#horizon;
  }

  /**
   * Takes in a page read up to `until`; the answer is what was not loaded yet, and now is. First attempts that were read
   * ahead leave the horizon where it is: what is due before them is read all the same.
   */
  endRead({ claims, nextDueAt, reached }: DuePage, until: number, limit: number): Claim[] {
    const last = reached === undefined ? claims.length === limit && claims.at(-1)! : (reached ?? false);
    // Under a clock that was set back, `until` may lie below where the horizon already is.
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

  /** The read is over. If it failed, nothing is known that was not known before. */
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
