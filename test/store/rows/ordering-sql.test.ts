/** The rules of order by key that both stores ask in SQL. */
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { AFTER_FAILURE, holdsKey, ORDERINGS } from "../../../src/domain/deliveries/ordering.ts";
import { FREED } from "../../../src/store/rows/ordering-sql.ts";

describe("an endpoint that holds no key", () => {
  it("is the same in SQL as in the domain, for all settings", () => {
    const db = new Database(":memory:");
    const freed = db
      .prepare<[string, string, number | null], number>(
        `SELECT ${FREED} FROM (SELECT ? AS ordering, ? AS after_failure, ? AS deleted_at) e`,
      )
      .pluck();
    for (const ordering of ORDERINGS) {
      for (const afterFailure of AFTER_FAILURE) {
        for (const deleted of [false, true]) {
          const holds = holdsKey({ ordering, afterFailure, deleted }, "failed");
          const isFreed = freed.get(ordering, afterFailure, deleted ? 1 : null);
          expect([ordering, afterFailure, deleted, isFreed]).toEqual([ordering, afterFailure, deleted, +!holds]);
        }
      }
    }
    db.close();
  });
});
