/** What can stand in a ring; in one at a time. The links are in the member, so that nothing is allocated per turn. */
export interface Member<T extends Member<T>> {
  ring: Ring<T> | null;
  previous: T | null;
  next: T | null;
}

/** Those who wait for a turn, in the order in which they came; anyone may leave from anywhere. */
export class Ring<T extends Member<T>> {
  #first: T | null = null;
  #last: T | null = null;
  #size = 0;

  get first(): T | null {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  push(member: T): void {
    member.ring = this;
    member.previous = this.#last;
    if (this.#last === null) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
    this.#size++;
  }

  remove(member: T): void {
    const { previous, next } = member;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    member.ring = member.previous = member.next = null;
    this.#size--;
  }
}
