/** The latest batches, so that whoever was cut off for a moment misses nothing. Bounded, by what they hold. */
export interface Numbered {
  /** Counts the batches, from 1. */
  readonly number: number;
  /** How much of the room it takes. */
  readonly size: number;
}

export class BatchRing<B extends Numbered> {
  readonly #room: number;
  #batches: B[] = [];
  #held = 0;
  /** The number of the last batch that is no longer here. */
  #gone = 0;

  constructor(room: number) {
    this.#room = room;
  }

  push(batch: B): void {
    this.#batches.push(batch);
    this.#held += batch.size;
    let first = 0;
    while (this.#held > this.#room) this.#held -= this.#batches[first++]!.size;
    if (first === 0) return;
    this.#gone = this.#batches[first - 1]!.number;
    this.#batches = this.#batches.slice(first);
  }

  /** All that came after that one; null when some of them are gone. */
  after(number: number): readonly B[] | null {
    return number < this.#gone ? null : this.#batches.filter((batch) => batch.number > number);
  }

  /** Forgets everything, up to that number. */
  clear(upTo: number): void {
    this.#batches = [];
    this.#held = 0;
    this.#gone = upTo;
  }
}
