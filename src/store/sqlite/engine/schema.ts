/**
 * The schema, as numbered steps that only go forward. A step that was released is never edited, and each expands first:
 * it adds what the new version needs and takes nothing that the version before it reads; what is no longer read goes in
 * a later step. (An index that each event pays for may go at once: the version before refuses the newer schema anyway.)
 *
 * Keys are integers: a public id holds them and says so to nobody (`codes.ts`). A delivery's `status` is 0 fresh,
 * 1 waiting (both shown as pending), 2 delivered, 3 failed, 4 cancelled. A partial index holds what waits and nothing
 * else, so its size follows the backlog and not the history; what is fresh lies above a mark.
 */

import { FIRST_SCHEMA } from "./first-schema.ts";

/** "whkd": what tells our file from any other SQLite database. */
export const APPLICATION_ID = 0x77686b64;

export interface Migration {
  /** What it is for, in a few words. */
  readonly name: string;
  readonly sql: string;
}

/** Counts all that have failed, in an empty table. */
export const COUNT_FAILURES = `
  INSERT INTO failure_count (endpoint, cause, minutes, event, failed, count, first_at)
    SELECT endpoint, cause, 1, event / 122880000 AS came, failed_at / 60000 AS ended, count(*),
      min(coalesce(failing_since, failed_at))
    FROM delivery INDEXED BY delivery_failing
    WHERE failed_at IS NOT NULL AND cause / 1000000 IN (1, 3) GROUP BY endpoint, cause, came, ended;
  INSERT INTO failure_count (endpoint, cause, minutes, event, failed, count, first_at)
    SELECT endpoint, cause, 60, event / 60 AS came, failed / 60 AS ended, sum(count), min(first_at)
    FROM failure_count WHERE minutes = 1 GROUP BY endpoint, cause, came, ended;
`;

/** In a trigger: a delivery leaves its counts. */
const UNCOUNT = ([1, 60] as const).map((minutes) => {
  const at = `endpoint = old.endpoint AND cause = old.cause AND minutes = ${minutes}
      AND event = old.event / ${minutes * 122_880_000} AND failed = old.failed_at / ${minutes * 60_000}`;
  return `UPDATE failure_count SET count = count - 1, first_gone = iif(first_at = old.failing_since, 1, first_gone)
      WHERE ${at};
    DELETE FROM failure_count WHERE ${at} AND count <= 0;`;
});

