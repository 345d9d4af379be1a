/**
 * The schema on PostgreSQL. Migrations are numbered steps that only go forward and only add: nodes of one version keep
 * running beside nodes of the next until they are replaced. A later step removes what is no longer read. The schema
 * keeps to what PostgreSQL and the databases that speak its protocol have in common: no sequences, triggers, foreign
 * keys or JSON columns, and statements over one table.
 *
 * Numbers stand for words as in the SQLite store, so that an id is the same in both. An event's key contains the
 * instant, the node and a counter. A delivery's `status` is 0 fresh, 1 waiting, 2 delivered, 3 failed, 4 cancelled,
 * 5 shadowed. An endpoint belongs to a `slot`, and so to a node. Instants are epoch milliseconds.
 */
import type { Queries } from "./database.ts";

const SCHEMA = `
  -- From this key on keys are ahead of the clock, which showed at: see key-times.ts. Kind 0 is of events, 1 of all else.
  CREATE TABLE key_time (
    kind smallint NOT NULL CHECK (kind IN (0, 1)),
    key bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (kind, key)
  );

  -- Names that were used. num is a key of the node that met the name first, so that it sorts by first use.
  CREATE TABLE tenant (name text PRIMARY KEY, num bigint NOT NULL UNIQUE);
  CREATE TABLE event_type (name text PRIMARY KEY);

  -- Nodes, and the slots of endpoints that each sends for. An owner is a node whose lease runs; a slot is taken by
  -- comparing its epoch.
  CREATE TABLE node (
    id uuid PRIMARY KEY,
    number smallint NOT NULL UNIQUE,
    lease_until timestamptz NOT NULL,
    alone boolean NOT NULL DEFAULT true, -- allows no other node beside it
    name text,
    host text,
    pid integer,
    version text,
    since timestamptz NOT NULL DEFAULT now(),
    draining boolean NOT NULL DEFAULT false, -- gives its slots to another node, if there is one
    report text, -- its state at its last renewal, as JSON
    listens boolean NOT NULL DEFAULT false, -- reads the stream
    tells boolean NOT NULL DEFAULT false -- writes to the stream, because some node reads it
  );
  CREATE TABLE slot (slot smallint PRIMARY KEY, owner uuid, epoch bigint NOT NULL);
  INSERT INTO slot (slot, owner, epoch) SELECT slot, NULL, 0 FROM generate_series(0, 1023) AS slot;
  -- Commits of one node that the node of an endpoint must learn of. A row is gone once that node has read it.
  CREATE TABLE notice (
    number bigint PRIMARY KEY,
    slot smallint NOT NULL,
    kind smallint NOT NULL,
    endpoint text NOT NULL,
    delivery text,
    due_at bigint
  );
  -- The last transaction of each process: its row is there if it was committed.
  CREATE TABLE last_commit (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());

  -- The stream of all nodes, batch after batch. No number is left out; the one row of stream has the last.
  CREATE TABLE stream (life text PRIMARY KEY, number bigint NOT NULL);
  INSERT INTO stream (life, number) SELECT to_hex(extract(epoch FROM now())::bigint), 0;
  CREATE TABLE stream_batch (number bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), text text);

  -- Alerts of all nodes, until the one that sends them takes them.
  CREATE TABLE alert (number bigint PRIMARY KEY, notice text NOT NULL);
  -- Endpoints that an alert has called failing: no node sends that again.
  CREATE TABLE alert_failing (endpoint text PRIMARY KEY, slot smallint NOT NULL, since bigint NOT NULL);

  CREATE TABLE endpoint (
    number integer PRIMARY KEY,
    slot smallint NOT NULL,
    id text NOT NULL UNIQUE,
    tenant text NOT NULL,
    uid text,
    url text NOT NULL,
    events text NOT NULL,
    -- NULL takes every event of those types.
    filter text,
    description text NOT NULL,
    enabled smallint NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason text,
    when_disabled text NOT NULL CHECK (when_disabled IN ('hold', 'skip', 'shadow')),
    ordering text NOT NULL CHECK (ordering IN ('none', 'by_key')),
    after_failure text NOT NULL CHECK (after_failure IN ('continue', 'hold')),
    format text NOT NULL CHECK (format IN ('envelope', 'cloudevents', 'cloudevents_binary', 'data')),
    trace_context smallint NOT NULL CHECK (trace_context IN (0, 1)),
    header_names text NOT NULL,
    headers text,
    -- Sealed like the headers. NULL if the endpoint asks for nothing more than a signature.
    auth text,
    -- When its client certificate expires.
    certificate_until bigint,
    ca text,
    secret text,
    secret_version integer NOT NULL DEFAULT 1,
    next_secret text,
    switches_at bigint,
    -- The signatures that it gets, as a JSON array.
    signatures text NOT NULL,
    rate_per_second double precision,
    max_in_flight integer,
    metadata text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    -- Open deliveries of events up to this key are cancelled, though their rows may not say so yet.
    cancel_to bigint,
    CHECK (deleted_at IS NOT NULL OR (secret IS NOT NULL AND headers IS NOT NULL)),
    CHECK ((next_secret IS NULL) = (switches_at IS NULL))
  );
  -- Lists of endpoints, and the endpoints of one tenant.
  CREATE INDEX endpoint_tenant ON endpoint (tenant, number);
  CREATE UNIQUE INDEX endpoint_uid ON endpoint (uid, tenant) WHERE uid IS NOT NULL AND deleted_at IS NULL;
  -- Each of these serves one task: cancelling, expiring held deliveries, rotating, watching certificates, removing deleted endpoints.
  CREATE INDEX endpoint_cancel ON endpoint (number) WHERE cancel_to IS NOT NULL;
  CREATE INDEX endpoint_disabled ON endpoint (updated_at) WHERE enabled = 0 AND deleted_at IS NULL;
  CREATE INDEX endpoint_switch ON endpoint (switches_at) WHERE switches_at IS NOT NULL;
  CREATE INDEX endpoint_certificate ON endpoint (certificate_until) WHERE certificate_until IS NOT NULL;
  CREATE INDEX endpoint_deleted ON endpoint (number) WHERE deleted_at IS NOT NULL;

  -- The private keys of tenants, sealed. An endpoint that chooses ed25519 makes the first one in the same transaction.
  CREATE TABLE signing_key (
    tenant text PRIMARY KEY,
    private_key text NOT NULL,
    -- These two are set only during a rotation.
    next_private_key text,
    switches_at bigint,
    -- Anyone may read the public keys.
    published smallint NOT NULL DEFAULT 0 CHECK (published IN (0, 1)),
    CHECK ((next_private_key IS NULL) = (switches_at IS NULL))
  );
  CREATE INDEX signing_key_switch ON signing_key (switches_at) WHERE switches_at IS NOT NULL;

  CREATE TABLE health (
    endpoint integer PRIMARY KEY,
    last_success_at bigint,
    last_failure_at bigint,
    consecutive_failures integer NOT NULL,
    failing_since bigint
  );

  CREATE TABLE subscription (
    tenant text NOT NULL, type text NOT NULL, endpoint integer NOT NULL, PRIMARY KEY (tenant, type, endpoint)
  );
  CREATE INDEX subscription_endpoint ON subscription (endpoint);

  -- What decided which events an endpoint received, from one change of it to the next. The changes of all endpoints are
  -- counted together (last_choice in meta), and an event has the last one that its publish saw.
  CREATE TABLE choice (
    endpoint integer NOT NULL,
    num bigint NOT NULL,
    -- The change that ended it; NULL while it lasts.
    until bigint,
    change text NOT NULL CHECK (change IN ('registered', 'changed', 'deleted')),
    at bigint NOT NULL,
    events text NOT NULL,
    filter text,
    enabled smallint NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason text,
    when_disabled text NOT NULL,
    PRIMARY KEY (endpoint, num)
  );
  -- Choices to remove, once no event is kept that they decided.
  CREATE INDEX choice_until ON choice (until) WHERE until IS NOT NULL;

  -- Event types that operators keep here, beside those of the configuration. A deleted one keeps its row for a day.
  CREATE TABLE type_definition (
    name text PRIMARY KEY,
    description text NOT NULL,
    type_group text,
    schema text NOT NULL,
    sample text NOT NULL,
    validation text CHECK (validation IN ('off', 'warn', 'enforce')),
    deprecated_at bigint,
    sunset_at bigint,
    archived smallint NOT NULL CHECK (archived IN (0, 1)),
    deleted_at bigint
  );

  CREATE TABLE event (
    key bigint PRIMARY KEY,
    random text NOT NULL,
    tenant text NOT NULL,
    type text NOT NULL,
    created_at bigint NOT NULL,
    test smallint NOT NULL,
    unmatched smallint NOT NULL,
    -- The last change of an endpoint that its publish saw: a number of choice.
    choice bigint NOT NULL DEFAULT 0,
    trace text,
    ordering_key text,
    body_hash bytea NOT NULL,
    -- NULL once the event was erased.
    body bytea,
    erased_at bigint
  );
  -- Lists of events: of a tenant, unmatched, tests.
  CREATE INDEX event_tenant ON event (tenant, key);
  CREATE INDEX event_unmatched ON event (key) WHERE unmatched = 1;
  CREATE INDEX event_tenant_unmatched ON event (tenant, key) WHERE unmatched = 1;
  CREATE INDEX event_tenant_test ON event (tenant, key) WHERE test = 1;

  -- Kind 0 is the publisher's id of the event, 1 a tag.
  CREATE TABLE event_label (
    kind smallint NOT NULL CHECK (kind IN (0, 1)),
    label text NOT NULL,
    tenant text NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (kind, label, tenant, event)
  );
  CREATE INDEX event_label_event ON event_label (event);

  CREATE TABLE delivery (
    event bigint NOT NULL,
    endpoint integer NOT NULL,
    slot smallint NOT NULL,
    status smallint NOT NULL CHECK (status BETWEEN 0 AND 5),
    attempts integer NOT NULL CHECK (attempts >= 0),
    round integer NOT NULL CHECK (round >= 1),
    retry integer NOT NULL CHECK (retry >= 0),
    trigger smallint NOT NULL CHECK (trigger BETWEEN 0 AND 3),
    due_at bigint,
    -- Set if it is delivered in order: the row of ordering_key, and its number there.
    ordering_key bigint,
    sequence bigint,
    PRIMARY KEY (event, endpoint),
    CHECK ((status <= 1) = (due_at IS NOT NULL)),
    CHECK (status <> 0 OR attempts = 0)
  );
  -- The next deliveries of each endpoint: fresh ones, and those that wait for their time.
  CREATE INDEX delivery_fresh ON delivery (event, endpoint) WHERE status = 0;
  -- Finds deliveries that are due later than their place on the ladder allows.
  CREATE INDEX delivery_retry ON delivery (retry, due_at) WHERE status = 1;
  CREATE INDEX delivery_waiting ON delivery (endpoint, due_at, event) WHERE status = 1;
  -- Lists and replays: failed ones, all of an endpoint, those of a status. A plain success has no entry in the last.
  CREATE INDEX delivery_failed ON delivery (event, endpoint) WHERE status = 3;
  CREATE INDEX delivery_endpoint ON delivery (endpoint, event);
  CREATE INDEX delivery_state ON delivery (endpoint, status, event) WHERE status IN (1, 3, 4, 5);

  -- The line of each ordering key: the first one is due, and the others wait behind it.
  CREATE INDEX delivery_line ON delivery (ordering_key, sequence, event) WHERE ordering_key IS NOT NULL AND status <= 1;

  -- The ordering keys of endpoints that get the events of each key in order. last counts its deliveries, and seen is
  -- the last event with it: once events up to that one are gone, so is the row. Each publish updates its row, so
  -- pages keep space for that.
  CREATE TABLE ordering_key (
    num bigint PRIMARY KEY,
    endpoint integer NOT NULL,
    key text NOT NULL,
    last bigint NOT NULL,
    seen bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE UNIQUE INDEX ordering_key_key ON ordering_key (endpoint, key);

  -- Failed deliveries that hold their ordering key: those behind wait until somebody replays or cancels this one.
  CREATE TABLE held_key (
    ordering_key bigint NOT NULL,
    sequence bigint NOT NULL,
    event bigint NOT NULL,
    endpoint integer NOT NULL,
    since bigint NOT NULL,
    PRIMARY KEY (ordering_key, sequence, event)
  );
  CREATE INDEX held_key_endpoint ON held_key (endpoint, since, ordering_key);
  CREATE INDEX held_key_event ON held_key (event);

  -- The pending deliveries of each tenant: the sum over the nodes, which a publish under a limit reads. Each commit
  -- updates its rows, so their pages keep space for that.
  CREATE TABLE tenant_pending (
    tenant text NOT NULL,
    node smallint NOT NULL,
    deliveries bigint NOT NULL,
    PRIMARY KEY (tenant, node)
  ) WITH (fillfactor = 50);

  -- Rows are only added, and removed with their event.
  CREATE TABLE attempt (
    event bigint NOT NULL,
    endpoint integer NOT NULL,
    number integer NOT NULL CHECK (number >= 1),
    url text NOT NULL,
    trigger smallint NOT NULL,
    round integer NOT NULL,
    retry integer NOT NULL,
    started_at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    outcome smallint NOT NULL,
    status_code integer,
    error text,
    body_error text,
    secret_version integer,
    truncated smallint NOT NULL,
    body bytea,
    -- NULL for a plain success, whose details are packed in connection.
    details text,
    connection bytea,
    PRIMARY KEY (event, endpoint, number)
  );
  -- An endpoint's attempts by time; failed ones; failed ones by error.
  CREATE INDEX attempt_endpoint ON attempt (endpoint, started_at, event, number);
  CREATE INDEX attempt_endpoint_failed ON attempt (endpoint, started_at, event, number) WHERE outcome <> 0;
  CREATE INDEX attempt_failed ON attempt (event, endpoint, number) WHERE outcome <> 0;
  CREATE INDEX attempt_result ON attempt (endpoint, error, (coalesce(status_code, 0)), event, number)
    WHERE outcome <> 0;

  -- Attempts that have a response body and began long after their event: this finds the bodies to remove.
  CREATE TABLE late_response (
    started_at bigint NOT NULL, event bigint NOT NULL, endpoint integer NOT NULL, number integer NOT NULL,
    PRIMARY KEY (started_at, event, endpoint, number)
  );

  -- Attempts that careful mode has begun and not recorded, in this process or in one that died of them.
  CREATE TABLE started (
    event bigint NOT NULL, endpoint integer NOT NULL, interruptions integer NOT NULL, dialled smallint NOT NULL,
    PRIMARY KEY (event, endpoint)
  );

  -- Attempts that somebody asked for outside the ladder, and that are not made yet.
  CREATE TABLE manual_attempt (
    event bigint NOT NULL, endpoint integer NOT NULL, urgent smallint NOT NULL, PRIMARY KEY (event, endpoint)
  );

  -- Bulk work. A job is open while it can go on or has rows in job_delivery.
  CREATE TABLE job (
    num bigint PRIMARY KEY,
    id text NOT NULL UNIQUE,
    tenant text NOT NULL,
    action text NOT NULL,
    filter text NOT NULL,
    rate_per_second double precision NOT NULL,
    canary smallint NOT NULL,
    reason text NOT NULL,
    status text NOT NULL CHECK (status IN ('planning', 'running', 'paused', 'done', 'cancelled')),
    paused_reason text,
    created_at bigint NOT NULL,
    ended_at bigint,
    open smallint NOT NULL DEFAULT 1
  );
  CREATE INDEX job_tenant ON job (tenant, num);
  CREATE INDEX job_open ON job (num) WHERE open = 1;

  CREATE TABLE job_endpoint (
    job bigint NOT NULL,
    endpoint integer NOT NULL,
    matched integer NOT NULL DEFAULT 0,
    planned integer NOT NULL DEFAULT 0,
    released integer NOT NULL DEFAULT 0,
    delivered integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    cancelled integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    PRIMARY KEY (job, endpoint),
    CHECK (planned >= 0 AND released >= 0),
    CHECK (matched = planned + released + delivered + failed + cancelled + skipped)
  );
  CREATE INDEX job_endpoint_endpoint ON job_endpoint (endpoint);

  -- The deliveries that a job still has to do.
  CREATE TABLE job_delivery (
    job bigint NOT NULL,
    endpoint integer NOT NULL,
    event bigint NOT NULL,
    released smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (job, endpoint, event)
  );
  CREATE INDEX job_delivery_released ON job_delivery (event, endpoint) WHERE released = 1;

  -- Counts of one minute by one process: for an endpoint, for a tenant, for all. Nobody else writes its rows.
  CREATE TABLE counter (
    minute bigint NOT NULL,
    subject text NOT NULL,
    life uuid NOT NULL,
    attempts text NOT NULL,
    published text,
    PRIMARY KEY (subject, minute, life)
  );
  CREATE INDEX counter_minute ON counter (minute);

  -- Responses to requests that a caller may repeat.
  CREATE TABLE idempotency (
    tenant text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    expires_at bigint NOT NULL,
    answer text NOT NULL,
    PRIMARY KEY (tenant, key)
  );
  CREATE INDEX idempotency_expires ON idempotency (expires_at);

  CREATE TABLE api_key (
    number bigint PRIMARY KEY,
    id text NOT NULL UNIQUE,
    name text NOT NULL,
    hash bytea NOT NULL,
    scopes text NOT NULL,
    tenant text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint,
    -- JSON for the key of a portal link, and the key that made it; NULL for any other.
    portal text,
    made_by text
  );
  CREATE INDEX api_key_tenant ON api_key (tenant, number);
  -- Expired links.
  CREATE INDEX api_key_portal ON api_key (expires_at) WHERE portal IS NOT NULL;
  -- Links that work, to be counted.
  CREATE INDEX api_key_links ON api_key (tenant, expires_at) WHERE portal IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX api_key_links_made ON api_key (made_by, expires_at) WHERE portal IS NOT NULL AND revoked_at IS NULL;

  -- The audit log. A key contains the instant, as an event's does.
  CREATE TABLE audit (
    key bigint PRIMARY KEY,
    actor text NOT NULL,
    uid bigint,
    "user" text,
    tenant text NOT NULL,
    action text NOT NULL,
    object text,
    request text NOT NULL,
    outcome text NOT NULL,
    -- The number of calls of a kind that the row stands for, and the last one's time; NULL if there is only one.
    count integer NOT NULL DEFAULT 1,
    last_at bigint
  );
  CREATE INDEX audit_tenant ON audit (tenant, key);
`;

