/**
 * What memory has loaded of one endpoint's pending deliveries, and its horizon.
 *
 * The invariant, for each delivery that waits on disk: at or below the horizon it is loaded here; above it, it falls due
 * no earlier than `nextDueAt`, and while something is loaded or planned it will be read then. (A fresh delivery is
 * always loaded.) Only a read raises the horizon. A waiting delivery that is committed and not loaded, or that memory
 * lets go of, is noted in the same turn (`noteWaiting`), and the horizon drops to just below it. So a replay due now, a
 * late result, an enable, a clock set back are seen by the next read, and nothing is stuck. After a crash the horizon is
 * at the beginning and everything due is read again: nothing is claimed on disk. `horizon-sweep.ts` checks once a minute
 * that all of this is so.
 */
import type { Claim, Position } from "../../domain/deliveries/delivery.ts";
import type { Scheduled } from "../../domain/time/timetable.ts";
import type { DuePage, Owed } from "../../store/store.ts";

const BEGINNING: Position = { dueAt: Number.NEGATIVE_INFINITY, event: "" };
/** Sorts after every event id. */
const AFTER_ALL = "~";
const NOTHING: ReadonlyMap<string, Claim> = new Map();

export class Window implements Scheduled {
  readonly endpoint: string;
  /** When the next read is planned, and its place in the timetable; -1 while none is planned. */
  wakeAt = Number.POSITIVE_INFINITY;
  heapAt = -1;
  /** Made for the first delivery that is loaded: most of many endpoints only ever wait. */
  #loaded: Map<string, Claim> | null = null;
  /** When the first delivery above the horizon falls due; Infinity when there is none. */
  nextDueAt = Number.POSITIVE_INFINITY;
  #horizon = BEGINNING;
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

  load(claim: Claim): void {
    (this.#loaded ??= new Map()).set(claim.delivery, claim);
  }

  release(delivery: string): void {
    this.#loaded?.delete(delivery);
    this.#releasedMeanwhile?.add(delivery);
  }

  /** A delivery was committed as waiting at this position, and memory has not loaded it. */
  noteWaiting(position: Position): void {
    if (
      this.#releasedMeanwhile !== null &&
      (this.#notedMeanwhile === null || isBefore(position, this.#notedMeanwhile))
    ) {
      this.#notedMeanwhile = position;
    }
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

  beginRead(): Position {
    this.#releasedMeanwhile = new Set();
    return this.#horizon;
  }

  /** Takes in a page read up to `until`; the answer is what was not loaded yet, and now is. */
  endRead(page: DuePage, until: number, limit: number): Claim[] {
    const last = page.claims.at(-1);
    const short = page.claims.length < limit;
    // Under a clock that was set back, `until` may lie below where the horizon already is.
    const reached = short ? { dueAt: until, event: AFTER_ALL } : { dueAt: last!.dueAt, event: last!.event };
    if (isBefore(this.#horizon, reached)) this.#horizon = reached;
    this.nextDueAt = page.nextDueAt ?? Number.POSITIVE_INFINITY;
    const added: Claim[] = [];
    for (const claim of page.claims) {
      if (this.loaded.has(claim.delivery) || this.#releasedMeanwhile?.has(claim.delivery) === true) continue;
      this.load(claim);
      added.push(claim);
    }
    this.#finishRead();
    return added;
  }

  /** The read failed: nothing is known that was not known before. */
  cancelRead(): void {
    this.#finishRead();
  }

  #finishRead(): void {
    this.#releasedMeanwhile = null;
    if (this.#notedMeanwhile !== null) this.#lower(this.#notedMeanwhile);
    this.#notedMeanwhile = null;
  }

  #lower(position: Position): void {
    if (!isBefore(this.#horizon, position)) this.#horizon = { dueAt: position.dueAt, event: "" };
    if (position.dueAt < this.nextDueAt) this.nextDueAt = position.dueAt;
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.event < b.event);
}
