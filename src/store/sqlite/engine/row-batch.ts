/** Rows that are added to one table, many a statement: a call into SQLite costs as much as a small row. */
import type { Database, Statement } from "better-sqlite3";

const MANY = 32;

export class RowBatch<Row extends unknown[]> {
  readonly #width: number;
  readonly #one: Statement<unknown[]>;
  readonly #many: Statement<unknown[]>;
  #values: unknown[] = [];

  /** `row` is what stands for one row after VALUES, with a question mark for each value that is given. */
  constructor(db: Database, insert: string, row: string) {
    this.#width = row.split("?").length - 1;
    this.#one = db.prepare(`${insert} VALUES ${row}`);
    this.#many = db.prepare(`${insert} VALUES ${Array.from({ length: MANY }, () => row).join(", ")}`);
  }

  /** Only inside a transaction, which has to end with `flush` for it. */
  add(...row: Row): void {
    this.#values.push(...row);
  }

  flush(): void {
    const values = this.#values;
    if (values.length === this.#width) this.#one.run(values);
    else this.#runAll(values);
    this.#values = [];
  }

  /** The transaction was undone before it was flushed. */
  forget(): void {
    this.#values = [];
  }

  #runAll(values: readonly unknown[]): void {
    let at = 0;
    for (const size = MANY * this.#width; at + size <= values.length; at += size) {
      this.#many.run(values.slice(at, at + size));
    }
    for (; at < values.length; at += this.#width) this.#one.run(values.slice(at, at + this.#width));
  }
}
