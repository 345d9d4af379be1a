import type { Database, Statement } from "better-sqlite3";

/** Statements that are written when they are first needed, and prepared once. */
export class Statements {
  readonly #db: Database;
  readonly #rows = new Map<string, Statement<unknown[], unknown>>();
  readonly #values = new Map<string, Statement<unknown[], unknown>>();

  constructor(db: Database) {
    this.#db = db;
  }

  all<Row>(sql: string, bound: object): Row[] {
    return this.#prepared(this.#rows, sql).all(bound) as Row[];
  }

  /** Returns the number of rows that it changed. */
  change(sql: string, bound: object): number {
    return this.#prepared(this.#rows, sql).run(bound).changes;
  }

  /** Returns the only column of each row. */
  values<T>(sql: string, bound: object): T[] {
    return this.#prepared(this.#values, sql).all(bound) as T[];
  }

  /** Returns the only column of the first row. */
  value<T>(sql: string, bound: object): T | undefined {
    return this.#prepared(this.#values, sql).get(bound) as T | undefined;
  }

  #prepared(known: Map<string, Statement<unknown[], unknown>>, sql: string): Statement<unknown[], unknown> {
    let statement = known.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      if (known === this.#values) statement.pluck();
      known.set(sql, statement);
    }
    return statement;
  }
}
