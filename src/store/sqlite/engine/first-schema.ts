/** The first schema, as it was released: the steps after it change it. */
export const FIRST_SCHEMA = `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

  -- Names that would repeat in every row.
  CREATE TABLE tenant (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE event_type (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE url (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

  -- A deleted endpoint keeps its row, for its history, but none of its secrets.
  CREATE TABLE endpoint (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant INTEGER NOT NULL REFERENCES tenant,
    uid TEXT,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    description TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason TEXT,
    when_disabled TEXT NOT NULL CHECK (when_disabled IN ('hold', 'skip')),
    header_names TEXT NOT NULL,
    headers TEXT,
    secret TEXT,
    -- Counts the secrets that the endpoint has had: attempts name theirs by it.
    secret_version INTEGER NOT NULL DEFAULT 1,
    -- Only while a rotation is under way.
    next_secret TEXT,
    switches_at INTEGER,
    rate_per_second REAL,
    max_in_flight INTEGER,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    -- What is open of events up to this key is cancelled, and perhaps not all of it rewritten yet.
    cancel_to INTEGER,
    CHECK (deleted_at IS NOT NULL OR (secret IS NOT NULL AND headers IS NOT NULL)),
    CHECK ((next_secret IS NULL) = (switches_at IS NULL))
  ) STRICT;
  CREATE INDEX endpoint_tenant ON endpoint (tenant, deleted_at);
  CREATE UNIQUE INDEX endpoint_uid ON endpoint (uid, tenant) WHERE uid IS NOT NULL AND deleted_at IS NULL;
  CREATE INDEX endpoint_cancel ON endpoint (number) WHERE cancel_to IS NOT NULL;
  CREATE INDEX endpoint_disabled ON endpoint (updated_at) WHERE enabled = 0 AND deleted_at IS NULL;
  CREATE INDEX endpoint_switch ON endpoint (switches_at) WHERE switches_at IS NOT NULL;

  -- How the latest attempts went; written each second, so a crash forgets the last one's.
  CREATE TABLE health (
    endpoint INTEGER PRIMARY KEY REFERENCES endpoint,
    last_success_at INTEGER,
    last_failure_at INTEGER,
    consecutive_failures INTEGER NOT NULL,
    failing_since INTEGER
  ) STRICT;

  CREATE TABLE subscription (
    tenant INTEGER NOT NULL REFERENCES tenant,
    type INTEGER NOT NULL REFERENCES event_type,
    endpoint INTEGER NOT NULL REFERENCES endpoint,
    PRIMARY KEY (tenant, type, endpoint)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX subscription_endpoint ON subscription (endpoint);

  -- The body is NULL once it was erased.
  CREATE TABLE event (
    key INTEGER PRIMARY KEY,
    random TEXT NOT NULL,
    tenant INTEGER NOT NULL,
    type INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    test INTEGER NOT NULL,
    unmatched INTEGER NOT NULL,
    trace TEXT,
    body_hash BLOB NOT NULL,
    body BLOB
  ) STRICT;
  CREATE INDEX event_tenant ON event (tenant);
  CREATE INDEX event_unmatched ON event (unmatched) WHERE unmatched = 1;

  CREATE TABLE delivery (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    round INTEGER NOT NULL CHECK (round >= 1),
    retry INTEGER NOT NULL CHECK (retry >= 0),
    trigger INTEGER NOT NULL CHECK (trigger BETWEEN 0 AND 3),
    due_at INTEGER,
    PRIMARY KEY (event, endpoint),
    CHECK ((status <= 1) = (due_at IS NOT NULL)),
    CHECK (status <> 0 OR attempts = 0)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX delivery_fresh ON delivery (event) WHERE status = 0;
  CREATE INDEX delivery_waiting ON delivery (endpoint, due_at, event) WHERE status = 1;
  CREATE INDEX delivery_failed ON delivery (event) WHERE status = 3;
  CREATE INDEX delivery_endpoint ON delivery (endpoint, event);
  CREATE INDEX delivery_endpoint_failed ON delivery (endpoint, event) WHERE status = 3;
  CREATE INDEX delivery_test_failed ON delivery (endpoint) WHERE status = 3 AND trigger = 3;

  -- details is NULL for a plain success, secret_version where nothing was signed.
  CREATE TABLE attempt (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    url INTEGER NOT NULL,
    trigger INTEGER NOT NULL CHECK (trigger BETWEEN 0 AND 3),
    round INTEGER NOT NULL,
    retry INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    outcome INTEGER NOT NULL CHECK (outcome BETWEEN 0 AND 2),
    status_code INTEGER,
    error TEXT,
    body_error TEXT,
    secret_version INTEGER,
    truncated INTEGER NOT NULL,
    body BLOB,
    details TEXT,
    PRIMARY KEY (event, endpoint, number)
  ) STRICT, WITHOUT ROWID;
  -- A success pays for neither: lists of what went wrong need not look at what went well.
  CREATE INDEX attempt_failed ON attempt (event, endpoint, number) WHERE outcome <> 0;
  CREATE INDEX attempt_endpoint_failed ON attempt (endpoint, event, number) WHERE outcome <> 0;

  -- Attempts with an answer's body that began long after their event was received.
  CREATE TABLE late_response (
    started_at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (started_at, event, endpoint, number)
  ) STRICT, WITHOUT ROWID;

  -- What careful mode has dialled and has not recorded: in this life of the process, or in one that died of it.
  CREATE TABLE started (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    dialled INTEGER NOT NULL CHECK (dialled IN (0, 1)),
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;

  -- Attempts that were asked for, outside the ladder, and not made yet.
  CREATE TABLE manual_attempt (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    -- Somebody waits for it: not behind the backlog.
    urgent INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;

  -- Bulk work. It is open while it can get on, or has rows in job_delivery.
  CREATE TABLE job (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('replay', 'attempt_now', 'cancel')),
    filter TEXT NOT NULL,
    rate_per_second REAL NOT NULL,
    canary INTEGER NOT NULL CHECK (canary IN (0, 1)),
    reason TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planning', 'running', 'paused', 'done', 'cancelled')),
    paused_reason TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    open INTEGER NOT NULL DEFAULT 1 CHECK (open IN (0, 1))
  ) STRICT;
  CREATE INDEX job_tenant ON job (tenant);
  CREATE INDEX job_open ON job (num) WHERE open = 1;

  CREATE TABLE job_endpoint (
    job INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    matched INTEGER NOT NULL DEFAULT 0,
    planned INTEGER NOT NULL DEFAULT 0,
    released INTEGER NOT NULL DEFAULT 0,
    delivered INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, endpoint),
    CHECK (planned >= 0 AND released >= 0),
    CHECK (matched = planned + released + delivered + failed + cancelled + skipped)
  ) STRICT, WITHOUT ROWID;

  -- What a job still has to do. An index over what is pending in the order of events would spare it, and cost every
  -- publish an entry.
  CREATE TABLE job_delivery (
    job INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    event INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0 CHECK (released IN (0, 1)),
    PRIMARY KEY (job, endpoint, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX job_delivery_released ON job_delivery (endpoint, event) WHERE released = 1;

  -- What was counted in a minute since the epoch: of an endpoint, of a tenant (minus its number), of all (0).
  CREATE TABLE counter (
    minute INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    -- Places and counts by turns, see Tally; events by type.
    attempts TEXT NOT NULL,
    published TEXT,
    PRIMARY KEY (minute, subject)
  ) STRICT, WITHOUT ROWID;

  -- What was done for a caller who may ask again. The answer holds no secret and nothing of an event's data. Rows are
  -- appended, because keys come in any order: only the narrow index is written all over, a page for each random key.
  CREATE TABLE idempotency (
    num INTEGER PRIMARY KEY,
    tenant INTEGER NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    answer TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX idempotency_key ON idempotency (tenant, key);
  CREATE INDEX idempotency_expires ON idempotency (expires_at);

  CREATE TABLE api_key (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    hash BLOB NOT NULL,
    scopes TEXT NOT NULL,
    tenant TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;
  CREATE INDEX api_key_tenant ON api_key (tenant);

  -- Who did what. The key holds the instant, as an event's does.
  CREATE TABLE audit (
    key INTEGER PRIMARY KEY,
    actor TEXT NOT NULL,
    tenant TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT,
    request TEXT NOT NULL,
    outcome TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_tenant ON audit (tenant);
  `;
