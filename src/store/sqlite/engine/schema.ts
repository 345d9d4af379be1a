/**
 * The schema. Migrations are numbered steps that only go forward. A released step is never edited. Each step only adds
 * what the new version needs, and removes nothing that the previous version reads. A later step removes it.
 *
 * Keys are integers: a public id contains its key, but outsiders cannot read it (`codes.ts`). A delivery's `status` is
 * 0 fresh, 1 waiting (both shown as pending), 2 delivered, 3 failed, 4 cancelled, 5 shadowed. A partial index contains
 * only waiting deliveries, so its size follows the backlog and not the history. A due time of 2^52 and more says that a
 * delivery waits behind another (`BEHIND` in `codes.ts`). Fresh deliveries lie above a mark (`fresh_from` in `meta`).
 */

/** The bytes "whkd" distinguish our file from any other SQLite database. */
export const APPLICATION_ID = 0x77686b64;

export interface Migration {
  /** A few words for the message if the step fails. */
  readonly name: string;
  readonly sql: string;
}

const NAMES = `
  -- Facts about the store as a whole.
  CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  -- A new store has no fresh delivery.
  INSERT INTO meta (name, value) VALUES ('fresh_from', 0);

  -- From this key on keys are ahead of the clock, which showed \`at\`: see key-times.ts. Kind 0 is of events, 1 of audit.
  CREATE TABLE key_time (
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    key INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
  ) STRICT, WITHOUT ROWID;

  -- These names would repeat in every row.
  CREATE TABLE tenant (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE event_type (num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE url (
    num INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- The key of the last event when the last endpoint left it; NULL while an endpoint has it.
    left_at INTEGER
  ) STRICT;
  -- The sweep removes URLs that no attempt names any more.
  CREATE INDEX url_left ON url (left_at) WHERE left_at IS NOT NULL;
`;

const ENDPOINTS = `
  -- A deleted endpoint keeps its row for its history, but none of its secrets.
  CREATE TABLE endpoint (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant INTEGER NOT NULL REFERENCES tenant,
    uid TEXT,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    -- NULL takes every event of those types.
    filter TEXT,
    description TEXT NOT NULL,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason TEXT,
    when_disabled TEXT NOT NULL CHECK (when_disabled IN ('hold', 'skip', 'shadow')),
    ordering TEXT NOT NULL CHECK (ordering IN ('none', 'by_key')),
    after_failure TEXT NOT NULL CHECK (after_failure IN ('continue', 'hold')),
    format TEXT NOT NULL CHECK (format IN ('envelope', 'cloudevents', 'cloudevents_binary', 'data')),
    trace_context INTEGER NOT NULL CHECK (trace_context IN (0, 1)),
    header_names TEXT NOT NULL,
    headers TEXT,
    -- Sealed like the headers. NULL if the endpoint asks for nothing more than a signature.
    auth TEXT,
    -- When its client certificate expires.
    certificate_until INTEGER,
    ca TEXT,
    secret TEXT,
    -- Counts the secrets that the endpoint has had; an attempt names its secret by this number.
    secret_version INTEGER NOT NULL DEFAULT 1,
    -- These two are set only during a rotation.
    next_secret TEXT,
    switches_at INTEGER,
    -- The signatures that it gets, as a JSON array.
    signatures TEXT NOT NULL,
    rate_per_second REAL,
    max_in_flight INTEGER,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    -- Open deliveries of events up to this key are cancelled, though their rows may not say so yet.
    cancel_to INTEGER,
    CHECK (deleted_at IS NOT NULL OR (secret IS NOT NULL AND headers IS NOT NULL)),
    CHECK ((next_secret IS NULL) = (switches_at IS NULL))
  ) STRICT;
  -- Lists of endpoints, and the endpoints of one tenant.
  CREATE INDEX endpoint_tenant ON endpoint (tenant, deleted_at);
  CREATE UNIQUE INDEX endpoint_uid ON endpoint (uid, tenant) WHERE uid IS NOT NULL AND deleted_at IS NULL;
  -- Each of these serves one task: cancelling, expiring held deliveries, rotating, watching certificates, removing deleted endpoints.
  CREATE INDEX endpoint_cancel ON endpoint (number) WHERE cancel_to IS NOT NULL;
  CREATE INDEX endpoint_disabled ON endpoint (updated_at) WHERE enabled = 0 AND deleted_at IS NULL;
  CREATE INDEX endpoint_switch ON endpoint (switches_at) WHERE switches_at IS NOT NULL;
  CREATE INDEX endpoint_certificate ON endpoint (certificate_until) WHERE certificate_until IS NOT NULL;
  CREATE INDEX endpoint_deleted ON endpoint (number) WHERE deleted_at IS NOT NULL;

  -- The private keys of tenants, sealed. An endpoint that chooses ed25519 makes the first one in the same commit.
  CREATE TABLE signing_key (
    tenant INTEGER PRIMARY KEY REFERENCES tenant,
    private_key TEXT NOT NULL,
    -- These two are set only during a rotation.
    next_private_key TEXT,
    switches_at INTEGER,
    -- Anyone may read the public keys.
    published INTEGER NOT NULL DEFAULT 0 CHECK (published IN (0, 1)),
    CHECK ((next_private_key IS NULL) = (switches_at IS NULL))
  ) STRICT;
  CREATE INDEX signing_key_switch ON signing_key (switches_at) WHERE switches_at IS NOT NULL;

  -- The outcome of the latest attempts. It is written each second, so a crash forgets the last second.
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
  -- The types of one endpoint.
  CREATE INDEX subscription_endpoint ON subscription (endpoint);

  -- What decided which events an endpoint received, from one change of it to the next. The changes of all endpoints are
  -- counted together (\`last_choice\` in meta), and an event has the last one that its publish saw.
  CREATE TABLE choice (
    endpoint INTEGER NOT NULL REFERENCES endpoint,
    num INTEGER NOT NULL,
    -- The change that ended it; NULL while it lasts.
    until INTEGER,
    change TEXT NOT NULL CHECK (change IN ('registered', 'changed', 'deleted')),
    at INTEGER NOT NULL,
    events TEXT NOT NULL,
    filter TEXT,
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    disabled_reason TEXT,
    when_disabled TEXT NOT NULL,
    PRIMARY KEY (endpoint, num)
  ) STRICT, WITHOUT ROWID;
  -- Choices to remove, once no event is kept that they decided.
  CREATE INDEX choice_until ON choice (until) WHERE until IS NOT NULL;

  -- Event types that operators keep here, beside those of the configuration. A deleted one keeps its row for a day.
  CREATE TABLE type_definition (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL,
    type_group TEXT,
    schema TEXT NOT NULL,
    sample TEXT NOT NULL,
    validation TEXT CHECK (validation IN ('off', 'warn', 'enforce')),
    deprecated_at INTEGER,
    sunset_at INTEGER,
    archived INTEGER NOT NULL CHECK (archived IN (0, 1)),
    deleted_at INTEGER
  ) STRICT, WITHOUT ROWID;
`;

