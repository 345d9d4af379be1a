/**
 * When which endpoint next has something due: a binary heap of (due time, endpoint). An entry that an earlier one
 * has overtaken stays in the heap; whoever takes it checks it against the window it belongs to.
 */
export interface Entry {
  readonly dueAt: number;
  readonly endpoint: string;
}

export class Agenda {
  readonly #heap: Entry[] = [];

  peek(): Entry | undefined {
    return this.#heap[0];
  }

  add(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.dueAt <= entry.dueAt) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  /** Takes out the earliest entry if it is due by `now`. */
  take(now: number): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.dueAt > now) return undefined;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.dueAt < heap[child]!.dueAt) child++;
      if (heap[child]!.dueAt >= entry.dueAt) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = entry;
  }
}
