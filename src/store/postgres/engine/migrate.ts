/**
 * Migrates a store to the newest schema while nodes of the previous version keep running. They wait for the short
 * steps, which are one transaction. Steps that take long on a large store run beside them, and continue after an
 * interruption. The schema's version changes when all is done. Until then a process of the previous version may start.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { StoreRefused } from "../../files/refused.ts";
import { commit } from "./commit.ts";
import { connectAlone } from "./copy.ts";
import { Outrun, queriesOn, type Database, type Queries } from "./database.ts";
import { getMeta, setMeta } from "./engine.ts";
import { STEPS, type Fill, type Index, type Step } from "./schema.ts";

/**
 * While a step waits for a table, all others wait behind it. This is shorter than the time after which the server looks
 * for deadlocks.
 */
const LOCK_MS = 500;
const PATIENCE_MS = 60_000;
const SOME = 1000;
/** The name of the fact that holds how many steps are done, while that is more than the schema's version. */
const STEPS_DONE = "steps";
/** The process that holds this lock does the long steps. */
const LOCK = "hashtext('webhookd schema')";
const LOOK_MS = 250;
const DEADLOCK = "40P01";

interface Done {
  readonly steps: number;
  /** The key up to which the next long step has changed its rows. */
  readonly after: number | string | null;
}

export interface Migrating {
  /** Returns true if another process has the store for itself. Then nothing is done. */
  readonly isHeld: (tx: Queries) => Promise<boolean>;
  /** Called when a step begins that may take long. */
  readonly onLong: (what: string) => void;
  readonly steps?: readonly Step[];
}

export async function migrateBesideOthers(database: Database, migrating: Migrating): Promise<void> {
  const { isHeld, onLong, steps = STEPS } = migrating;
  for (;;) {
    const long = await inPatience(database, (tx) => doShort(tx, steps, isHeld));
    if (long === null) return;
    await doLong(database, steps, long, onLong);
  }
}

/** Runs all steps at once, while no other process is there. */
export async function migrate(tx: Queries, steps: readonly Step[] = STEPS): Promise<void> {
  const done = await doneIn(tx);
  for (const step of steps.slice(done.steps)) {
    if (typeof step === "string") await tx.script(step);
    else if ("index" in step) await tx.script(`CREATE INDEX IF NOT EXISTS ${step.index} ON ${step.on}`);
    else for (let after: Done["after"] = null; ;) if ((after = await fillSome(tx, step, after)) === null) break;
  }
  await setDone(tx, steps, { steps: Math.max(done.steps, steps.length), after: null });
}

/** Rolls back and retries while somebody holds locks on a table. */
async function inPatience<T>(database: Database, work: (tx: Queries) => Promise<T>): Promise<T> {
  for (const enough = AbortSignal.timeout(PATIENCE_MS); ;) {
    try {
      return await database.transaction(work);
    } catch (error) {
      if (!(error instanceof Outrun)) throw error;
      if (enough.aborted) throw new StoreRefused(75, HELD, "stop what is holding them, such as a long pg_dump");
    }
    await sleep(LOCK_MS);
  }
}

const HELD = "the schema cannot be migrated: something is holding locks on its tables in PostgreSQL";

/**
 * Call it inside a transaction: one node migrates, and the others wait for its commit. Returns the next step if it
 * takes long, otherwise null.
 */