const EVENTS = `
  CREATE TABLE event (
    key INTEGER PRIMARY KEY,
    random TEXT NOT NULL,
    tenant INTEGER NOT NULL,
    type INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    test INTEGER NOT NULL,
    unmatched INTEGER NOT NULL,
    -- The last change of an endpoint that its publish saw: a number of choice.
    choice INTEGER NOT NULL DEFAULT 0,
    trace TEXT,
    ordering_key TEXT,
    body_hash BLOB NOT NULL,
    -- NULL once the event was erased.
    body BLOB,
    -- The row of large_data that has the data: then body ends before it, and body_hash is of body and the data's hash.
    large INTEGER,
    erased_at INTEGER
  ) STRICT;
  -- Lists of events of one tenant, by type, and missing deliveries of an endpoint.
  CREATE INDEX event_tenant_type ON event (tenant, type);
  CREATE INDEX event_tenant_unmatched ON event (tenant) WHERE unmatched = 1;
  CREATE INDEX event_tenant_test ON event (tenant) WHERE test = 1;
  -- Unmatched events of all tenants.
  CREATE INDEX event_unmatched ON event (unmatched) WHERE unmatched = 1;

  -- Kind 0 is the publisher's id of the event, 1 a tag.
  CREATE TABLE event_label (
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    label TEXT NOT NULL,
    tenant INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (kind, label, tenant, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX event_label_event ON event_label (event);

  -- The data of a large batch, which is written before its events.
  CREATE TABLE large_data (num INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
  -- No event refers yet to the rows \`first\` to \`last\` of large_data.
  CREATE TABLE large_batch (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT;
`;

