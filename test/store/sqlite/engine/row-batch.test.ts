import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { RowBatch } from "../../../../src/store/sqlite/engine/engine.ts";

function aBatch() {
  const db = new Database(":memory:");
  db.exec("CREATE TABLE pair (one INTEGER, fixed INTEGER, other TEXT)");
  const batch = new RowBatch<[one: number, other: string]>(db, "INSERT INTO pair (one, fixed, other)", "(?, 7, ?)");
  return { batch, rows: () => db.prepare("SELECT * FROM pair ORDER BY rowid").raw().all() };
}

it.each([0, 1, 2, 31, 32, 33, 64, 200])("adds %i rows in their order, once", (count) => {
  const { batch, rows } = aBatch();
  const all = Array.from({ length: count }, (_, at) => [at, 7, `row ${at}`]);
  for (let at = 0; at < count; at++) batch.add(at, `row ${at}`);
  batch.flush();
  batch.flush();
  expect(rows()).toEqual(all);
});

it("adds nothing of a transaction that was undone before it was flushed", () => {
  const { batch, rows } = aBatch();
  batch.add(1, "undone");
  batch.forget();
  batch.add(2, "kept");
  batch.flush();
  expect(rows()).toEqual([[2, 7, "kept"]]);
});