async function doShort(tx: Queries, steps: readonly Step[], isHeld: Migrating["isHeld"]): Promise<number | null> {
  await tx.change("INSERT INTO meta (name, value) VALUES ('schema', '0') ON CONFLICT DO NOTHING");
  const [row] = await tx.rows<{ value: string }>("SELECT value FROM meta WHERE name = 'schema' FOR UPDATE");
  const version = Number(row!.value);
  if (version >= steps.length) return null;
  if (version === 0) {
    await migrate(tx, steps);
    return null;
  }
  const done = await doneIn(tx);
  const long = steps.findIndex((step, at) => at >= done.steps && typeof step !== "string");
  const end = long === -1 ? steps.length : long;
  const short = steps.slice(done.steps, end) as string[];
  await tx.script(`SET LOCAL lock_timeout = ${LOCK_MS}`);
  // Every transaction of a node begins with these tables, so each has ended or has not begun. A step never runs into
  // one that has locked a later table and waits for an earlier one.
  const first = await tx.rows<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename IN ('last_commit', 'node')
     ORDER BY tablename`,
  );
  if (short.length > 0) for (const { name } of first) await tx.script(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
  if (await isHeld(tx)) return null;
  for (const step of short) await tx.script(step);
  if (end > done.steps || long === -1) await setDone(tx, steps, { steps: Math.max(end, done.steps), after: null });
  return long === -1 ? null : long;
}

/** Runs a long step over a connection without time limits. One process does it, and the others wait. */
async function doLong(database: Database, steps: readonly Step[], at: number, onLong: Migrating["onLong"]) {
  const client = await connectAlone(database.url);
  const queries = queriesOn(client);
  const isMine = `SELECT pg_try_advisory_lock(${LOCK}) AS "isMine"`;
  try {
    while (!(await queries.rows<{ isMine: boolean }>(isMine))[0]!.isMine) await sleep(LOOK_MS);
    const done = await doneIn(queries);
    if (done.steps !== at) return;
    const step = steps[at] as Index | Fill;
    onLong("index" in step ? `the index ${step.index} is made` : `rows of ${step.table} are changed`);
    if ("index" in step) {
      await makeIndex(queries, step);
      await inTransaction(client, () => setDone(queries, steps, { steps: at + 1, after: null }));
      return;
    }
    for (let { after } = done; ;) {
      const next = await inTransaction(client, async () => {
        const to = await fillSome(queries, step, after);
        await setDone(queries, steps, to === null ? { steps: at + 1, after: null } : { steps: at, after: to });
        return to;
      });
      if (next === null) return;
      after = next;
    }
  } finally {
    // Releases the lock for the processes that are waiting.
    await client.end().catch(() => {});
  }
}

/** Replaces an index whose creation was cut short, because it exists but is useless. */
async function makeIndex(queries: Queries, { index, on }: Index): Promise<void> {
  const sql = "SELECT indisvalid AS is FROM pg_index WHERE indexrelid = to_regclass($1)";
  const [there] = await queries.rows<{ is: boolean }>(sql, [index]);
  if (there?.is === true) return;
  if (there !== undefined) await queries.script(`DROP INDEX CONCURRENTLY ${index}`);
  await queries.script(`CREATE INDEX CONCURRENTLY ${index} ON ${on}`);
}

/** Returns the key up to which rows were changed, or null at the end. */
async function fillSome(queries: Queries, { fill, table, key }: Fill, after: Done["after"]): Promise<Done["after"]> {
  const [page] = await queries.rows<{ to: number | string | null }>(
    `SELECT max(${key}) AS to FROM (
       SELECT ${key} FROM ${table} ${after === null ? "" : `WHERE ${key} > $1`} ORDER BY ${key} LIMIT ${SOME}) page`,
    after === null ? [] : [after],
  );
  const { to } = page!;
  if (to !== null) await queries.change(fill, [after ?? LEAST[typeof to as keyof typeof LEAST], to]);
  return to;
}

const LEAST = { number: -1, string: "" } as const;

async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  for (;;) {
    await client.query("BEGIN");
    try {
      const result = await work();
      await commit(client);
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {});
      // A node has changed the same rows in the opposite order.
      if ((error as { code?: unknown }).code !== DEADLOCK) throw error;
    }
  }
}

async function doneIn(queries: Queries): Promise<Done> {
  const schema = Number((await getMeta(queries, "schema")) ?? 0);
  const text = await getMeta(queries, STEPS_DONE);
  const done = text === null ? null : (JSON.parse(text) as Done);
  return done === null || done.steps < schema ? { steps: schema, after: null } : done;
}

async function setDone(tx: Queries, { length }: readonly Step[], done: Done): Promise<void> {
  if (done.steps >= length) await setMeta(tx, "schema", String(length));
  if (done.steps === length) await tx.change("DELETE FROM meta WHERE name = $1", [STEPS_DONE]);
  else await setMeta(tx, STEPS_DONE, JSON.stringify(done));
}
