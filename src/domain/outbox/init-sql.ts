/** The SQL that makes an outbox, which the owner of the application's database runs. */
import { quoted } from "./outbox.ts";

/** The channel on which PostgreSQL says that rows were added, whatever the table is called. */
export const CHANNEL = "webhookd_outbox";

export interface InitOptions {
  readonly table: string;
  /** The column for the tenant; null if all rows are of one tenant. */
  readonly tenantColumn: string | null;
  /** The role that webhookd logs in with. */
  readonly role: string;
}

export function postgresSql({ table, tenantColumn, role }: InitOptions): string {
  const name = quoted(table);
  const [bare, schema] = table.split(".").toReversed() as [string, string?];
  const tenant = tenantColumn === null ? "" : `  ${quoted(tenantColumn)} text NOT NULL,\n`;
  const user = quoted(role);
  const usage = schema === undefined ? "" : `GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${user};\n`;
  return `-- The outbox. Your application inserts a row in the transaction of its own change. webhookd publishes the row as an
-- event after the commit, and deletes it.
CREATE TABLE ${name} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text NOT NULL,
  -- json, not jsonb: receivers get the text as it was inserted.
  data json NOT NULL,
${tenant}  created_at timestamptz NOT NULL DEFAULT now(),
  publisher_id text,
  tags text[],
  ordering_key text,
  -- webhookd writes here why a row cannot be an event.
  problem text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX ${index(bare, "waiting")} ON ${name} (id) WHERE problem IS NULL;
CREATE INDEX ${index(bare, "set_aside")} ON ${name} (id) WHERE problem IS NOT NULL;

-- Wakes webhookd at each commit. Without the trigger, it looks once a second.
CREATE FUNCTION ${quoted(schema === undefined ? notifier(bare) : `${schema}.${notifier(bare)}`)}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('${CHANNEL}', '');
  RETURN NULL;
END $$;
CREATE TRIGGER ${quoted(notifier(bare))} AFTER INSERT ON ${name}
  FOR EACH STATEMENT EXECUTE FUNCTION ${quoted(schema === undefined ? notifier(bare) : `${schema}.${notifier(bare)}`)}();

-- All that webhookd needs. First make its role: CREATE ROLE ${user} LOGIN PASSWORD '...';
${usage}GRANT SELECT, DELETE, UPDATE (problem) ON ${name} TO ${user};
`;
}

export function sqliteSql({ table, tenantColumn }: Pick<InitOptions, "table" | "tenantColumn">): string {
  const name = quoted(table);
  const bare = table.split(".").at(-1)!;
  const tenant = tenantColumn === null ? "" : `  ${quoted(tenantColumn)} TEXT NOT NULL,\n`;
  return `-- The outbox. Your application inserts a row in the transaction of its own change. webhookd publishes the row as an
-- event after the commit, and deletes it.
PRAGMA journal_mode = WAL;
CREATE TABLE ${name} (
  -- AUTOINCREMENT, so that no id is used twice.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  data TEXT NOT NULL CHECK (json_valid(data)),
${tenant}  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  publisher_id TEXT,
  -- A JSON array.
  tags TEXT,
  ordering_key TEXT,
  -- webhookd writes here why a row cannot be an event.
  problem TEXT
);
CREATE INDEX ${index(bare, "waiting")} ON ${name} (id) WHERE problem IS NULL;
CREATE INDEX ${index(bare, "set_aside")} ON ${name} (id) WHERE problem IS NOT NULL;
`;
}

/** PostgreSQL cuts longer names, and two cut ones would be the same. */
function index(table: string, what: string): string {
  return quoted(`${table.slice(0, 50)}_${what}`);
}

function notifier(table: string): string {
  return `${table.slice(0, 50)}_notify`;
}
