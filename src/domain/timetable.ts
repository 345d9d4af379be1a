/** What can be put to sleep; `heapAt` is its place in the heap, -1 while it is awake. */
export interface Sleeper {
  wakeAt: number;
  heapAt: number;
}

/** Those who wait for an instant: a binary heap whose members know their place, so that any of them can be woken early. */
export class Throttled<T extends Sleeper> {
  readonly #heap: T[] = [];

  /** When the first one wakes; Infinity when nobody sleeps. */
  get wakeAt(): number {
    return this.#heap[0]?.wakeAt ?? Number.POSITIVE_INFINITY;
  }

  add(sleeper: T, wakeAt: number): void {
    sleeper.wakeAt = wakeAt;
    this.#rise(sleeper, this.#heap.length);
  }

  /** Takes out one who wakes by `now`. */
  take(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.wakeAt > now) return undefined;
    this.remove(first);
    return first;
  }

  remove(sleeper: T): void {
    const at = sleeper.heapAt;
    if (at === -1) return;
    sleeper.heapAt = -1;
    const last = this.#heap.pop()!;
    if (last === sleeper) return;
    this.#sink(last, at);
    this.#rise(last, last.heapAt);
  }

  #rise(sleeper: T, from: number): void {
    let at = from;
    while (at > 0) {
      const parent = this.#heap[(at - 1) >> 1]!;
      if (parent.wakeAt <= sleeper.wakeAt) break;
      this.#put(parent, at);
      at = (at - 1) >> 1;
    }
    this.#put(sleeper, at);
  }

  #sink(sleeper: T, from: number): void {
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#heap.length) break;
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.wakeAt < this.#heap[child]!.wakeAt) child++;
      if (this.#heap[child]!.wakeAt >= sleeper.wakeAt) break;
      this.#put(this.#heap[child]!, at);
      at = child;
    }
    this.#put(sleeper, at);
  }

  #put(sleeper: T, at: number): void {
    this.#heap[at] = sleeper;
    sleeper.heapAt = at;
  }
}
