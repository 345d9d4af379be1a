import type { Statement } from "better-sqlite3";

/** A statement that SQLite prepares when it is first run. */
export class LateStatement {
  readonly #make: () => Statement<unknown[]>;
  #made: Statement<unknown[]> | undefined;
  #plucks = false;
  #raw = false;

  constructor(make: () => Statement<unknown[]>) {
    this.#make = make;
  }

  get source(): string {
    return this.#statement.source;
  }

  pluck(): this {
    this.#plucks = true;
    return this;
  }

  raw(): this {
    this.#raw = true;
    return this;
  }

  run(...values: unknown[]): ReturnType<Statement["run"]> {
    return this.#statement.run(...values);
  }

  get(...values: unknown[]): unknown {
    return this.#statement.get(...values);
  }

  all(...values: unknown[]): unknown[] {
    return this.#statement.all(...values);
  }

  iterate(...values: unknown[]): IterableIterator<unknown> {
    return this.#statement.iterate(...values);
  }

  get #statement(): Statement<unknown[]> {
    if (this.#made !== undefined) return this.#made;
    const made = this.#make();
    if (this.#plucks) made.pluck();
    if (this.#raw) made.raw();
    return (this.#made = made);
  }
}
