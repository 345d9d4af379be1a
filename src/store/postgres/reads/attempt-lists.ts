/** Reads attempts page by page. */
import type { Attempt, Page, PageQuery } from "../../store.ts";
import { ATTEMPT, attemptOf, FROM_ATTEMPT, type AttemptRow } from "./attempts.ts";
import type { Engine } from "../engine/engine.ts";
import { pageOf, Values } from "../engine/page.ts";

/** Sorts by these columns. No two attempts of the list have the same values in them. */
export function attemptPage(
  engine: Engine,
  list: string,
  columns: readonly (keyof AttemptRow & string)[],
  query: PageQuery,
  where: (values: Values) => string,
): Promise<Page<Attempt>> {
  const [compare, direction] = query.order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
  const walk = {
    list,
    start: columns.map(() => (query.order === "oldest" ? -1 : Number.MAX_SAFE_INTEGER)),
    rows: (after: readonly number[], limit: number) => {
      const values = new Values();
      const from = after.map((key) => `${values.add(key)}::bigint`).join();
      const sql = `SELECT ${ATTEMPT} FROM ${FROM_ATTEMPT}
        WHERE (${columns.map((name) => `a.${name}`).join()}) ${compare} (${from}) AND ${where(values)}
        ORDER BY ${columns.map((name) => `a.${name} ${direction}`).join()} LIMIT ${values.add(limit)}`;
      return engine.database.lists.rows<AttemptRow>(sql, values.all);
    },
    keysOf: (row: AttemptRow) => columns.map((name) => Number(row[name])),
    look: async (rows: readonly AttemptRow[]) => rows.map(attemptOf),
  };
  return pageOf(engine, walk, query);
}
