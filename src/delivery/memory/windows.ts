/**
 * All that memory has loaded of pending deliveries: a window per endpoint, how much it is, whose next delivery falls due
 * when, and how much more there is room for. What is loaded over the limits is given back to the disk.
 */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import { Timetable } from "../../domain/time/timetable.ts";
import type { DuePage, Waiting } from "../../store/store.ts";
import { INITIAL_CAP } from "../../domain/endpoints/endpoint.ts";
import { Window } from "./window.ts";

/** Deliveries loaded in all, and fresh ones of one endpoint. */
const LIMIT = 20_000;
const FRESH_LIMIT = 4096;
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

  /** What is loaded is due, or is being attempted; what lies behind it the window says. Looks at all of memory. */
  oldestDueAt(now: number, counts: (endpoint: string) => boolean): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { endpoint, loaded, nextDueAt } of this.#windows.values()) {
      if (!counts(endpoint)) continue;
      oldest = Math.min(oldest, nextDueAt);
      for (const { dueAt } of loaded.values()) oldest = Math.min(oldest, dueAt);
    }
    return oldest <= now ? oldest : null;
  }

  get isFull(): boolean {
    return this.loaded >= LIMIT || this.bytes >= this.#limitBytes;
  }

  /** Whether one more fresh delivery of the endpoint may be loaded, if `cap` of its attempts may be in flight. */
  hasRoom(endpoint: string, cap: number): boolean {
    const loaded = this.#windows.get(endpoint)?.loaded.size ?? 0;
    if (this.isFull) return loaded < FEW;
    return loaded < (cap < INITIAL_CAP ? 2 * cap : FRESH_LIMIT);
  }

  /**
   * How many more deliveries may be read of the endpoint. When others fill the memory it still gets a little, or it
   * would wait for their receivers.
   */
  roomForDue(window: Window, cap: number): number {
    return (this.isFull ? LEAST : 2 * cap) - window.loaded.size;
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
