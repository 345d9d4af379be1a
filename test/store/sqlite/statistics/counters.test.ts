import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { Counters, EVERYTHING, WrittenCounts } from "../../../../src/store/sqlite/statistics/counters.ts";
import { EndpointIndex } from "../../../../src/store/sqlite/numbers/endpoint-index.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/engine/schema.ts";
import { type StoredCounts, Counts } from "../../../../src/store/rows/counts.ts";
import { Interned } from "../../../../src/store/sqlite/numbers/names.ts";

const SECOND = 1000;

function open() {
  const db = new Database(":memory:");
  for (const { sql } of MIGRATIONS) db.exec(sql);
  const rows = db.prepare<[], number>("SELECT count(*) FROM counter").pluck();
  const stored = db.prepare<[], string>("SELECT published FROM counter WHERE subject = 0").pluck();
  const tenants = new Interned(db, "tenant");
  const index = new EndpointIndex(db, tenants, new Interned(db, "event_type"));
  return { db, counters: new Counters(db, { index, tenants }), rows: () => rows.get()!, stored: () => stored.get() };
}

it("what an undone transaction had written is written again, and not counted twice", () => {
  const { db, counters, stored } = open();
  const write = (now: number) => db.transaction(() => counters.write(now))();
  counters.published("a", 1, [EVERYTHING], 0);
  write(0);
  expect(stored()).toBe('[["a",1]]');
  counters.published("a", 1, [EVERYTHING], SECOND);
  const undone = db.transaction(() => {
    counters.write(SECOND);
    throw new Error("undone");
  });
  expect(undone).toThrow("undone");
  counters.forget();
  expect(stored()).toBe('[["a",1]]');
  write(SECOND);
  expect(stored()).toBe('[["a",2]]');
});

it("a commit writes no more than 500 rows, and only the first one of a second writes any", () => {
  const { counters, rows } = open();
  for (let subject = 1; subject <= 1200; subject++) counters.published("a", 1, [subject], 0);
  const written = [0, 999, SECOND, 2 * SECOND, 3 * SECOND].map((now) => {
    counters.write(now);
    return rows();
  });
  expect(written).toEqual([500, 500, 1000, 1200, 1200]);
  expect(counters.isDue(4 * SECOND)).toBe(false);
});

it("rows that pile up wait for no new second", () => {
  const { counters, rows } = open();
  for (let subject = 1; subject <= 5600; subject++) counters.published("a", 1, [subject], 0);
  for (let commit = 0; commit < 5; commit++) counters.write(0);
  expect(rows()).toBe(1000);
});

it("a minute that comes again after the clock was set back goes on where it was, written or not", () => {
  const { db, counters } = open();
  const written = new WrittenCounts(db);
  const read = () => {
    const unwritten = counters.unwritten(EVERYTHING);
    const asked = { subject: EVERYTHING, first: 0, end: 2, step: 1, except: [...unwritten.keys()] };
    const { value } = written.sum(asked).next();
    const parts = (value as (StoredCounts | null)[]).map((row) => {
      const counts = new Counts();
      if (row !== null) counts.addRow(row);
      return counts;
    });
    for (const [minute, counts] of unwritten) parts[minute]!.add(counts);
    return parts.map(({ published }) => published.get("a")!);
  };
  for (const now of [0, 60 * SECOND, 0]) counters.published("a", 1, [EVERYTHING], now);
  expect(read()).toEqual([2, 1]);
  counters.write(0);
  expect(read()).toEqual([2, 1]);
});
