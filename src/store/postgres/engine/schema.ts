/**
 * The schema on PostgreSQL, as numbered steps that only go forward, and only add: nodes of the version before go on beside
 * those of the next, until they are replaced. What is no longer read goes in a later step. It keeps to what PostgreSQL and those who speak its
 * protocol have in common: no sequences, triggers, foreign keys or JSON columns, and statements over one table.
 *
 * Numbers stand for words as in the SQLite store, so that an id is the same in both. An event's key holds the instant,
 * the node and a counter; a delivery's `status` is 0 fresh, 1 waiting, 2 delivered, 3 failed, 4 cancelled. `slot` says
 * which node an endpoint lives on. Instants are epoch milliseconds.
 */
import type { Queries } from "./database.ts";
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

const FAILING = `
  -- Endpoints that people were told of: they are failing. So no node tells that again, and whichever has them knows.
  CREATE TABLE alert_failing (endpoint text PRIMARY KEY, slot smallint NOT NULL, since bigint NOT NULL);
`;

/** For lists: what waits, has failed or was cancelled; what attempts failed of. A plain success has an entry in none. */
const LISTS: readonly Index[] = [
  { index: "delivery_state", on: "delivery (endpoint, status, event) WHERE status IN (1, 3, 4)" },
  {
    index: "attempt_result",
    on: "attempt (endpoint, error, (coalesce(status_code, 0)), event, number) WHERE outcome <> 0",
  },
  { index: "event_tenant_unmatched", on: "event (tenant, key) WHERE unmatched = 1" },
  { index: "event_tenant_test", on: "event (tenant, key) WHERE test = 1" },
];

/** Statements that are short on any store: nodes wait for them. */
export type Step = string | Index | Fill;

/** Made while others write to its table, of which `on` is the rest: `delivery (endpoint) WHERE status = 1`. */
export interface Index {
  readonly index: string;
  readonly on: string;
}

/**
 * Changes rows that are there: those of `table` with a `key` above $1, up to $2. Nodes of the version before go on adding
 * rows; a default that the column has says what is in those.
 */
export interface Fill {
  readonly fill: string;
  readonly table: string;
  readonly key: string;
}

/**
 * The step at place n takes a store from schema n to n + 1. A step that was released is never edited. What takes longer the
 * more there is in a table is an `Index` or a `Fill`.
 */
export const STEPS: readonly Step[] = [
  FIRST_SCHEMA,
  PORTAL,
  LABELS,
  DELETED,
  NODES,
  LAST_COMMIT,
  NODE_LIST,
  STREAM,
  ALERTS,
  FAILING,
  ...LISTS,
];
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
