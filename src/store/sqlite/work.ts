/** Runs the work that both stores do alike. */
import type { Database } from "better-sqlite3";
import type { Once } from "../../domain/events/idempotency.ts";
import type { Ask, Answer, Work, Workplace } from "../work/work.ts";
import type { IdempotencyKeys } from "./callers/idempotency.ts";
import type { Engine } from "./engine/engine.ts";
import { Statements } from "./engine/statements.ts";
import type { Names } from "./reads/answers.ts";

export function workplaceOf(engine: Engine, names: Names, idempotency: IdempotencyKeys): Workplace {
  const runner = new WorkRunner(engine.db, names);
  return {
    box: engine.box,
    // Nobody else writes the file.
    lock: "",
    firstTenant: 0,
    tenantName: (column) => `(SELECT t.name FROM tenant t WHERE t.num = ${column})`,
    read: async (begin) => engine.read(() => runner.run(begin())),
    commit: (begin) => engine.commit.run(() => runner.run(begin())),
    commitOnce: <T>(once: Once<T> | undefined, now: number, begin: () => Work<T>) =>
      idempotency.commit(once, now, () => runner.run(begin())),
  };
}

class WorkRunner {
  readonly #names: Names;
  readonly #statements: Statements;

  constructor(db: Database, names: Names) {
    this.#names = names;
    this.#statements = new Statements(db);
  }

  run<T>(work: Work<T>): T {
    for (let step = work.next(); ; step = work.next(this.#answer(step.value)))
      if (step.done === true) return step.value;
  }

  #answer(ask: Ask): Answer {
    const { index, tenants } = this.#names;
    if ("sql" in ask) {
      const values = Object.fromEntries(ask.values.map((value, at) => [at + 1, value]));
      return ask.reads ? this.#statements.all<object>(ask.sql, values) : this.#statements.change(ask.sql, values);
    }
    if ("add" in ask) return ask.add ? tenants.number(ask.tenant) : tenants.find(ask.tenant);
    for (const endpoint of ask.changed) index.changed(ask.tenant, endpoint);
    return undefined;
  }
}