/** Statements that are short on any store, because nodes wait for them. */
export type Step = string | Index | Fill;

/**
 * An index that is created while others write to its table. `on` is the rest of its statement: `delivery (endpoint)
 * WHERE status = 1`.
 */
export interface Index {
  readonly index: string;
  readonly on: string;
}

/**
 * Changes existing rows: those of `table` with a `key` above $1, up to $2. Nodes of the previous version keep adding
 * rows, in which the column has its default.
 */
export interface Fill {
  readonly fill: string;
  readonly table: string;
  readonly key: string;
}

/**
 * The step at index n takes a store from schema n to n + 1. A released step is never edited. Work that takes longer on
 * a larger table must be an `Index` or a `Fill`.
 */
export const STEPS: readonly Step[] = [SCHEMA];
export const SCHEMA_VERSION = STEPS.length;

/**
 * Created before everything else, because nodes that start together compare its row. Without the lock, PostgreSQL
 * refuses all but one of them, with several codes, although the table may exist.
 */
export const META = `
  SELECT pg_advisory_xact_lock(hashtext('webhookd meta'));
  CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)`;

/**
 * Returns the schema that the database has, 0 if it is empty, and the one that is needed. `isNew` is true until the
 * first start has created the keys.
 */
export async function versionOf(queries: Queries) {
  const [meta] = await queries.rows<{ there: boolean }>("SELECT to_regclass('meta') IS NOT NULL AS there");
  if (!meta!.there) return { found: 0, wanted: SCHEMA_VERSION, isNew: true };
  const rows = await queries.rows<{ name: string; value: string }>(
    "SELECT name, value FROM meta WHERE name IN ('schema', 'key_id')",
  );
  const valueOf = (wanted: string) => rows.find(({ name }) => name === wanted)?.value;
  return { found: Number(valueOf("schema") ?? 0), wanted: SCHEMA_VERSION, isNew: valueOf("key_id") === undefined };
}
