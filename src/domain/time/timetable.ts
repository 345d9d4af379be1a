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