const DELIVERIES = `
  CREATE TABLE delivery (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    round INTEGER NOT NULL CHECK (round >= 1),
    retry INTEGER NOT NULL CHECK (retry >= 0),
    trigger INTEGER NOT NULL CHECK (trigger BETWEEN 0 AND 3),
    due_at INTEGER,
    -- The first attempt, if it was a plain success that began within a second of its event: then it has no row in
    -- attempt. It moves there when another attempt is made.
    url INTEGER,
    started_at INTEGER,
    duration_ms INTEGER,
    status_code INTEGER,
    secret_version INTEGER,
    truncated INTEGER,
    body BLOB,
    connection BLOB,
    -- Set if the delivery failed, was cancelled, or its last attempt failed (\`causes.ts\`).
    cause INTEGER,
    -- The beginning of that attempt, and of the first one in its round that failed the same way.
    failed_at INTEGER,
    failing_since INTEGER,
    -- Set if it is delivered in order: the row of ordering_key, and its number there.
    ordering_key INTEGER,
    sequence INTEGER,
    PRIMARY KEY (event, endpoint),
    CHECK ((status <= 1) = (due_at IS NOT NULL)),
    CHECK (status <> 0 OR attempts = 0)
  ) STRICT, WITHOUT ROWID;
  -- Finds deliveries that are due later than their place on the ladder allows.
  CREATE INDEX delivery_retry ON delivery (retry, due_at) WHERE status = 1;
  -- Due deliveries are read from it, endpoint by endpoint.
  CREATE INDEX delivery_waiting ON delivery (endpoint, due_at, event) WHERE status = 1;
  -- Lists and replays: by endpoint, what failed, and why.
  CREATE INDEX delivery_endpoint ON delivery (endpoint, event);
  CREATE INDEX delivery_failed ON delivery (event) WHERE status = 3;
  CREATE INDEX delivery_endpoint_failed ON delivery (endpoint, event) WHERE status = 3;
  CREATE INDEX delivery_test_failed ON delivery (endpoint) WHERE status = 3 AND trigger = 3;
  CREATE INDEX delivery_cause ON delivery (endpoint, cause, event) WHERE cause IS NOT NULL;
  -- Reports of failures, in the order of their attempts.
  CREATE INDEX delivery_failing ON delivery (endpoint, cause, failed_at, event, failing_since)
    WHERE failed_at IS NOT NULL;
  -- The line of each ordering key: the first one is due, and the others wait behind it.
  CREATE INDEX delivery_line ON delivery (ordering_key, sequence, event) WHERE ordering_key IS NOT NULL AND status <= 1;

  -- The ordering keys of endpoints that get the events of each key in order. \`last\` counts its deliveries, and \`seen\`
  -- is the last event with it: once events up to that one are gone, so is the row.
  CREATE TABLE ordering_key (
    num INTEGER PRIMARY KEY,
    endpoint INTEGER NOT NULL,
    key TEXT NOT NULL,
    last INTEGER NOT NULL,
    seen INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX ordering_key_key ON ordering_key (endpoint, key);

  -- Failed deliveries that hold their ordering key: those behind wait until somebody replays or cancels this one.
  CREATE TABLE held_key (
    ordering_key INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (ordering_key, sequence, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX held_key_endpoint ON held_key (endpoint, since, ordering_key);
  CREATE INDEX held_key_event ON held_key (event);

  -- Deliveries above the mark that were delivered at once, cancelled or shadowed. If a page of delivery is lost, they would
  -- otherwise be taken for owed. A row is what one commit settled, under the last delivery of it: event and endpoint in
  -- turn, as 64-bit floats. It goes when the mark has passed.
  CREATE TABLE settled (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    deliveries BLOB NOT NULL,
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;

  -- Attempts that careful mode has begun and not recorded, in this process or in one that died of them.
  CREATE TABLE started (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    dialled INTEGER NOT NULL CHECK (dialled IN (0, 1)),
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;

  -- Attempts that somebody asked for outside the ladder, and that are not made yet.
  CREATE TABLE manual_attempt (
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    -- Somebody waits for the result, so it goes before the backlog.
    urgent INTEGER NOT NULL CHECK (urgent IN (0, 1)),
    PRIMARY KEY (event, endpoint)
  ) STRICT, WITHOUT ROWID;
`;

const ATTEMPTS = `
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
    -- NULL if nothing was signed.
    secret_version INTEGER,
    truncated INTEGER NOT NULL,
    body BLOB,
    -- NULL for a plain success, whose details are packed in connection.
    details TEXT,
    connection BLOB,
    PRIMARY KEY (event, endpoint, number)
  ) STRICT, WITHOUT ROWID;
  -- Lists of failed attempts need not look at successes, and a success has an entry in neither.
  CREATE INDEX attempt_failed ON attempt (event, endpoint, number) WHERE outcome <> 0;
  CREATE INDEX attempt_endpoint_failed ON attempt (endpoint, event, number) WHERE outcome <> 0;

  -- Attempts that did not begin within a second of their event, by time. The others are found by their event's key.
  CREATE TABLE late_attempt (
    endpoint INTEGER NOT NULL,
    failed INTEGER NOT NULL CHECK (failed IN (0, 1)),
    started_at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (endpoint, failed, started_at, event, number)
  ) STRICT, WITHOUT ROWID;

  -- Attempts that have a response body and began long after their event: this finds the bodies to remove.
  CREATE TABLE late_response (
    started_at INTEGER NOT NULL,
    event INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (started_at, event, endpoint, number)
  ) STRICT, WITHOUT ROWID;
`;

