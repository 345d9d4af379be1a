/** Whose time comes first: that of those who wait for an instant, and of those who wait for a turn. */

/** What can stand in a timetable; in one at a time. */
export interface Scheduled {
  /** The instant it waits for, in whatever clock its timetable is kept. */
  wakeAt: number;
  /** Its place in the heap, -1 while it is in none. */
  heapAt: number;
}

/** Those that wait for an instant: a binary heap whose members know their place, so that any of them can leave early. */
export class Timetable<T extends Scheduled> {
  readonly #heap: T[] = [];

  get first(): T | undefined {
    return this.#heap[0];
  }

  /** When the first one is due; Infinity when none waits. */
  get wakeAt(): number {
    return this.#heap[0]?.wakeAt ?? Number.POSITIVE_INFINITY;
  }

  /** One that stands here already is moved. */
  add(member: T, wakeAt: number): void {
    this.remove(member);
    member.wakeAt = wakeAt;
    this.#rise(member, this.#heap.length);
  }

  /** Takes out the first one if it is due by `now`. */
  take(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.wakeAt > now) return undefined;
    this.remove(first);
    return first;
  }

  /** Does nothing for one that is not here. */
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

/** `[tenants.NAME]`: what one tenant may take of what all of them share. */
export interface TenantShare {
  /** 1 unless it is to have more turns, or fewer, than the others. */
  readonly weight: number;
  /** Events a second; null for no limit of its own. */
  readonly ratePerSecond: number | null;
  /** Deliveries that may be pending; null for what holds for every tenant. */
  readonly maxPending: number | null;
}

/** By the tenant's name, of those that have a section. Always the same map, whose entries change. */
export type TenantShares = ReadonlyMap<string, TenantShare>;

/** What waits for a turn: for whom, and how much of what is shared it takes, in any unit. */
export interface Waiting {
  readonly tenant: string;
  readonly cost: number;
}

/** All of one tenant's that waits, as it came. */
class Line<T> implements Scheduled {
  readonly items: T[] = [];
  /** By weight, what the tenant has had. */
  had = 0;
  wakeAt = 0;
  heapAt = -1;
}

/** Up to here what is small comes before what is large, if neither tenant has had more. */
const LARGE = 64 * 1024;

/**
 * Next comes what belongs to the tenant that has had least, by its weight. So what one of them asks for delays the others
 * by one item at most, however much it is. Nothing is saved up for a tenant that was away, and all
 * begin anew when nothing waits (start-time fair queueing).
 */
export class TenantTurns<T extends Waiting> {
  readonly #shares: TenantShares;
  readonly #lines = new Map<string, Line<T>>();
  readonly #table = new Timetable<Line<T>>();
  /** By weight, what a tenant has had that always waited for more. */
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

  /** Takes the next one, if `fits`. */
  take(fits: (item: T) => boolean = () => true): T | undefined {
    const line = this.#table.first;
    return line === undefined || !fits(line.items[0]!) ? undefined : this.#takeOf(line);
  }

  /** Takes the next one that `fits`, past tenants whose own next one does not. */
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

/** Whoever has had something small so recently is likely to want more. */
const PRESENT_MS = 1000;
/** The longest rest, whatever held up what came before it. */
const MOST_REST_MS = 50;

/**
 * How long nobody begins anything large, because that has just taken as long; only while another tenant wants something
 * small. So what is large takes half of the time at most, and what is small rarely waits for two of them.
 */
export class Rests {
  readonly #shares: TenantShares;
  /** Whose was the last that was large. */
  #tenant = "";
  #until = Number.NEGATIVE_INFINITY;
  #othersAt = Number.NEGATIVE_INFINITY;

  constructor(shares: TenantShares) {
    this.#shares = shares;
  }

  /** Whether another tenant than that of the last that was large is there. */
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

  /** What else held up everybody, such as a move of what was large into the database. */
  add(ms: number, now: number): void {
    const weight = this.#shares.get(this.#tenant)?.weight ?? 1;
    this.#until = Math.min(Math.max(this.#until, now - ms) + ms + ms / weight, now + MOST_REST_MS);
  }
}