/** The step at place n takes a store from schema n to n + 1. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: "the first schema",
    sql: FIRST_SCHEMA,
  },
  {
    name: "the details of a success",
    sql: `
  -- Packed; NULL where details say it, and in rows of before.
  ALTER TABLE attempt ADD COLUMN way BLOB;
  `,
  },
  {
    name: "attempts by time",
    sql: `
  -- Attempts that began later than a second after their event, from this version on.
  CREATE TABLE late_attempt (
    endpoint INTEGER NOT NULL,
    failed INTEGER NOT NULL CHECK (failed IN (0, 1)),
    started_at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (endpoint, failed, started_at, event, number)
  ) STRICT, WITHOUT ROWID;
  `,
  },
  {
    name: "callers over the socket",
    sql: `
  ALTER TABLE audit ADD COLUMN uid INTEGER;
  ALTER TABLE audit ADD COLUMN user TEXT;
  `,
  },
  {
    name: "less to write for a success",
    sql: `
  -- As ALTER TABLE would write it, which looks at all rows of such a table for each column: seconds for a million.
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, 'due_at INTEGER,', 'due_at INTEGER,
    -- Of the first attempt, where it began within a second of its event and was a plain success: then it has no row in
    -- attempt. It moves there when another attempt is made.
    url INTEGER,
    started_at INTEGER,
    duration_ms INTEGER,
    status_code INTEGER,
    secret_version INTEGER,
    truncated INTEGER,
    body BLOB,
    way BLOB,') WHERE type = 'table' AND name = 'delivery';
  PRAGMA writable_schema = RESET;
  -- Fails where that was not done.
  SELECT url, way FROM delivery LIMIT 0;

  -- No delivery of an event below it is fresh.
  INSERT INTO meta (name, value) VALUES ('fresh_from', coalesce(
    (SELECT min(event) FROM delivery INDEXED BY delivery_fresh WHERE status = 0), (SELECT max(key) FROM event), 0));
  DROP INDEX delivery_fresh;
  -- Deliveries of before have nothing that the walk over first attempts would forget.
  INSERT INTO meta (name, value)
    SELECT 'first_responses_forgotten', (max(key) - 10 * 2048000) || ',0' FROM event WHERE TRUE HAVING count(*) > 0;
  `,
  },
  {
    name: "settled deliveries above the mark",
    sql: `
  -- Deliveries above the mark that were delivered at once or cancelled, which else their own row alone would say: once a
  -- page of those is lost, they would be taken for owed. A row is what one commit settled, under the last of it:
  -- event and endpoint by turns, as 64-bit floats. It goes when the mark has passed.
  CREATE TABLE settled (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    deliveries BLOB NOT NULL,
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;
  `,
  },
  {
    name: "indexes for lists",
    sql: `
  -- CREATE INDEX reads all rows, and none of before belongs in these: they are made empty, on tables that go again.
  CREATE TABLE event_twin (key INTEGER PRIMARY KEY, tenant INTEGER, type INTEGER, test INTEGER, unmatched INTEGER);
  CREATE INDEX event_tenant_type ON event_twin (tenant, type) WHERE key > 0;
  CREATE INDEX event_tenant_unmatched ON event_twin (tenant) WHERE unmatched = 1 AND key > 0;
  CREATE INDEX event_tenant_test ON event_twin (tenant) WHERE test = 1 AND key > 0;
  CREATE TABLE delivery_twin (
    event INTEGER, endpoint INTEGER, cause INTEGER, failed_at INTEGER, failing_since INTEGER,
    PRIMARY KEY (event, endpoint)
  ) WITHOUT ROWID;
  CREATE INDEX delivery_cause ON delivery_twin (endpoint, cause, event, failed_at, failing_since)
    WHERE cause IS NOT NULL;

  -- Events above it are indexed by tenant and type, those of before by tenant.
  INSERT INTO meta (name, value) SELECT 'typed_from', coalesce(max(key), 0) FROM event;
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, 'way BLOB,', 'way BLOB,
    -- Of one that failed, was cancelled, or whose last attempt failed (causes.ts); NULL of all others.
    cause INTEGER,
    -- When that attempt began, and the first of its round that failed so.
    failed_at INTEGER,
    failing_since INTEGER,') WHERE type = 'table' AND name = 'delivery';
  UPDATE sqlite_schema SET sql = sql || ' WHERE key <= ' || (SELECT value FROM meta WHERE name = 'typed_from')
    WHERE name = 'event_tenant';
  UPDATE sqlite_schema SET tbl_name = replace(tbl_name, '_twin', ''), sql = replace(
      replace(sql, '_twin', ''), 'key > 0', 'key > ' || (SELECT value FROM meta WHERE name = 'typed_from'))
    WHERE type = 'index' AND tbl_name IN ('event_twin', 'delivery_twin') AND sql IS NOT NULL;
  PRAGMA writable_schema = RESET;
  -- Fails where that was not done.
  SELECT cause, failing_since FROM delivery INDEXED BY delivery_cause WHERE cause IS NOT NULL LIMIT 0;
  DROP TABLE event_twin;
  DROP TABLE delivery_twin;
  -- Deliveries of before get their causes while the daemon runs: those of events from this one on have them.
  INSERT INTO meta (name, value) SELECT 'causes_noted', value + 1 FROM meta WHERE name = 'typed_from' AND value > 0;
  `,
  },
  {
    name: "keys of portal links",
    sql: `
  -- JSON; NULL of any other key.
  ALTER TABLE api_key ADD COLUMN portal TEXT;
  CREATE INDEX api_key_portal ON api_key (expires_at) WHERE portal IS NOT NULL;
  `,
  },
  {
    name: "the publisher's id and tags",
    sql: `
  -- Kind 0 is the publisher's id of the event, 1 a tag.
  CREATE TABLE event_label (
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    label TEXT NOT NULL,
    tenant INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (kind, label, tenant, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX event_label_event ON event_label (event);
  `,
  },
  {
    name: "what is left of deleted endpoints",
    sql: `
  CREATE INDEX endpoint_deleted ON endpoint (number) WHERE deleted_at IS NOT NULL;
  CREATE INDEX job_endpoint_endpoint ON job_endpoint (endpoint);
  -- The key of the last event when the last endpoint left it; NULL while one has it.
  ALTER TABLE url ADD COLUMN left_at INTEGER;
  UPDATE url SET left_at = (SELECT coalesce(max(key), 0) FROM event)
    WHERE name NOT IN (SELECT url FROM endpoint WHERE deleted_at IS NULL);
  CREATE INDEX url_left ON url (left_at) WHERE left_at IS NOT NULL;
  `,
  },
  {
    name: "failures in the order of their attempts",
    sql: `
  -- What failed a second time the same way moves in one of the two, as before in the one.
  DROP INDEX delivery_cause;
  CREATE INDEX delivery_cause ON delivery (endpoint, cause, event) WHERE cause IS NOT NULL;
  CREATE INDEX delivery_failing ON delivery (endpoint, cause, failed_at, event, failing_since)
    WHERE failed_at IS NOT NULL;
  `,
  },
  {
    name: "failures are counted",
    sql: `
  -- How many deliveries of events of an hour (minutes = 60), or of a minute (1), last failed of that cause in another:
  -- both in units of \`minutes\` since 1970. Only of what waits or has failed, and no tests.
  CREATE TABLE failure_count (
    endpoint INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    minutes INTEGER NOT NULL CHECK (minutes IN (1, 60)),
    event INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    count INTEGER NOT NULL,
    -- None of them has an earlier failing_since, and one has this, unless that one has gone.
    first_at INTEGER NOT NULL,
    first_gone INTEGER NOT NULL DEFAULT 0 CHECK (first_gone IN (0, 1)),
    PRIMARY KEY (minutes, endpoint, cause, event, failed)
  ) STRICT, WITHOUT ROWID;
${COUNT_FAILURES}
  -- Whatever changes a delivery, its counts follow. No delivery has failed when it is inserted, and whoever removes one that
  -- has failed uncounts it first (causes.ts): a trigger would cost each that is pruned more than half of its removal. A
  -- plain success names none of these columns.
  CREATE TRIGGER failure_counted AFTER UPDATE OF cause, failed_at, failing_since ON delivery
    WHEN new.failed_at IS NOT NULL AND new.cause / 1000000 IN (1, 3)
      AND (new.cause, new.failed_at, new.failing_since) IS NOT (old.cause, old.failed_at, old.failing_since)
  BEGIN
    INSERT INTO failure_count (endpoint, cause, minutes, event, failed, count, first_at) VALUES
      (new.endpoint, new.cause, 1, new.event / 122880000, new.failed_at / 60000, 1,
        coalesce(new.failing_since, new.failed_at)),
      (new.endpoint, new.cause, 60, new.event / 7372800000, new.failed_at / 3600000, 1,
        coalesce(new.failing_since, new.failed_at))
    ON CONFLICT DO UPDATE SET count = count + 1, first_at = min(first_at, excluded.first_at),
      first_gone = iif(excluded.first_at <= first_at, 0, first_gone);
  END;
  CREATE TRIGGER failure_changed AFTER UPDATE OF cause, failed_at, failing_since ON delivery
    WHEN old.failed_at IS NOT NULL AND old.cause / 1000000 IN (1, 3)
      AND (new.cause, new.failed_at, new.failing_since) IS NOT (old.cause, old.failed_at, old.failing_since)
  BEGIN
    ${UNCOUNT.join("\n    ")}
  END;
  `,
  },
  {
    name: "large batches in parts",
    sql: `
  -- What the events of a large batch say, written before them.
  CREATE TABLE large_data (num INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  -- Rows \`first\` to \`last\` of large_data: no event refers to them yet.
  CREATE TABLE large_batch (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT;
  PRAGMA writable_schema = ON;
  UPDATE sqlite_schema SET sql = replace(sql, 'body BLOB', 'body BLOB,
    -- Where the data is in large_data: then body ends before it, and body_hash is of body and the hash of the data.
    large INTEGER') WHERE type = 'table' AND name = 'event';
  PRAGMA writable_schema = RESET;
  -- Fails where that was not done.
  SELECT large FROM event LIMIT 0;
  `,
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;
