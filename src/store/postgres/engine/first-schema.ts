/** The first schema, as it was released: the steps after it change it. */
export const FIRST_SCHEMA = `
  -- Names that somebody has used; num is a key of the node that met it first, so that it sorts by the first use.
  CREATE TABLE tenant (name text PRIMARY KEY, num bigint NOT NULL UNIQUE);
  CREATE TABLE event_type (name text PRIMARY KEY);

  -- Who sends for which endpoints. An owner is a node whose lease runs; a slot is taken by comparing its epoch.
  CREATE TABLE node (id uuid PRIMARY KEY, number smallint NOT NULL UNIQUE, lease_until timestamptz NOT NULL);
  CREATE TABLE slot (slot smallint PRIMARY KEY, owner uuid, epoch bigint NOT NULL);
  INSERT INTO slot (slot, owner, epoch) SELECT slot, NULL, 0 FROM generate_series(0, 1023) AS slot;

  CREATE TABLE endpoint (
    number integer PRIMARY KEY,
    slot smallint NOT NULL,
    id text NOT NULL UNIQUE,
    tenant text NOT NULL,
    uid text,
    url text NOT NULL,
    events text NOT NULL,
    description text NOT NULL,
    enabled smallint NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason text,
    when_disabled text NOT NULL CHECK (when_disabled IN ('hold', 'skip')),
    header_names text NOT NULL,
    headers text,
    secret text,
    secret_version integer NOT NULL DEFAULT 1,
    next_secret text,
    switches_at bigint,
    rate_per_second double precision,
    max_in_flight integer,
    metadata text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint,
    -- What is open of events up to this key is cancelled, and perhaps not all of it rewritten yet.
    cancel_to bigint,
    CHECK (deleted_at IS NOT NULL OR (secret IS NOT NULL AND headers IS NOT NULL)),
    CHECK ((next_secret IS NULL) = (switches_at IS NULL))
  );
  CREATE INDEX endpoint_tenant ON endpoint (tenant, number);
  CREATE UNIQUE INDEX endpoint_uid ON endpoint (uid, tenant) WHERE uid IS NOT NULL AND deleted_at IS NULL;
  CREATE INDEX endpoint_cancel ON endpoint (number) WHERE cancel_to IS NOT NULL;
  CREATE INDEX endpoint_disabled ON endpoint (updated_at) WHERE enabled = 0 AND deleted_at IS NULL;
  CREATE INDEX endpoint_switch ON endpoint (switches_at) WHERE switches_at IS NOT NULL;

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

  -- The body is NULL once it was erased.
  CREATE TABLE event (
    key bigint PRIMARY KEY,
    random text NOT NULL,
    tenant text NOT NULL,
    type text NOT NULL,
    created_at bigint NOT NULL,
    test smallint NOT NULL,
    unmatched smallint NOT NULL,
    trace text,
    body_hash bytea NOT NULL,
    body bytea
  );
  CREATE INDEX event_tenant ON event (tenant, key);
  CREATE INDEX event_unmatched ON event (key) WHERE unmatched = 1;

  CREATE TABLE delivery (
    event bigint NOT NULL,
    endpoint integer NOT NULL,
    slot smallint NOT NULL,
    status smallint NOT NULL CHECK (status BETWEEN 0 AND 4),
    attempts integer NOT NULL CHECK (attempts >= 0),
    round integer NOT NULL CHECK (round >= 1),
    retry integer NOT NULL CHECK (retry >= 0),
    trigger smallint NOT NULL CHECK (trigger BETWEEN 0 AND 3),
    due_at bigint,
    PRIMARY KEY (event, endpoint),
    CHECK ((status <= 1) = (due_at IS NOT NULL)),
    CHECK (status <> 0 OR attempts = 0)
  );
  CREATE INDEX delivery_fresh ON delivery (event, endpoint) WHERE status = 0;
  CREATE INDEX delivery_waiting ON delivery (endpoint, due_at, event) WHERE status = 1;
  -- What fell due of a node's slots: what others committed for it is found there.
  CREATE INDEX delivery_arrived ON delivery (slot, due_at, event) WHERE status = 1;
  CREATE INDEX delivery_failed ON delivery (event, endpoint) WHERE status = 3;
  CREATE INDEX delivery_endpoint ON delivery (endpoint, event);

  -- Rows are only added, and forgotten with their event. details is NULL for a plain success, way for all else.
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
    details text,
    way bytea,
    PRIMARY KEY (event, endpoint, number)
  );
  CREATE INDEX attempt_endpoint ON attempt (endpoint, started_at, event, number);
  CREATE INDEX attempt_endpoint_failed ON attempt (endpoint, started_at, event, number) WHERE outcome <> 0;
  CREATE INDEX attempt_failed ON attempt (event, endpoint, number) WHERE outcome <> 0;

  -- Attempts with an answer's body that began long after their event was received.
  CREATE TABLE late_response (
    started_at bigint NOT NULL, event bigint NOT NULL, endpoint integer NOT NULL, number integer NOT NULL,
    PRIMARY KEY (started_at, event, endpoint, number)
  );

  -- What careful mode has dialled and has not recorded: in this life of the process, or in one that died of it.
  CREATE TABLE started (
    event bigint NOT NULL, endpoint integer NOT NULL, interruptions integer NOT NULL, dialled smallint NOT NULL,
    PRIMARY KEY (event, endpoint)
  );

  -- Attempts that were asked for, outside the ladder, and not made yet.
  CREATE TABLE manual_attempt (
    event bigint NOT NULL, endpoint integer NOT NULL, urgent smallint NOT NULL, PRIMARY KEY (event, endpoint)
  );

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

  CREATE TABLE job_delivery (
    job bigint NOT NULL,
    endpoint integer NOT NULL,
    event bigint NOT NULL,
    released smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (job, endpoint, event)
  );
  CREATE INDEX job_delivery_released ON job_delivery (event, endpoint) WHERE released = 1;

  -- What one life of a node counted in a minute: of an endpoint, of a tenant, of all. Nobody else writes its rows.
  CREATE TABLE counter (
    minute bigint NOT NULL,
    subject text NOT NULL,
    life uuid NOT NULL,
    attempts text NOT NULL,
    published text,
    PRIMARY KEY (subject, minute, life)
  );
  CREATE INDEX counter_minute ON counter (minute);

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
    revoked_at bigint
  );
  CREATE INDEX api_key_tenant ON api_key (tenant, number);

  CREATE TABLE audit (
    key bigint PRIMARY KEY,
    actor text NOT NULL,
    uid bigint,
    "user" text,
    tenant text NOT NULL,
    action text NOT NULL,
    object text,
    request text NOT NULL,
    outcome text NOT NULL
  );
  CREATE INDEX audit_tenant ON audit (tenant, key);
`;

/** What a link has is JSON; NULL of any other key. */
