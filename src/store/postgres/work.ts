/** Runs the work that both stores do alike. */
import type { Once } from "../../domain/events/idempotency.ts";
import type { Ask, Answer, Work, Workplace } from "../work/work.ts";
import type { IdempotencyKeys } from "./callers/idempotency.ts";
import type { Queries } from "./engine/database.ts";
import type { Engine } from "./engine/engine.ts";

export function workplaceOf(engine: Engine, idempotency: IdempotencyKeys): Workplace {
  const run = async <T>(queries: Queries, work: Work<T>): Promise<T> => {
    for (let step = work.next(); ; step = work.next(await answer(queries, engine, step.value))) {
      if (step.done === true) return step.value;
    }
  };
  return {
    box: engine.box,
    lock: "FOR UPDATE",
    firstTenant: "",
    tenantName: (column) => column,
    read: (begin) => run(engine.database, begin()),
    commit: (begin) => engine.write((tx) => run(tx, begin())),
    commitOnce: <T>(once: Once<T> | undefined, now: number, begin: () => Work<T>) =>
      idempotency.commit(once, now, (tx) => run(tx, begin())),
  };
}

async function answer(queries: Queries, { owner }: Engine, ask: Ask): Promise<Answer> {
  if ("sql" in ask) return ask.reads ? queries.rows(ask.sql, ask.values) : queries.change(ask.sql, ask.values);
  // Rows have the name itself.
  if ("add" in ask) return ask.tenant;
  await owner.notify(queries, { changed: ask.changed });
  return undefined;
}
