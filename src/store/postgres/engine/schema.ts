/**
 * The schema on PostgreSQL, as numbered steps that only go forward, and only add: nodes of the version before go on beside
 * those of the next, until they are replaced. What is no longer read goes in a later step. It keeps to what PostgreSQL and those who speak its
 * protocol have in common: no sequences, triggers, foreign keys or JSON columns, and statements over one table.
 *
 * Numbers stand for words as in the SQLite store, so that an id is the same in both. An event's key holds the instant,
 * the node and a counter; a delivery's `status` is 0 fresh, 1 waiting, 2 delivered, 3 failed, 4 cancelled. `slot` says
 * which node an endpoint lives on. Instants are epoch milliseconds.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StoreRefused } from "../../files/refused.ts";
import { Outrun, type Database, type Queries } from "./database.ts";
import { FIRST_SCHEMA } from "./first-schema.ts";

const PORTAL = `
  ALTER TABLE api_key ADD COLUMN portal text;
  ALTER TABLE api_key ADD COLUMN made_by text;
  CREATE INDEX api_key_portal ON api_key (expires_at) WHERE portal IS NOT NULL;
`;

const LABELS = `
  -- Kind 0 is the publisher's id of the event, 1 a tag.
  CREATE TABLE event_label (
    kind smallint NOT NULL CHECK (kind IN (0, 1)),
    label text NOT NULL,
    tenant text NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (kind, label, tenant, event)
  );
  CREATE INDEX event_label_event ON event_label (event);
`;

const DELETED = `
  CREATE INDEX endpoint_deleted ON endpoint (number) WHERE deleted_at IS NOT NULL;
  CREATE INDEX job_endpoint_endpoint ON job_endpoint (endpoint);
`;

const NODES = `
  ALTER TABLE node ADD COLUMN alone boolean NOT NULL DEFAULT true; -- suffers no other beside it
  -- What the node of an endpoint must hear of that another one has committed. It is gone once that node has heard it.
  CREATE TABLE notice (
    number bigint PRIMARY KEY, slot smallint NOT NULL, kind smallint NOT NULL, endpoint text NOT NULL,
    delivery text, due_at bigint);
  DROP INDEX IF EXISTS delivery_arrived;
`;

const LAST_COMMIT = `
  -- The last transaction of each process: where it is, that was committed.
  CREATE TABLE last_commit (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
`;

const NODE_LIST = `
  ALTER TABLE node ADD COLUMN name text;
  ALTER TABLE node ADD COLUMN host text;
  ALTER TABLE node ADD COLUMN pid integer;
  ALTER TABLE node ADD COLUMN version text;
  ALTER TABLE node ADD COLUMN since timestamptz NOT NULL DEFAULT now();
  ALTER TABLE node ADD COLUMN draining boolean NOT NULL DEFAULT false; -- to have no slots, as long as another one can
  ALTER TABLE node ADD COLUMN report text; -- how it stood at its last renewal, as JSON
`;

const STREAM = `
  -- What happens on all nodes, batch after batch: no number is left out, and the one row of stream has the last.
  CREATE TABLE stream (life text PRIMARY KEY, number bigint NOT NULL);
  INSERT INTO stream (life, number) SELECT to_hex(extract(epoch FROM now())::bigint), 0;
  CREATE TABLE stream_batch (number bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), text text);
  ALTER TABLE node ADD COLUMN listens boolean NOT NULL DEFAULT false; -- to the stream
  ALTER TABLE node ADD COLUMN tells boolean NOT NULL DEFAULT false; -- what happens on it, because some node listens
`;

const ALERTS = `
  -- What nodes have to tell people, until the one that does it for all takes it.
  CREATE TABLE alert (number bigint PRIMARY KEY, notice text NOT NULL);
`;

/** The step at place n takes a store from schema n to n + 1. A step that was released is never edited. */
const STEPS: readonly string[] = [FIRST_SCHEMA, PORTAL, LABELS, DELETED, NODES, LAST_COMMIT, NODE_LIST, STREAM, ALERTS];
export const SCHEMA_VERSION = STEPS.length;

/** Before everything else: the row that nodes compare when they start together. */
export const META = "CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)";

/** Which schema there is, 0 in an empty database, and which is needed; `isNew` until the first start has made its keys. */
export async function versionOf(queries: Queries) {
  const [meta] = await queries.rows<{ there: boolean }>("SELECT to_regclass('meta') IS NOT NULL AS there");
  if (!meta!.there) return { found: 0, wanted: SCHEMA_VERSION, isNew: true };
  const rows = await queries.rows<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name IN ('schema', 'key_id')",
  );
  const valueOf = (wanted: string) => rows.find(({ name }) => name === wanted)?.value;
  return { found: Number(valueOf("schema") ?? 0), wanted: SCHEMA_VERSION, isNew: valueOf("key_id") === undefined };
}

/** While a step waits for a table, all others wait behind it: shorter than the server waits before it looks for deadlocks. */
const LOCK_MS = 500;
const PATIENCE_MS = 60_000;

/** Nodes of the version before go on meanwhile: where they hold on to a table, all is undone and tried again. */
export async function migrateBesideOthers(database: Database): Promise<void> {
  for (const enough = AbortSignal.timeout(PATIENCE_MS); ;) {
    try {
      return await database.transaction(migrate);
    } catch (error) {
      if (!(error instanceof Outrun)) throw error;
      if (enough.aborted) throw new StoreRefused(75, HELD, "end what reads them for so long, such as a pg_dump");
    }
    await sleep(LOCK_MS);
  }
}

const HELD = "the schema cannot be migrated as long as somebody holds on to the tables in PostgreSQL";

/** Inside a transaction: one node migrates, the others wait for its commit. */
export async function migrate(tx: Queries): Promise<void> {
  await tx.change("INSERT INTO meta (name, value) VALUES ('schema', '0') ON CONFLICT DO NOTHING");
  const [row] = await tx.rows<{ value: string }>("SELECT value FROM meta WHERE name = 'schema' FOR UPDATE");
  const version = Number(row!.value);
  if (version >= SCHEMA_VERSION) return;
  await tx.script(`SET LOCAL lock_timeout = ${LOCK_MS}`);
  // Every transaction of a node begins with these, so that it has ended or has not begun, and no step meets one that has
  // locked what comes later and waits for what came before.
  const first = await tx.rows<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename IN ('last_commit', 'node')
     ORDER BY tablename`,
  );
  for (const { name } of first) await tx.script(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`);
  for (const step of STEPS.slice(version)) await tx.script(step);
  await tx.change("UPDATE meta SET value = $1 WHERE name = 'schema'", [String(SCHEMA_VERSION)]);
}
