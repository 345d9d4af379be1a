/** Outboxes of applications, and a daemon that reads one. */
import Database from "better-sqlite3";
import { join } from "node:path";
import type { Client } from "pg";
import { onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { postgresSql, sqliteSql } from "../../src/domain/outbox/init-sql.ts";
import { DEFAULT_TABLE, type OutboxSettings } from "../../src/domain/outbox/outbox.ts";
import { aDirectory, TestDaemon, type TestDaemonOptions } from "../harness/daemon.ts";
import { afterEveryFile } from "../harness/ends.ts";
import { startServer, withClient, type TestServer } from "../harness/postgres.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { createDatabase } from "../store/stores.ts";

export const ROLE = "webhookd_reader";

export interface NewRow {
  readonly type?: string;
  readonly data?: string;
  readonly tenant?: string;
  readonly createdAt?: string;
  readonly publisherId?: string;
  readonly tags?: readonly string[];
}

/** The application, with its table. */
export interface Application {
  readonly outbox: OutboxSettings;
  /** Inserts rows in one transaction. */
  insert(...rows: readonly NewRow[]): Promise<void>;
  /** The ids of the rows in the table, and their problems. */
  rows(): Promise<readonly { id: string; problem: string | null }[]>;
  sql(text: string): Promise<void>;
}

export interface AsTenants {
  readonly tenantColumn?: string | null;
}

let server: Promise<TestServer | null> | null = null;
afterEveryFile(async () => {
  const started = server;
  server = null;
  await (await started)?.stop();
});

export async function requireServer(): Promise<TestServer> {
  const started = await (server ??= startServer());
  if (started === null) throw new Error("there is no PostgreSQL to test with");
  return started;
}

function valuesOf({ type = "budget.exceeded", data = "{}", tenant, createdAt, publisherId, tags }: NewRow) {
  const values: Record<string, unknown> = { type, data };
  if (tenant !== undefined) values["tenant"] = tenant;
  if (createdAt !== undefined) values["created_at"] = createdAt;
  if (publisherId !== undefined) values["publisher_id"] = publisherId;
  if (tags !== undefined) values["tags"] = tags;
  return values;
}

/** Inserts a row, inside or outside of a transaction. */
export async function insertRow(client: Client, row: NewRow): Promise<void> {
  const values = Object.entries(valuesOf(row));
  const names = values.map(([name]) => name);
  const places = values.map((_, at) => `$${at + 1}`);
  await client.query(
    `INSERT INTO ${DEFAULT_TABLE} (${names.join(", ")}) VALUES (${places.join(", ")})`,
    values.map(([, value]) => value),
  );
}

/** An application on PostgreSQL, whose outbox webhookd reads with as few rights as possible. */
export async function onPostgres({ tenantColumn = null }: AsTenants = {}): Promise<Application & { url: string }> {
  const started = await requireServer();
  const url = started.urlOf(await createDatabase(started));
  await started.ask(`DO $$ BEGIN CREATE ROLE ${ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`);
  const sql = async (text: string) => {
    await withClient(url, (client) => client.query(text));
  };
  await sql(postgresSql({ table: DEFAULT_TABLE, tenantColumn, role: ROLE }));
  const own = url.replace(/\/\/[^@]*@/, `//${ROLE}@`);
  return {
    url,
    outbox: settings({ kind: "postgres", url: own }, tenantColumn),
    sql,
    insert: (...rows) =>
      withClient(url, async (client) => {
        await client.query("BEGIN");
        for (const row of rows) await insertRow(client, row);
        await client.query("COMMIT");
      }),
    rows: () =>
      withClient(url, async (client) => {
        const found = await client.query<{ id: string; problem: string | null }>(
          `SELECT id::text AS id, problem FROM ${DEFAULT_TABLE} AS o ORDER BY o.id`,
        );
        return found.rows;
      }),
  };
}

/** An application on SQLite, with a connection of its own to its file. */
export async function onSqlite({ tenantColumn = null }: AsTenants = {}): Promise<
  Application & { db: Database.Database; file: string }
> {
  const file = join(aDirectory(), "shop.db");
  const db = new Database(file);
  onTestFinished(() => void db.close());
  db.exec(sqliteSql({ table: DEFAULT_TABLE, tenantColumn }));
  const one = (row: NewRow) => {
    const values = valuesOf(row);
    const names = Object.keys(values);
    db.prepare(`INSERT INTO ${DEFAULT_TABLE} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`).run(
      Object.values(values).map((value) => (Array.isArray(value) ? JSON.stringify(value) : value)),
    );
  };
  return {
    db,
    file,
    outbox: settings({ kind: "sqlite", file }, tenantColumn),
    sql: async (text) => void db.exec(text),
    insert: async (...rows) => db.transaction(() => rows.forEach(one))(),
    rows: async () =>
      db
        .prepare<[], { id: string; problem: string | null }>(
          `SELECT CAST(id AS TEXT) AS id, problem FROM ${DEFAULT_TABLE} AS o ORDER BY o.id`,
        )
        .all(),
  };
}

function settings(database: OutboxSettings["database"], tenantColumn: string | null): OutboxSettings {
  const tenant = tenantColumn === null ? { name: "default" } : { column: tenantColumn };
  return { name: "shop", database, table: DEFAULT_TABLE, tenant };
}

/** A daemon that reads the outbox, and a receiver that has registered for its events. */
export async function reading(application: Application, options: TestDaemonOptions = {}) {
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  const daemon = await TestDaemon.start({ hostClock: systemClock, outboxes: [application.outbox], ...options });
  await daemon.register(`http://localhost:${receiver.port}/`);
  return { daemon, receiver };
}

/** All events that the daemon has, the oldest first. */
export async function eventsOf(daemon: TestDaemon): Promise<readonly any[]> {
  const events: any[] = [];
  let cursor = "";
  do {
    const { body } = await daemon.request("GET", `/v1/webhooks/events?order=oldest&limit=100${cursor}`);
    events.push(...body.data);
    cursor = body.next_cursor === null || body.next_cursor === undefined ? "" : `&cursor=${body.next_cursor}`;
  } while (cursor !== "");
  return events;
}
