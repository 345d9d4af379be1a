/** Runs the work that both stores do alike. */
import type { Database, Statement } from "better-sqlite3";
import type { Once } from "../../domain/events/idempotency.ts";
import type { Ask, Answer, Work, Workplace } from "../work/work.ts";
import type { IdempotencyKeys } from "./callers/idempotency.ts";
import type { Engine } from "./engine/engine.ts";
import type { Names } from "./reads/answers.ts";

export function workplaceOf(engine: Engine, names: Names, idempotency: IdempotencyKeys): Workplace {
  const teller = new Teller(engine.db, names);
  return {
    box: engine.box,
    // Nobody else writes the file.
    lock: "",
    firstTenant: 0,
    tenantName: (column) => `(SELECT t.name FROM tenant t WHERE t.num = ${column})`,
    read: async (begin) => engine.read(() => teller.run(begin())),
    commit: (begin) => engine.commit.run(() => teller.run(begin())),
    commitOnce: <T>(once: Once<T> | undefined, now: number, begin: () => Work<T>) =>
      idempotency.commit(once, now, () => teller.run(begin())),
  };
}

class Teller {
  readonly #db: Database;
  readonly #names: Names;
  readonly #statements = new Map<string, Statement<[object]>>();

  constructor(db: Database, names: Names) {
    this.#db = db;
    this.#names = names;
  }

  run<T>(work: Work<T>): T {
    for (let step = work.next(); ; step = work.next(this.#answer(step.value))) if (step.done === true) return step.value;
  }

  #answer(ask: Ask): Answer {
    const { index, tenants } = this.#names;
    if ("sql" in ask) {
      const values = Object.fromEntries(ask.values.map((value, at) => [at + 1, value]));
      const statement = this.#prepared(ask.sql);
      return ask.reads ? (statement.all(values) as object[]) : statement.run(values).changes;
    }
    if ("add" in ask) return ask.add ? tenants.number(ask.tenant) : tenants.find(ask.tenant);
    for (const endpoint of ask.changed) index.changed(ask.tenant, endpoint);
    return undefined;
  }

  #prepared(sql: string): Statement<[object]> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare<[object]>(sql)));
    return statement;
  }
}
