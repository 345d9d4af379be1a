/** The application's table, without a daemon: what of it changes, and when. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { OutboxSettings, RowOutcome } from "../../src/domain/outbox/outbox.ts";
import { PostgresTable } from "../../src/outbox/postgres-table.ts";
import { SqliteTable } from "../../src/outbox/sqlite-table.ts";
import { OutboxFault, type OutboxTable } from "../../src/outbox/table.ts";
import { onPostgres, onSqlite } from "./outbox.ts";

function tableOf(outbox: OutboxSettings): OutboxTable {
  const parts = { clock: systemClock, maxEventBytes: 1000, nativeBinding: undefined };
  const { database } = outbox;
  const table =
    database.kind === "sqlite"
      ? new SqliteTable({ ...outbox, database }, parts)
      : new PostgresTable({ ...outbox, database }, parts);
  onTestFinished(() => table.close());
  return table;
}

const idsOf = async (application: { rows(): Promise<readonly { id: string }[]> }) =>
  (await application.rows()).map(({ id }) => id);

describe.each([
  ["PostgreSQL", onPostgres],
  ["SQLite", onSqlite],
] as const)("the table in %s", (_name, open) => {
  it("keeps each row until it was published, and all of them if that fails", async () => {
    const application = await open();
    await application.insert({}, {});
    const table = tableOf(application.outbox);
    await expect(
      table.pass(async () => {
        expect(await idsOf(application)).toEqual(["1", "2"]);
        throw new Error("the store is away");
      }, []),
    ).rejects.toThrow("the store is away");
    expect(await idsOf(application)).toEqual(["1", "2"]);
    const outcomes: RowOutcome[] = ["published", "waits"];
    expect(await table.pass(async () => outcomes, [])).toBe(1);
    expect(await idsOf(application)).toEqual(["2"]);
  });

  it("counts what waits, how long it has, and what was set aside; and lets that be read again, or deleted", async () => {
    const application = await open();
    await application.insert({}, {}, {}, { createdAt: "2026-01-02T03:04:05Z" });
    const table = tableOf(application.outbox);
    const aside = { problem: "is wrong" };
    expect(await table.pass(async () => [aside, aside, "waits", "waits"], [])).toBe(2);
    const counts = await table.look();
    expect(counts).toMatchObject({ waiting: 2, setAside: 2 });
    expect(counts.oldestMs).toBeGreaterThanOrEqual(0);
    expect(counts.oldestMs).toBeLessThan(60_000);
    const row = { type: "budget.exceeded", problem: "is wrong" };
    expect(await table.setAside(10)).toEqual([
      { id: "1", ...row },
      { id: "2", ...row },
    ]);
    expect(await table.setAside(1)).toHaveLength(1);
    expect(await table.retry(["1", "3", "no id"])).toBe(1);
    expect(await table.remove(["1", "2"])).toBe(1);
    expect(await idsOf(application)).toEqual(["1", "3", "4"]);
    expect(await table.present(["1", "2", "4"])).toEqual(new Set(["1", "4"]));
    expect([await table.retry(null), await table.remove(null)]).toEqual([0, 0]);
  });

  it("leaves out rows of tenants that rest, and reads no more than fits into memory", async () => {
    const application = await open({ tenantColumn: "tenant" });
    await application.insert({ tenant: "acme" }, { tenant: "other" }, { tenant: "acme" });
    const table = tableOf(application.outbox);
    const seen: string[] = [];
    const see = async (rows: readonly { id: string }[]) => {
      seen.push(...rows.map(({ id }) => id));
      return rows.map(() => "waits" as const);
    };
    await table.pass(see, ["acme"]);
    expect(seen).toEqual(["2"]);
  });

  it("needs no more than an id, a type, data and a problem", async () => {
    const application = await open();
    await application.sql("DROP TABLE webhookd_outbox");
    await application.sql("CREATE TABLE webhookd_outbox (id text PRIMARY KEY, type text, data text, problem text)");
    await application.sql("INSERT INTO webhookd_outbox VALUES ('b', 'x', '{}', NULL), ('a', NULL, NULL, NULL)");
    if ("url" in application)
      await application.sql(`GRANT SELECT, DELETE, UPDATE (problem) ON webhookd_outbox TO webhookd_reader`);
    const table = tableOf(application.outbox);
    const none = { createdAt: null, publisherId: null, tags: null, orderingKey: null, tenant: null };
    const rows: unknown[] = [];
    const published = await table.pass(async (some) => {
      rows.push(...some);
      return some.map(() => "published");
    }, []);
    expect(rows).toEqual([
      { id: "a", type: null, data: null, dataBytes: null, ...none },
      { id: "b", type: "x", data: Buffer.from("{}"), dataBytes: 2, ...none },
    ]);
    expect(published).toBe(2);
    expect(await idsOf(application)).toEqual([]);
    expect((await table.look()).oldestMs).toBeNull();
  });
});

describe("the table in PostgreSQL", () => {
  it("gives no row to a second node that a first one is publishing, nor makes it wait", async () => {
    const application = await onPostgres();
    await application.sql("ALTER TABLE webhookd_outbox DROP COLUMN ordering_key");
    await application.insert({}, {});
    const [first, second] = [tableOf(application.outbox), tableOf(application.outbox)];
    const seen: number[] = [];
    const look = async (rows: readonly unknown[]) => {
      seen.push(rows.length);
      return rows.map(() => "published" as const);
    };
    await first.pass(async (rows) => {
      await application.insert({});
      await second.pass(look, []);
      return look(rows);
    }, []);
    expect(seen).toEqual([1, 2]);
    expect(await idsOf(application)).toEqual([]);
  });
});

describe("the table in PostgreSQL with ordering keys", () => {
  it("is read by one node at a time, so that the events of a key stay in order", async () => {
    const application = await onPostgres();
    await application.insert({});
    const [first, second] = [tableOf(application.outbox), tableOf(application.outbox)];
    const publish = async (rows: readonly unknown[]) => rows.map(() => "published" as const);
    await first.pass(async (rows) => {
      await application.insert({});
      expect(await second.pass(publish, [])).toBe(0);
      return publish(rows);
    }, []);
    expect(await second.pass(publish, [])).toBe(1);
  });
});

describe("the table in SQLite", () => {
  it("is waited for while the application has it locked, and the event loop goes on", async () => {
    const { db, outbox, rows, insert } = await onSqlite();
    await insert({});
    const table = tableOf(outbox);
    db.exec("BEGIN IMMEDIATE");
    let turns = 0;
    const turning = setInterval(() => {
      if (++turns === 10) db.exec("COMMIT");
    }, 5);
    await table.pass(async () => ["published"], []);
    clearInterval(turning);
    expect(turns).toBeGreaterThanOrEqual(10);
    expect(await rows()).toEqual([]);
  });

  it("says which file is not there, or is locked for long", async () => {
    const { db, outbox, file } = await onSqlite();
    const gone = tableOf({ ...outbox, database: { kind: "sqlite", file: `${file}.gone` } });
    await expect(gone.look()).rejects.toThrow(`there is no file ${file}.gone`);
    const table = tableOf(outbox);
    await table.look();
    db.exec("INSERT INTO webhookd_outbox (type, data) VALUES ('a', '{}'); BEGIN IMMEDIATE");
    await expect(table.pass(async () => ["published"], [])).rejects.toThrow(OutboxFault);
    db.exec("COMMIT");
    expect(await table.pass(async () => ["published"], [])).toBe(1);
  });
});
