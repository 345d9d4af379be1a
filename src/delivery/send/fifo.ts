const SMALLEST = 4;
/** The longest buffer that is kept while nothing is in it. */
const KEPT = 32;

/** First in, first out, in a circular buffer: both ends cost the same however long it is. */
export class Fifo<T> {
  /** Its length is a power of two, or zero before the first item. */
  #items: (T | undefined)[] = [];
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#items.length) this.#grow();
    this.#items[(this.#head + this.#size) & (this.#items.length - 1)] = item;
    this.#size++;
  }

  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#items.length - 1);
    this.#size--;
    // There is one of these per endpoint: a burst must not leave its buffer behind for good.
    if (this.#size === 0 && this.#items.length > KEPT) this.#items = [];
    return item;
  }

  drain(): T[] {
    const items: T[] = [];
    while (this.#size > 0) items.push(this.shift()!);
    return items;
  }

  #grow(): void {
    const items: (T | undefined)[] = [];
    for (let i = 0; i < this.#size; i++) items.push(this.#items[(this.#head + i) & (this.#size - 1)]);
    // Filled rather than left with holes, which are slower to read.
    for (let free = Math.max(SMALLEST, this.#size); free > 0; free--) items.push(undefined);
    this.#items = items;
    this.#head = 0;
  }
}
