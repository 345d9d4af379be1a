/** Schedules by time (`Timetable`), and shares turns among tenants (`TenantTurns`, `Throttle`). */

/** A member of a timetable, and of at most one at a time. */
export interface Scheduled {
  /** The instant that it waits for, on the clock of its timetable. */
  wakeAt: number;
  /** Its index in the heap. -1 while it is in none. */
  heapAt: number;
}

/** A binary heap of members that wait for an instant. Each knows its index, so that any of them can leave early. */
export class Timetable<T extends Scheduled> {
  readonly #heap: T[] = [];

  get first(): T | undefined {
    return this.#heap[0];
  }

  /** The time at which the first member is due. Infinity if there is none. */
  get wakeAt(): number {
    return this.#heap[0]?.wakeAt ?? Number.POSITIVE_INFINITY;
  }

  /** A member that is already here is moved. */
  add(member: T, wakeAt: number): void {
    this.remove(member);
    member.wakeAt = wakeAt;
    this.#rise(member, this.#heap.length);
  }

  /** Takes out the first member if it is due by `now`. */
  take(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.wakeAt > now) return undefined;
    this.remove(first);
    return first;
  }

  /** Does nothing for a member that is not here. */
  remove(member: T): void {
    const at = member.heapAt;
    if (at === -1) return;
    member.heapAt = -1;
    const last = this.#heap.pop()!;
    if (last === member) return;
    this.#sink(last, at);
    this.#rise(last, last.heapAt);
  }

  #rise(member: T, from: number): void {
    let at = from;
    while (at > 0) {
      const parent = this.#heap[(at - 1) >> 1]!;
      if (parent.wakeAt <= member.wakeAt) break;
      this.#put(parent, at);
      at = (at - 1) >> 1;
    }
    this.#put(member, at);
  }

  #sink(member: T, from: number): void {
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#heap.length) break;
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.wakeAt < this.#heap[child]!.wakeAt) child++;
      if (this.#heap[child]!.wakeAt >= member.wakeAt) break;
      this.#put(this.#heap[child]!, at);
      at = child;
    }
    this.#put(member, at);
  }

  #put(member: T, at: number): void {
    this.#heap[at] = member;
    member.heapAt = at;
  }
}

/** `[tenants.NAME]`: one tenant's share of what all tenants use together. */
export interface TenantShare {
  /** 1 unless the tenant gets more or fewer turns than the others. */
  readonly weight: number;
  /** Events per second. Null if the tenant has no limit of its own. */
  readonly ratePerSecond: number | null;
  /** The maximum number of pending deliveries. Null for the limit that applies to every tenant. */
  readonly maxPending: number | null;
}

/** The tenants that have a section, by name. Always the same map, whose entries change. */
export type TenantShares = ReadonlyMap<string, TenantShare>;

/** An item that is waiting for its turn, with its tenant and its cost, in any unit. */
export interface Waiting {
  readonly tenant: string;
  readonly cost: number;
}

/** All waiting items of one tenant, in the order of their arrival. */
class Line<T> implements Scheduled {
  readonly items: T[] = [];
  /** The cost that the tenant has used, divided by its weight. */
  had = 0;
  wakeAt = 0;
  heapAt = -1;
}

/** Items up to this cost go before larger ones if neither tenant has used more. */
const LARGE = 64 * 1024;

/**
 * Gives the next turn to the tenant that has used the least for its weight. So one tenant's items delay the others by
 * at most one item, however many they are. An absent tenant saves up nothing, and everyone starts again from zero when
 * nothing waits (start-time fair queueing).
 */
export class TenantTurns<T extends Waiting> {
  readonly #shares: TenantShares;
  readonly #lines = new Map<string, Line<T>>();
  readonly #table = new Timetable<Line<T>>();
  /** The weighted cost used by a tenant that always had items waiting. */
  #had = 0;
  #size = 0;

  constructor(shares: TenantShares) {
    this.#shares = shares;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    let line = this.#lines.get(item.tenant);
    if (line === undefined) this.#lines.set(item.tenant, (line = new Line()));
    this.#size++;
    if (line.items.push(item) > 1) return;
    line.had = Math.max(line.had, this.#had);
    this.#place(line, item);
  }

  /** Takes the next item, if it `fits`. */
  take(fits: (item: T) => boolean = () => true): T | undefined {
    const line = this.#table.first;
    return line === undefined || !fits(line.items[0]!) ? undefined : this.#takeOf(line);
  }

  /** Takes the next item that `fits`, past tenants whose own next item does not. */
  takeFirst(fits: (item: T) => boolean): T | undefined {
    const next = this.take(fits);
    if (next !== undefined) return next;
    let first: Line<T> | undefined;
    for (const line of this.#lines.values()) {
      if (line.heapAt < 0 || !fits(line.items[0]!)) continue;
      if (first === undefined || line.wakeAt < first.wakeAt) first = line;
    }
    return first && this.#takeOf(first);
  }

  #takeOf(line: Line<T>): T {
    const item = line.items.shift()!;
    this.#size--;
    this.#had = Math.max(this.#had, line.had);
    line.had += item.cost / this.#weightOf(item);
    const next = line.items[0];
    if (next === undefined) this.#table.remove(line);
    else this.#place(line, next);
    if (this.#size === 0) {
      this.#lines.clear();
      this.#had = 0;
    }
    return item;
  }

  #place(line: Line<T>, item: T): void {
    this.#table.add(line, line.had + Math.min(item.cost, LARGE) / this.#weightOf(item));
  }

  #weightOf({ tenant }: T): number {
    return this.#shares.get(tenant)?.weight ?? 1;
  }
}

/** A tenant that had a small item this recently is likely to have more. */
const PRESENT_MS = 1000;
/** The longest pause, however much time was used before it. */
const MOST_REST_MS = 50;

/**
 * After a large item, decides for how long no other may begin while another tenant has small items: for as long as the
 * item took. So large items take at most half of the time, and a small item rarely waits for two of them.
 */
export class Throttle {
  readonly #shares: TenantShares;
  readonly #times: number;
  /** The tenant of the last large item. */
  #tenant = "";
  #until = Number.NEGATIVE_INFINITY;
  #othersAt = Number.NEGATIVE_INFINITY;

  constructor(shares: TenantShares, times = 1) {
    this.#shares = shares;
    this.#times = times;
  }

  /** True if a tenant other than that of the last large item is active. */
  isShared(now: number): boolean {
    return now - this.#othersAt <= PRESENT_MS;
  }

  left(now: number): number {
    return this.isShared(now) ? Math.max(this.#until - now, 0) : 0;
  }

  large(tenant: string, ms: number, now: number): void {
    this.#tenant = tenant;
    this.add(ms, now);
  }

  small(tenant: string, now: number): void {
    if (tenant !== this.#tenant) this.#othersAt = now;
  }

  /** Adds time that everybody lost in another way, such as to moving a large item into the database. */
  add(ms: number, now: number): void {
    const weight = this.#shares.get(this.#tenant)?.weight ?? 1;
    this.#until = Math.min(Math.max(this.#until, now - ms) + ms + (this.#times * ms) / weight, now + MOST_REST_MS);
  }
}
