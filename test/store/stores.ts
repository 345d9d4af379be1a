/** Opens the stores for the conformance suites. Another kind of store needs a function here. */
import { randomBytes, randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { Client } from "pg";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/clock.ts";
import { readOrMakeAdminKey, readOrMakeSecretKey } from "../../src/store/files/key-files.ts";
import { openStore, type OpenOptions } from "../../src/store/opening/open.ts";
import { type Database as PostgresDatabase, queriesOn } from "../../src/store/postgres/engine/database.ts";
import { migrate } from "../../src/store/postgres/engine/migrate.ts";
import { META, STEPS, type Step } from "../../src/store/postgres/engine/schema.ts";
import { SharedOwnership } from "../../src/store/postgres/ownership.ts";
import { SoleOwner } from "../../src/store/postgres/sole-owner.ts";
import { openPostgres as openPostgresStore } from "../../src/store/postgres/store.ts";
import type { Store } from "../../src/store/store.ts";
import { startThread } from "../../src/thread.ts";
import { ManualClock } from "../harness/clock.ts";
import { withClient, type TestServer } from "../harness/postgres.ts";
import { Box } from "../../src/store/rows/box.ts";

export interface StoreUnderTest {
  readonly store: Store;
  readonly clock: ManualClock;
  /** True if reads and commits take turns, so that a long read must let commits in between. */
  readonly takesTurns: boolean;
  /** Closes the store and opens it again, as a restart does. */
  reopen(): Promise<Store>;
  /** Opens the store from what is on the disk now, as a start after kill -9 does. */
  crash(): Promise<Store>;
  /** Writes to the database directly, as damage does. */
  write(sql: string): Promise<void>;
}

/** Opens a new store, which is closed when the test ends. */
export type OpenFresh = (limits?: StoreLimits) => Promise<StoreUnderTest>;

/** Limits that every kind of store supports. */
export type StoreLimits = Pick<OpenOptions, "maxPendingPerTenant" | "shares">;

export const openSqlite: OpenFresh = (limits) => openSqliteWith({})(limits);

export const openSqliteWith =
  (more: Pick<OpenOptions, "startReader">): OpenFresh =>
  async (limits = {}) => {
    let dir = temporaryDirectory();
    const clock = new ManualClock();
    let store = await open({ dir, clock, ...limits, ...more });
    return {
      get store() {
        return store;
      },
      clock,
      takesTurns: true,
      async reopen() {
        await store.close();
        store = await open({ dir, clock, ...limits, ...more });
        return store;
      },
      async crash() {
        dir = copyOf(dir);
        store = await open({ dir, clock, ...limits, ...more });
        return store;
      },
      async write(sql) {
        const db = new Database(join(dir, "webhookd.db"));
        db.exec(sql);
        db.close();
      },
    };
  };

/** Copies the files as kill -9 leaves them: nothing is closed. */
export function copyOf(dir: string): string {
  const copy = temporaryDirectory();
  for (const name of ["webhookd.db", "webhookd.db-wal", "secret.key", "STORE"])
    cpSync(join(dir, name), join(copy, name));
  return copy;
}

/** Returns one number from the store's file. */
export function ask(dir: string, sql: string): number {
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  try {
    return db.prepare<[], number>(sql).pluck().get()!;
  } finally {
    db.close();
  }
}

/** Each test has a database of its own. */
export const openPostgresOn =
  (server: () => TestServer): OpenFresh =>
  async (limits = {}) => {
    const dir = temporaryDirectory();
    const clock = new ManualClock();
    let database = await createDatabase(server());
    let onlooker = await connectUntilEnd(server().urlOf(database));
    const start = () => openPostgresDatabase(server().urlOf(database), { dir, clock, ...limits });
    let store = await start();
    return {
      get store() {
        return store;
      },
      clock,
      takesTurns: false,
      async reopen() {
        await store.close();
        store = await start();
        return store;
      },
      async crash() {
        // The snapshot has what is committed now, whatever the process does next.
        const frozen = onlooker.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
        database = await createDatabase(server());
        await frozen;
        const target = await connectUntilEnd(server().urlOf(database));
        await copyRows(onlooker, target);
        onlooker = target;
        store = await start();
        return store;
      },
      async write(sql) {
        await onlooker.query(sql);
      },
    };
  };

export async function createDatabase(server: TestServer): Promise<string> {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  let template = templates.get(server);
  if (template === undefined) templates.set(server, (template = makeTemplate(server)));
  await server.ask(`CREATE DATABASE ${name} TEMPLATE ${await template} STRATEGY file_copy`);
  onTestFinished(() => server.ask(`DROP DATABASE ${name} WITH (FORCE)`));
  return name;
}

const templates = new WeakMap<TestServer, Promise<string>>();

/** Creates a database with only the schema, which tests copy instead of creating it again. */
async function makeTemplate(server: TestServer): Promise<string> {
  const name = `template_${randomUUID().replaceAll("-", "")}`;
  await server.ask(`CREATE DATABASE ${name}`);
  await withClient(server.urlOf(name), async (client) => {
    await client.query(META);
    await migrate(queriesOn(client));
  });
  return name;
}

/** The store is closed when the test ends, unless the test has closed it. */
export async function openPostgresDatabase(
  url: string,
  {
    dir,
    clock,
    maxPendingPerTenant = 0,
    shares = new Map(),
    leaseMs,
    steps = STEPS,
    alone = false,
    ...hooks
  }: StoreLimits &
    NodeHooks & { dir: string; clock: Clock; leaseMs?: number; steps?: readonly Step[]; alone?: boolean },
): Promise<Store> {
  const file = join(dir, "secret.key");
  const store = await openPostgresStore({
    url,
    box: new Box(readOrMakeSecretKey({ file, mayCreate: true, random: randomBytes }), randomBytes),
    secretKeyFile: file,
    clock,
    random: randomBytes,
    maxPendingPerTenant,
    shares,
    ...(leaseMs !== undefined && { node: nodeOf(alone ? SoleOwner : SharedOwnership, leaseMs, steps, hooks) }),
    adminKey: () => readOrMakeAdminKey(join(dir, "admin.key"), clock.now(), randomBytes),
  });
  onTestFinished(() => store.close());
  return store;
}

interface NodeHooks {
  /** Gets the store's database before its first query. */
  readonly onDatabase?: (database: PostgresDatabase) => void;
  readonly onLost?: (error: Error) => void;
}

function nodeOf(
  Owner: typeof SoleOwner | typeof SharedOwnership,
  leaseMs: number,
  steps: readonly Step[],
  { onDatabase = () => {}, onLost = () => {} }: NodeHooks,
) {
  const owner = new Owner(leaseMs, { host: "host", version: "1.2.3", steps }, onLost);
  const wait = { isStandby: false, onWait: () => {}, onLong: () => {} };
  return {
    owner,
    take: async (database: PostgresDatabase) => {
      onDatabase(database);
      return (await owner.take(database, wait)).number;
    },
  };
}

async function connectUntilEnd(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

async function copyRows(source: Client, target: Client): Promise<void> {
  await target.query("DELETE FROM meta; DELETE FROM slot; DELETE FROM stream");
  const { rows } = await source.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  for (const { tablename: table } of rows) {
    const all = await source.query(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} t`);
    const sql = `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`;
    await target.query(sql, [all.rows[0].rows]);
  }
}

export function temporaryDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-store-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The store is closed when the test ends, unless the test has closed it. */
export async function open(options: Partial<OpenOptions> & { dir: string }): Promise<Store> {
  const { store } = await openStore(optionsOf(options));
  onTestFinished(() => store.close());
  return store;
}

export function optionsOf(options: Partial<OpenOptions> & { dir: string }): OpenOptions {
  return {
    create: true,
    diskFloor: 0,
    clock: new ManualClock(),
    startBackup: (data) => startThread("backup", data),
    onFault: (error) => {
      throw error;
    },
    ...options,
  };
}
