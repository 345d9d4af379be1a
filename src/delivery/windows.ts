/** All that memory holds of pending deliveries: a window per endpoint, how much it is, and whose next one is due when. */
import type { Claim } from "../domain/delivery.ts";
import type { DuePage, Waiting } from "../store/store.ts";
import { Agenda } from "./agenda.ts";
import { Window } from "./window.ts";

export class Windows {
  /** Deliveries held, and the bytes of their bodies. */
  held = 0;
  bytes = 0;
  readonly #windows = new Map<string, Window>();
  readonly #agenda = new Agenda();

  of(endpoint: string): Window {
    let window = this.#windows.get(endpoint);
    if (window === undefined) {
      window = new Window(endpoint);
      this.#windows.set(endpoint, window);
    }
    return window;
  }

  heldOf(endpoint: string): number {
    return this.#windows.get(endpoint)?.held.size ?? 0;
  }

  find(endpoint: string, delivery: string): Claim | undefined {
    return this.#windows.get(endpoint)?.held.get(delivery);
  }

  endpoints(): Iterable<string> {
    return this.#windows.keys();
  }

  /** Whoever holds most. */
  fullest(): Window | undefined {
    let fullest: Window | undefined;
    for (const window of this.#windows.values()) {
      if (fullest === undefined || window.held.size > fullest.held.size) fullest = window;
    }
    return fullest;
  }

  hold(claim: Claim): void {
    this.of(claim.endpoint).hold(claim);
    this.#count(claim, 1);
  }

  /** Of one that is not held, a read that is under way takes no notice either. */
  release(endpoint: string, delivery: string): void {
    const window = this.#windows.get(endpoint);
    const claim = window?.held.get(delivery);
    window?.release(delivery);
    if (claim !== undefined) this.#count(claim, -1);
  }

  /** Takes in what a read found; the answer is what memory did not hold yet. */
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

  /** Has the window named again when its next delivery is due. */
  plan(window: Window): void {
    const { endpoint, nextDueAt: dueAt } = window;
    if (dueAt === window.plannedAt) return;
    window.plannedAt = dueAt;
    if (dueAt < Number.POSITIVE_INFINITY) this.#agenda.add({ endpoint, dueAt });
  }

  /** The next window with something due by `now`, once for each plan; undefined when there is none. */
  takeDue(now: number): Window | undefined {
    for (let entry = this.#agenda.take(now); entry !== undefined; entry = this.#agenda.take(now)) {
      const window = this.#windows.get(entry.endpoint)!;
      if (window.plannedAt === entry.dueAt) window.plannedAt = Number.POSITIVE_INFINITY;
      if (window.nextDueAt === entry.dueAt) return window;
    }
    return undefined;
  }

  /** When the next look is worth it; Infinity when nothing is planned. */
  get nextDueAt(): number {
    return this.#agenda.peek()?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  /** What is held is due, or is being attempted; behind it the window says. Looks at all that memory holds. */
  oldestDueAt(now: number, counts: (endpoint: string) => boolean): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { endpoint, held, nextDueAt } of this.#windows.values()) {
      if (!counts(endpoint)) continue;
      oldest = Math.min(oldest, nextDueAt);
      for (const { dueAt } of held.values()) oldest = Math.min(oldest, dueAt);
    }
    return oldest <= now ? oldest : null;
  }

  #count(claim: Claim, by: 1 | -1): void {
    this.held += by;
    this.bytes += by * claim.body.byteLength;
  }
}