const JOBS = `
  -- Bulk work. A job is open while it can go on or has rows in job_delivery.
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
  -- Finds the remaining rows of a deleted endpoint.
  CREATE INDEX job_endpoint_endpoint ON job_endpoint (endpoint);

  -- The deliveries that a job still has to do. An index of pending deliveries by event would make this table
  -- unnecessary, and would cost every publish an entry.
  CREATE TABLE job_delivery (
    job INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    event INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0 CHECK (released IN (0, 1)),
    PRIMARY KEY (job, endpoint, event)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX job_delivery_released ON job_delivery (endpoint, event) WHERE released = 1;
`;

/** Counts all failed deliveries, in an empty table. */
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

/** The part of a trigger that removes a delivery from its counts. */
const UNCOUNT = ([1, 60] as const).map((minutes) => {
  const at = `endpoint = old.endpoint AND cause = old.cause AND minutes = ${minutes}
      AND event = old.event / ${minutes * 122_880_000} AND failed = old.failed_at / ${minutes * 60_000}`;
  return `UPDATE failure_count SET count = count - 1, first_gone = iif(first_at = old.failing_since, 1, first_gone)
      WHERE ${at};
    DELETE FROM failure_count WHERE ${at} AND count <= 0;`;
});

const STATISTICS = `
  -- Counts of one minute since the epoch: for an endpoint, for a tenant (minus its number), for all (0).
  CREATE TABLE counter (
    minute INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    -- Places and counts in turn, see Tally; events by type.
    attempts TEXT NOT NULL,
    published TEXT,
    PRIMARY KEY (minute, subject)
  ) STRICT, WITHOUT ROWID;

  -- How many deliveries of events of an hour (minutes = 60), or of a minute (1), last failed of that cause in another:
  -- both in units of \`minutes\` since 1970. It counts what waits or has failed, and no tests.
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
  -- The counts follow every change of a delivery. No delivery has failed when it is inserted, and code that removes a
  -- failed one uncounts it first (\`causes.ts\`): a trigger would cost each that is pruned more than half of its removal.
  -- A plain success names none of these columns.
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
`;

const CALLERS = `
  -- Responses to requests that a caller may repeat. They hold no secret and nothing of an event's data. Rows are
  -- appended, because keys come in any order: only the narrow index is written at random.
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
    revoked_at INTEGER,
    -- JSON for the key of a portal link; NULL for any other.
    portal TEXT
  ) STRICT;
  CREATE INDEX api_key_tenant ON api_key (tenant);
  -- Expired links.
  CREATE INDEX api_key_portal ON api_key (expires_at) WHERE portal IS NOT NULL;
  -- Links that work, to be counted.
  CREATE INDEX api_key_links ON api_key (tenant, expires_at) WHERE portal IS NOT NULL AND revoked_at IS NULL;
  CREATE INDEX api_key_links_made ON api_key (portal ->> 'madeBy', expires_at) WHERE portal IS NOT NULL AND revoked_at IS NULL;

  -- The audit log. A key contains the instant, as an event's does.
  CREATE TABLE audit (
    key INTEGER PRIMARY KEY,
    actor TEXT NOT NULL,
    -- The user at the other end of the unix socket.
    uid INTEGER,
    user TEXT,
    tenant TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT,
    request TEXT NOT NULL,
    outcome TEXT NOT NULL,
    -- The number of calls of a kind that the row stands for, and the last one's time; NULL if there is only one.
    count INTEGER NOT NULL DEFAULT 1,
    last_at INTEGER
  ) STRICT;
  CREATE INDEX audit_tenant ON audit (tenant);
`;

/** The step at index n takes a store from schema n to n + 1. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: "the schema of 0.1.0",
    sql: [NAMES, ENDPOINTS, EVENTS, DELIVERIES, ATTEMPTS, JOBS, STATISTICS, CALLERS].join(""),
  },
];

export const SCHEMA_VERSION = MIGRATIONS.length;
