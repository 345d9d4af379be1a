// Code generated from the daemon's OpenAPI description by scripts/clients/go.ts. DO NOT EDIT.

package webhookd

import "encoding/json"

// With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
type AfterFailure = string

type Attempt struct {
	ID string `json:"id"`
	Event string `json:"event"`
	Delivery string `json:"delivery"`
	Endpoint string `json:"endpoint"`
	// The URL that it was sent to: the endpoint's URL at that time.
	URL string `json:"url"`
	// Counts the delivery's attempts from 1 and never restarts.
	Number int64 `json:"number"`
	Trigger string `json:"trigger"`
	StartedAt string `json:"started_at"`
	// From the start of the attempt until its outcome was known.
	DurationMs float64 `json:"duration_ms"`
	// 1 at first; each replay adds one.
	Round int64 `json:"round"`
	// The place on the ladder, 0 for the first attempt of a round; null for an attempt outside the ladder.
	Retry *int64 `json:"retry"`
	Outcome string `json:"outcome"`
	// The status code that the receiver answered with, if it answered.
	StatusCode *int64 `json:"status_code"`
	// Why it failed; null when it succeeded.
	Error *string `json:"error"`
	// A problem with the response body that came after the status had decided the outcome. It does not change the outcome.
	BodyError *string `json:"body_error"`
	// What happened, in one sentence.
	Detail string `json:"detail"`
	RemoteAddress *string `json:"remote_address"`
	// Whether the secret that signed it is still in use.
	Secret *string `json:"secret"`
	// When each step was complete, in milliseconds since the attempt began; null if the step did not happen.
	Phases struct {
	DNSMs *float64 `json:"dns_ms"`
	ConnectMs *float64 `json:"connect_ms"`
	TLSMs *float64 `json:"tls_ms"`
	FirstByteMs *float64 `json:"first_byte_ms"`
} `json:"phases"`
	// Some of the response headers, each cut to 256 bytes.
	ResponseHeaders map[string]string `json:"response_headers"`
	// The beginning of the response body, read by its declared charset, else as UTF-8; of a compressed body only its size. Do not trust this text.
	ResponseBody string `json:"response_body"`
	ResponseTruncated bool `json:"response_truncated"`
}

type AttemptError = string

type AuditAction = string

type AuditRecord struct {
	At string `json:"at"`
	// The key that was used, or `socket` for a call over the unix socket.
	Actor string `json:"actor"`
	// The caller over the unix socket, as the kernel reports it; null for a key, or if the kernel cannot be asked.
	UID *int64 `json:"uid"`
	// The login name of that uid in /etc/passwd; null if there is none.
	User *string `json:"user"`
	// The tenant whose data the call concerned, or `*`.
	Tenant string `json:"tenant"`
	// `endpoint.disable` and `endpoint.enable` are changes that set `enabled`, whatever else they changed; a refused one is an `endpoint.update`.
	Action string `json:"action"`
	// The id of the object, or the name of the event type; null for the daemon as a whole.
	Object *string `json:"object"`
	// The first of these calls.
	RequestID string `json:"request_id"`
	// How many calls this entry stands for; more than 1 where calls of a kind were repeated.
	Count int64 `json:"count"`
	// The last of these calls; the same as `at` if there is only one.
	LastAt string `json:"last_at"`
	// `ok`, `repeated` if the idempotency key had been used before, or the error code.
	Outcome string `json:"outcome"`
}

type Backup struct {
	// Its path on the daemon's host; the file name contains the time.
	File string `json:"file"`
	At string `json:"at"`
	Bytes int64 `json:"bytes"`
	Schema int64 `json:"schema"`
	// How many endpoints it contains, not counting deleted ones.
	Endpoints int64 `json:"endpoints"`
	// How many events it contains.
	Events int64 `json:"events"`
	// The hash of the whole file, in hexadecimal.
	Sha256 string `json:"sha256"`
	// Whether `secret.key` is in it, sealed with a passphrase.
	Sealed bool `json:"sealed"`
}

type BackupDraft struct {
	// Seals `secret.key` into the backup, which can then be restored with this passphrase alone. The passphrase is not stored. By default `[backup] seal_with_file` is used, if it is set.
	Passphrase *string `json:"passphrase,omitempty"`
}

type BatchItem struct {
	Type string `json:"type"`
	// Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
	Data any `json:"data"`
	// When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
	CreatedAt *string `json:"created_at,omitempty"`
	// Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
	PublisherID *string `json:"publisher_id,omitempty"`
	// Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
	Tags []string `json:"tags,omitempty"`
	// What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.
	OrderingKey *string `json:"ordering_key,omitempty"`
	// With a key for every tenant: the tenant of the event.
	Tenant *string `json:"tenant,omitempty"`
	// Publishing the same event again with this key does not create a second event.
	IdempotencyKey *string `json:"idempotency_key,omitempty"`
}

type BatchedPublication struct {
	ID string `json:"id"`
	Type string `json:"type"`
	CreatedAt string `json:"created_at"`
	// How many endpoints it goes to.
	DeliveryCount int64 `json:"delivery_count"`
	// The event was already published with the same key; this is the first answer.
	Duplicate *bool `json:"duplicate,omitempty"`
}

// The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
type BodyFormat = string

type CancelledEvent struct {
	EventFacts
	// How many of its deliveries were open.
	Cancelled int64 `json:"cancelled"`
}

// The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
type ChosenSignatures = []string

// The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
type ChosenTypes = []string

type Configuration struct {
	// Every setting by section and key, such as `server.listen`, with its value as in a configuration file. If knowing a URL is enough to use it, only the beginning of the URL is shown.
	Settings map[string]json.RawMessage `json:"settings"`
	// The contents of each `[tenants.NAME]`, by tenant.
	Tenants map[string]struct {
	// When several tenants are waiting to publish, how many turns this one gets for each turn of a tenant with weight 1.
	Weight int64 `json:"weight"`
	// How many events it may publish per second; null means no limit.
	RatePerSecond *int64 `json:"rate_per_second"`
	// How many deliveries it may have pending; null means the limit for every tenant, `[limits] max_pending_per_tenant`.
	MaxPending *int64 `json:"max_pending"`
} `json:"tenants"`
}

type CreatedKey struct {
	Key
	// The key itself: shown here and never again.
	KeyValue string `json:"key"`
}

type Damage struct {
	// When it was found.
	At string `json:"at"`
	// The damaged database or log, which is kept. `damaged_database` is null once you have removed or moved it.
	File string `json:"file"`
	// Damaged pages by table or index, as far as they were checked.
	Pages []struct {
	Name string `json:"name"`
	Pages []int64 `json:"pages"`
} `json:"pages"`
	// What could not be read and is lost; empty if nothing is lost.
	Lost []struct {
	Table string `json:"table"`
	// How many rows could not be read; null if unknown.
	Rows *int64 `json:"rows"`
	// When the first of their events was received; null if unknown.
	From *string `json:"from"`
	// When the last of their events was received; null if unknown.
	Until *string `json:"until"`
} `json:"lost"`
	// What of the write-ahead log is lost, because it stood behind damage; null if the log was whole.
	Log *struct {
	// A copy of the damaged log.
	File string `json:"file"`
	// How many commits stood behind the damage. Each holds one request or more.
	Transactions int64 `json:"transactions"`
	// How many pages these wrote.
	Pages int64 `json:"pages"`
} `json:"log"`
}

type DataWarning struct {
	// A JSON pointer (RFC 6901) into the body.
	Pointer string `json:"pointer"`
	Code string `json:"code"`
	Detail string `json:"detail"`
}

type Delivery struct {
	ID string `json:"id"`
	Endpoint string `json:"endpoint"`
	// `held` is a pending delivery of a disabled endpoint: kept, not sent. `shadowed` is one that is never sent.
	Status string `json:"status"`
	// How many attempts have been made.
	Attempts int64 `json:"attempts"`
	// Null unless it is pending.
	NextAttemptAt *string `json:"next_attempt_at"`
	// The number in `webhook-sequence`, if it is delivered in order: it counts the deliveries of its endpoint and `ordering_key`. 0 if a job added it afterwards.
	Sequence *int64 `json:"sequence"`
	// The event that goes before it, because it has the same `ordering_key`; null if none does.
	WaitsBehind *struct {
	Event string `json:"event"`
	// How many attempts have been made of that one.
	Attempts int64 `json:"attempts"`
	// Null if it holds the key.
	NextAttemptAt *string `json:"next_attempt_at"`
	// It failed, and the endpoint has `after_failure` `hold`: replay or cancel it to go on.
	HoldsKey bool `json:"holds_key"`
} `json:"waits_behind"`
	LastAttempt *Attempt `json:"last_attempt"`
}

type Endpoint struct {
	ID string `json:"id"`
	Tenant string `json:"tenant"`
	// Normalized according to the WHATWG URL standard.
	URL string `json:"url"`
	Events []string `json:"events"`
	Filter json.RawMessage `json:"filter"`
	Description string `json:"description"`
	// Sent with each attempt; the values are masked.
	Headers map[string]string `json:"headers"`
	// What the receiver asks for besides a signature, as `EndpointAuth`; `***` keeps a secret.
	Auth json.RawMessage `json:"auth"`
	// PEM of the authorities of its certificate.
	Ca *string `json:"ca"`
	RatePerSecond *float64 `json:"rate_per_second"`
	MaxInFlight *int64 `json:"max_in_flight"`
	Enabled bool `json:"enabled"`
	// While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
	WhenDisabled string `json:"when_disabled"`
	// `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
	Ordering string `json:"ordering"`
	// With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
	AfterFailure string `json:"after_failure"`
	// The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
	Format string `json:"format"`
	TraceContext bool `json:"trace_context"`
	Signatures []string `json:"signatures"`
	// The name it was registered under, unique within the tenant.
	UID *string `json:"uid"`
	Metadata json.RawMessage `json:"metadata"`
	// Why the daemon disabled it: its receiver answered 410 (`gone`), or no attempt had succeeded for a long time (`failing`).
	DisabledReason *string `json:"disabled_reason"`
	// During a rotation: when the next signing secret takes over.
	SecretSwitchesAt *string `json:"secret_switches_at"`
	// Which parts of the endpoint the store can no longer read; null if all is well. Until the endpoint is repaired, nothing is sent to it, and its deliveries wait.
	Damaged *EndpointDamage `json:"damaged"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

type EndpointAuth = json.RawMessage

type EndpointChange struct {
	// A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
	URL *string `json:"url,omitempty"`
	// The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
	Events []string `json:"events,omitempty"`
	// Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
	Filter any `json:"filter,omitempty"`
	// A note for people, on one line.
	Description *string `json:"description,omitempty"`
	Headers any `json:"headers,omitempty"`
	Auth any `json:"auth,omitempty"`
	// PEM of the authorities of its certificate.
	Ca *string `json:"ca,omitempty"`
	// The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
	RatePerSecond *float64 `json:"rate_per_second,omitempty"`
	// The maximum number of attempts at once: the ceiling of the adaptive cap.
	MaxInFlight *int64 `json:"max_in_flight,omitempty"`
	// Whether anything is sent to it.
	Enabled *bool `json:"enabled,omitempty"`
	// While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
	WhenDisabled *string `json:"when_disabled,omitempty"`
	// `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
	Ordering *string `json:"ordering,omitempty"`
	// With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
	AfterFailure *string `json:"after_failure,omitempty"`
	// The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
	Format *string `json:"format,omitempty"`
	// Sends `traceparent` and `tracestate` to the receiver.
	TraceContext *bool `json:"trace_context,omitempty"`
	// The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
	Signatures []string `json:"signatures,omitempty"`
	// Your own name for it, unique within the tenant.
	UID *string `json:"uid,omitempty"`
	Metadata any `json:"metadata,omitempty"`
	// With `enabled: true`: held deliveries are sent (`release`, the default) or cancelled (`cancel`).
	Held *string `json:"held,omitempty"`
}

type EndpointDamage struct {
	// The parts that cannot be read. A rotation with `overlap_seconds` 0 repairs a secret; setting anything else again repairs it.
	Parts []string `json:"parts"`
	// How it is damaged, in a sentence.
	Reason string `json:"reason"`
}

type EndpointHeldKeys struct {
	HeldKeys
	Endpoint string `json:"endpoint"`
}

type EndpointPart = string

type EndpointReplacement struct {
	// A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
	URL string `json:"url"`
	// The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
	Events []string `json:"events"`
	// Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
	Filter any `json:"filter,omitempty"`
	// A note for people, on one line.
	Description *string `json:"description,omitempty"`
	// Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.
	Headers map[string]string `json:"headers,omitempty"`
	Auth any `json:"auth,omitempty"`
	// PEM of the authorities of its certificate.
	Ca *string `json:"ca,omitempty"`
	// The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
	RatePerSecond *float64 `json:"rate_per_second,omitempty"`
	// The maximum number of attempts at once: the ceiling of the adaptive cap.
	MaxInFlight *int64 `json:"max_in_flight,omitempty"`
	// While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
	WhenDisabled *string `json:"when_disabled,omitempty"`
	// `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
	Ordering *string `json:"ordering,omitempty"`
	// With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
	AfterFailure *string `json:"after_failure,omitempty"`
	// The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
	Format *string `json:"format,omitempty"`
	// Sends `traceparent` and `tracestate` to the receiver.
	TraceContext *bool `json:"trace_context,omitempty"`
	// The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
	Signatures []string `json:"signatures,omitempty"`
	// For your own use: at most 4096 bytes of JSON.
	Metadata any `json:"metadata,omitempty"`
	// By default it stays as it is; a new endpoint is enabled.
	Enabled *bool `json:"enabled,omitempty"`
	// Needed only if the path contains an id. If you leave it out in that case, the endpoint loses its `uid`.
	UID *string `json:"uid,omitempty"`
	// If this registers the endpoint: a secret that its receiver already verifies with; needs the scope `secrets`. An endpoint that exists keeps its own; a rotation replaces it.
	Secret *string `json:"secret,omitempty"`
	// If you send back what you read: it must be that of the endpoint in the path.
	ID *string `json:"id,omitempty"`
	// If you send back what you read: it must be that of the endpoint in the path.
	Tenant *string `json:"tenant,omitempty"`
	// Ignored.
	DisabledReason *string `json:"disabled_reason,omitempty"`
	// Ignored.
	SecretSwitchesAt *string `json:"secret_switches_at,omitempty"`
	// Ignored.
	Damaged *EndpointDamage `json:"damaged,omitempty"`
	// Ignored.
	CreatedAt *string `json:"created_at,omitempty"`
	// Ignored.
	UpdatedAt *string `json:"updated_at,omitempty"`
	// Ignored.
	Health any `json:"health,omitempty"`
}

// A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
type EndpointUrl = string

type EndpointWithHealth struct {
	Endpoint
	Health Health `json:"health"`
}

type Event struct {
	EventFacts
	// Byte for byte as it was published; null once it has been erased.
	Data json.RawMessage `json:"data"`
	// At most 100 deliveries.
	Deliveries []Delivery `json:"deliveries"`
	// How many deliveries there are, whether shown here or not.
	DeliveryCount int64 `json:"delivery_count"`
	// The path of the full list; null if all of them are shown here.
	MoreDeliveries *string `json:"more_deliveries"`
}

type EventBatch struct {
	Events []BatchItem `json:"events"`
}

type EventDraft struct {
	Type string `json:"type"`
	// Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
	Data any `json:"data"`
	// When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
	CreatedAt *string `json:"created_at,omitempty"`
	// Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
	PublisherID *string `json:"publisher_id,omitempty"`
	// Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
	Tags []string `json:"tags,omitempty"`
	// What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.
	OrderingKey *string `json:"ordering_key,omitempty"`
	// With a key for every tenant: the tenant of the event.
	Tenant *string `json:"tenant,omitempty"`
}

type EventFacts struct {
	ID string `json:"id"`
	Type string `json:"type"`
	// When it happened, according to the publisher.
	CreatedAt string `json:"created_at"`
	// When webhookd committed it. Lists and retention use this time.
	ReceivedAt string `json:"received_at"`
	Tenant string `json:"tenant"`
	Test bool `json:"test"`
	// `failed` if any of its deliveries is, else `pending` if any is, else `held`, `delivered`, `cancelled`, `shadowed`; `unmatched` if no endpoint chose it.
	Status string `json:"status"`
	// The publisher's own id for it; null if it has none.
	PublisherID *string `json:"publisher_id"`
	// The publisher's tags, sorted; at most 5.
	Tags []string `json:"tags"`
	// Endpoints with `ordering` `by_key` get the events of this key in order; null if it has none.
	OrderingKey *string `json:"ordering_key"`
	// When its data was erased; null if it was not.
	ErasedAt *string `json:"erased_at"`
}

type EventSummary struct {
	EventFacts
	// Byte for byte as it was published; null once it has been erased.
	Data json.RawMessage `json:"data,omitempty"`
	// At most 100 deliveries.
	Deliveries []Delivery `json:"deliveries,omitempty"`
	// How many deliveries there are, whether shown here or not.
	DeliveryCount *int64 `json:"delivery_count,omitempty"`
	// The path of the full list; null if all of them are shown here.
	MoreDeliveries *string `json:"more_deliveries,omitempty"`
}

type EventType struct {
	Name string `json:"name"`
	Description string `json:"description"`
	// JSON Schema 2020-12 of `data`. Published data is checked against it if `validation` says so, or `[events] validate`.
	Schema json.RawMessage `json:"schema"`
	// An example of `data`, and the `data` of a test event.
	Sample json.RawMessage `json:"sample"`
	// Whether the data is specified, or only an example.
	Source string `json:"source"`
	// A word under which types are shown together.
	Group *string `json:"group"`
	// What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
	Validation *string `json:"validation"`
	// Whether new publishers and subscribers should use another type.
	Deprecated bool `json:"deprecated"`
	// Since when it is deprecated.
	DeprecatedAt *string `json:"deprecated_at"`
	// When its events are expected to end. Nothing happens by itself then.
	SunsetAt *string `json:"sunset_at"`
	// Whether no endpoint may choose it any more. It can still be published, and those who chose it still receive it.
	Archived bool `json:"archived"`
	// `specification`: fixed; `configuration`: from `[[event_types]]`; `api`: it can be changed with this interface.
	DefinedIn string `json:"defined_in"`
}

type EventTypeDraft struct {
	// Words of letters, digits, `_` and `-`, separated by dots: at most 128 characters.
	Name string `json:"name"`
	// What the event says, for subscribers, on one line.
	Description *string `json:"description,omitempty"`
	// JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
	Schema any `json:"schema,omitempty"`
	// An example of `data`, which must match the schema; by default one is made from the schema.
	Sample any `json:"sample,omitempty"`
	// A word under which types are shown together.
	Group *string `json:"group,omitempty"`
	// What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
	Validation *string `json:"validation,omitempty"`
	// Warns publishers with a `Deprecation` header, and subscribers in the portal.
	Deprecated *bool `json:"deprecated,omitempty"`
	// For a deprecated type: when its events are expected to end, for the `Sunset` header.
	SunsetAt *string `json:"sunset_at,omitempty"`
	// Stops offering it to endpoints; those that chose it still receive it.
	Archived *bool `json:"archived,omitempty"`
}

type EventTypeImport struct {
	// The types to add or to change. What you leave out of a type stays as it is.
	Types []ImportedType `json:"types"`
	// Only return what the import would do.
	DryRun *bool `json:"dry_run,omitempty"`
}

type EventTypeImported struct {
	Data []struct {
	Name string `json:"name"`
	// `refused` occurs only with `dry_run`.
	Result string `json:"result"`
	// The fields that change. Empty unless `result` is `changed`.
	Changed []string `json:"changed"`
	// Why the type is refused.
	Reason *string `json:"reason"`
} `json:"data"`
	// True if nothing was done.
	DryRun bool `json:"dry_run"`
}

type EventTypeName = string

type EventTypeSettings struct {
	// What the event says, for subscribers, on one line.
	Description *string `json:"description,omitempty"`
	// JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
	Schema any `json:"schema,omitempty"`
	// An example of `data`, which must match the schema; by default one is made from the schema.
	Sample any `json:"sample,omitempty"`
	// A word under which types are shown together.
	Group *string `json:"group,omitempty"`
	// What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
	Validation *string `json:"validation,omitempty"`
	// Warns publishers with a `Deprecation` header, and subscribers in the portal.
	Deprecated *bool `json:"deprecated,omitempty"`
	// For a deprecated type: when its events are expected to end, for the `Sunset` header.
	SunsetAt *string `json:"sunset_at,omitempty"`
	// Stops offering it to endpoints; those that chose it still receive it.
	Archived *bool `json:"archived,omitempty"`
	// If you send back what you read: it must be the name in the path.
	Name *string `json:"name,omitempty"`
	// Ignored.
	Source *string `json:"source,omitempty"`
	// Ignored.
	DeprecatedAt *string `json:"deprecated_at,omitempty"`
	// Ignored.
	DefinedIn *string `json:"defined_in,omitempty"`
}

type Explanation struct {
	Event string `json:"event"`
	Endpoint string `json:"endpoint"`
	// The first eight are about its delivery: `retrying` is due later, `waiting` is due and waits for its turn, `behind` waits for another event with its ordering key, `erased` was cancelled and its event erased. The next ones say why there is none. `unknown`: what would tell is not kept any more.
	Reason string `json:"reason"`
	// The answer in one sentence, for people. Its words may change.
	Sentence string `json:"sentence"`
	// When it was delivered, failed or was erased, when it is due, or when the endpoint was registered or deleted; null for other reasons, and if it is not known.
	At *string `json:"at"`
	// The delivery; null if there is none.
	Delivery *string `json:"delivery"`
	// The conditions of the filter that decided; empty for any other reason, and if the event's data is gone.
	Decided []FilterDecision `json:"decided"`
	// What the endpoint had chosen when the event was published, if that is the reason; otherwise null.
	Choice *struct {
	Since string `json:"since"`
	Events []string `json:"events"`
	Filter json.RawMessage `json:"filter"`
	Enabled bool `json:"enabled"`
	WhenDisabled string `json:"when_disabled"`
} `json:"choice"`
}

type FailureGroup struct {
	Endpoint string `json:"endpoint"`
	Error string `json:"error"`
	// The status code that the receiver answered with, if it answered.
	StatusCode *int64 `json:"status_code"`
	// Deliveries that have failed for good, until they are replayed.
	Failed int64 `json:"failed"`
	// Deliveries that failed this way and will be retried.
	Pending int64 `json:"pending"`
	// The same, but for a disabled endpoint: kept, not sent.
	Held int64 `json:"held"`
	// When the first of them began to fail this way.
	FirstAt string `json:"first_at"`
	// When the latest of these attempts began.
	LastAt string `json:"last_at"`
	// How many deliveries last failed in each step, oldest first.
	Series []int64 `json:"series"`
	// The latest of these attempts.
	SampleAttempt string `json:"sample_attempt"`
}

type Failures struct {
	// Only events received since this instant were counted. It is later than you asked for if more deliveries have failed than can be counted.
	Since string `json:"since"`
	// When the first step of each series begins: a full minute, or a full hour if a step is an hour or longer. What failed earlier counts in that step.
	SeriesSince string `json:"series_since"`
	// How long each step of a series is.
	StepSeconds int64 `json:"step_seconds"`
	// How many groups there are; at most 500 are returned.
	Total int64 `json:"total"`
	// The groups with the most deliveries first.
	Data []FailureGroup `json:"data"`
}

type FieldProblem struct {
	// A JSON pointer (RFC 6901) into the body, `""` for all of it; `?name` for a parameter.
	Pointer string `json:"pointer"`
	Code string `json:"code"`
	Detail string `json:"detail"`
}

type FilterDecision struct {
	// The condition in the filter, as a JSON pointer.
	Pointer string `json:"pointer"`
	// Where it looked in the event, as a JSON pointer.
	Path string `json:"path"`
	// The value there as JSON, cut after 200 characters; null if there is none.
	Found *string `json:"found"`
	// Whether the condition is met.
	Holds bool `json:"holds"`
}

// Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
type FilterDocument = json.RawMessage

type FilterResult struct {
	// Whether the filter takes the event.
	Matches bool `json:"matches"`
	// The filter would have to test more values of the event than it may, so the event is accepted.
	TooLarge bool `json:"too_large"`
	// The conditions that decided: the one that is not met, or all that are; empty without a filter, and for an event that is too large for them to be found.
	Decided []FilterDecision `json:"decided"`
}

type FilterTest struct {
	// The filter to try; by default the one that the endpoint has.
	Filter any `json:"filter,omitempty"`
	// The id of an event whose data is still kept.
	Event *string `json:"event,omitempty"`
	// In place of `event`: the type of an event.
	Type *string `json:"type,omitempty"`
	// In place of `event`: the data of an event.
	Data any `json:"data,omitempty"`
	// In place of `event`: the tags of an event.
	Tags []string `json:"tags,omitempty"`
}

type Halt struct {
	// `operator`: all sending is paused. `unrecorded`: results of attempts cannot be recorded. `unreachable`: nothing can be reached, or this host has no route or no DNS. `shortage`: this host is short of file descriptors, memory or something else that attempts need. `lease`: another process may have taken over the PostgreSQL database, because this one could not renew its lease. `stopping`: the daemon is stopping.
	Reason string `json:"reason"`
	Since string `json:"since"`
	// The reason, in a sentence.
	Detail string `json:"detail"`
}

// When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
type HappenedAt = string

// Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.
type HeaderValues = map[string]string

type Health struct {
	LastSuccessAt *string `json:"last_success_at"`
	LastFailureAt *string `json:"last_failure_at"`
	// Failed attempts since the last success, or since it was enabled.
	ConsecutiveFailures int64 `json:"consecutive_failures"`
	// Deliveries that are pending now, counted up to the maximum; `held` and `failed` are counted the same way.
	Pending int64 `json:"pending"`
	Held int64 `json:"held"`
	Failed int64 `json:"failed"`
	// The ordering keys of which nothing is sent, because an event failed and `after_failure` is `hold`; null if there is none.
	HeldKeys *HeldKeys `json:"held_keys"`
	// How many attempts to it may be on the wire at once for now: fewer if it is slow to answer. Other deliveries that are due wait for their turn. Null if another node sends to it.
	AtOnce *int64 `json:"at_once"`
}

type HeldKeys struct {
	// How many are held, counted up to the maximum. In a list of more than ten endpoints, each is counted up to its share of 100,000.
	Count int64 `json:"count"`
	// Since when the one that has been held for longest is held.
	Since string `json:"since"`
	// That key.
	OrderingKey string `json:"ordering_key"`
	// The failed event that holds it. To go on, replay it, or cancel it to leave it out: the next event of the key is sent then.
	Event string `json:"event"`
}

type ImportedType struct {
	// Words of letters, digits, `_` and `-`, separated by dots: at most 128 characters.
	Name string `json:"name"`
	// What the event says, for subscribers, on one line.
	Description *string `json:"description,omitempty"`
	// JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
	Schema any `json:"schema,omitempty"`
	// An example of `data`, which must match the schema; by default one is made from the schema.
	Sample any `json:"sample,omitempty"`
	// A word under which types are shown together.
	Group *string `json:"group,omitempty"`
	// Warns publishers with a `Deprecation` header, and subscribers in the portal.
	Deprecated *bool `json:"deprecated,omitempty"`
}

type Job struct {
	ID string `json:"id"`
	// The tenant whose deliveries it works on, or `*` for every tenant.
	Tenant string `json:"tenant"`
	Action string `json:"action"`
	Status string `json:"status"`
	// The filter as it was requested.
	Filter json.RawMessage `json:"filter"`
	// How many deliveries the set had when the job was created.
	Matched int64 `json:"matched"`
	// Delivered, failed or cancelled. In the end `done` and `skipped` add up to `matched`.
	Done int64 `json:"done"`
	Delivered int64 `json:"delivered"`
	// Counted by the job's own attempts; the retries of a replay follow the ladder.
	Failed int64 `json:"failed"`
	// Deliveries that no longer qualified when their turn came.
	Skipped int64 `json:"skipped"`
	// How many deliveries per second to each endpoint.
	RatePerSecond float64 `json:"rate_per_second"`
	Canary bool `json:"canary"`
	Reason string `json:"reason"`
	// Why the job paused itself; null if it did not.
	PausedReason *string `json:"paused_reason"`
	CreatedAt string `json:"created_at"`
	// Null while the job is running or paused.
	EndedAt *string `json:"ended_at"`
}

type JobDraft struct {
	// `replay` begins a new round; `attempt_now` makes one attempt outside the ladder; `cancel` cancels open deliveries.
	Action string `json:"action"`
	// The same filter as for lists; `{}` selects everything that the action applies to.
	Filter struct {
	// `replay` works on failed deliveries, or on `delivered` ones if you ask for them; `attempt_now` on pending or `failed` ones; `cancel` on pending and held ones, or on one of the two.
	Status *string `json:"status,omitempty"`
	Type *string `json:"type,omitempty"`
	Endpoint *string `json:"endpoint,omitempty"`
	// Only deliveries of these events.
	Events []string `json:"events,omitempty"`
	// Only deliveries whose last attempt ended with this error.
	Error *string `json:"error,omitempty"`
	// The status code of the last attempt: `503`, or `5xx` for 500 to 599.
	StatusCode *string `json:"status_code,omitempty"`
	Since *string `json:"since,omitempty"`
	Until *string `json:"until,omitempty"`
	// Only deliveries of test events, which are otherwise left out.
	Test *bool `json:"test,omitempty"`
	// Back-fills one `endpoint` with events of its types for which it has no delivery. Can be combined only with `replay`, `type`, `since` and `until`.
	Missing *bool `json:"missing,omitempty"`
} `json:"filter"`
	// Only return what the job would work on.
	DryRun *bool `json:"dry_run,omitempty"`
	// Refuse the job unless the set has exactly this many deliveries.
	Expect *int64 `json:"expect,omitempty"`
	// How many deliveries per second to each endpoint; at least 0.001.
	RatePerSecond *float64 `json:"rate_per_second,omitempty"`
	// The first delivery to each endpoint is tried alone. A failure pauses the job; a success lets it continue.
	Canary *bool `json:"canary,omitempty"`
	Reason *string `json:"reason,omitempty"`
}

type JobPlan struct {
	Action string `json:"action"`
	// The number to pass as `expect`.
	Matched int64 `json:"matched"`
	// How many of them timed out at their last attempt, so the receiver may have handled them.
	TimedOut int64 `json:"timed_out"`
	// How long the job takes at this pace.
	EtaSeconds int64 `json:"eta_seconds"`
	Endpoints []struct {
	Endpoint string `json:"endpoint"`
	Matched int64 `json:"matched"`
	TimedOut int64 `json:"timed_out"`
} `json:"endpoints"`
	// Deliveries that match the filter but cannot be sent now.
	LeftAlone []struct {
	Endpoint string `json:"endpoint"`
	Deliveries int64 `json:"deliveries"`
	Reason string `json:"reason"`
} `json:"left_alone"`
}

type Key struct {
	ID string `json:"id"`
	Name string `json:"name"`
	Scopes []string `json:"scopes"`
	// A tenant's name, or `*` for every tenant.
	Tenant string `json:"tenant"`
	CreatedAt string `json:"created_at"`
	ExpiresAt *string `json:"expires_at"`
	// Accurate to the minute.
	LastUsedAt *string `json:"last_used_at"`
	RevokedAt *string `json:"revoked_at"`
	// For a portal link: the endpoints that it is limited to, the URL that its page links back to, and the key that created it. Null for any other key.
	Portal *struct {
	Endpoints []string `json:"endpoints"`
	ReturnURL *string `json:"return_url"`
	MadeBy *string `json:"made_by"`
} `json:"portal"`
}

type KeyDraft struct {
	Name *string `json:"name,omitempty"`
	Scopes []string `json:"scopes"`
	// The tenant whose data it can access, or `*` for every tenant. By default the tenant of the calling key, or `default`.
	Tenant *string `json:"tenant,omitempty"`
	ExpiresAt *string `json:"expires_at,omitempty"`
}

type LastAdminKey struct {
	ID string `json:"id"`
	// A warning that no admin key for every tenant is left, and how to get access now.
	Note string `json:"note"`
}

type ListPage struct {
	// Pass it as `cursor` to get the next page; null at the end of the list.
	NextCursor *string `json:"next_cursor"`
	// Finding these rows took too long, or what they say is too large for one page: the page is short, perhaps empty, and the list continues at `next_cursor`.
	CutShort *bool `json:"cut_short,omitempty"`
	// With `data`: how far the search got. Nothing up to there is missing; the search continues at `next_cursor`.
	Searched *struct {
	// How many events this page searched.
	Events int64 `json:"events"`
	// When the last event searched was received; null at the end of the list.
	Until *string `json:"until"`
} `json:"searched,omitempty"`
	// With `total=true`: the number of rows on all pages. Left out if counting takes too long.
	Total *int64 `json:"total,omitempty"`
	// With `total`: `at_least` if there are more, because counting stops at 10,000.
	TotalIs *string `json:"total_is,omitempty"`
}

type ListedEndpoint struct {
	Endpoint
	Health *Health `json:"health,omitempty"`
	Recent *RecentAttempts `json:"recent,omitempty"`
}

// The maximum number of attempts at once: the ceiling of the adaptive cap.
type MaxInFlight = *int64

// For your own use: at most 4096 bytes of JSON.
type Metadata = json.RawMessage

type Node struct {
	// The name of its host, with a number if another node already has that name.
	Name string `json:"name"`
	Host string `json:"host"`
	Pid int64 `json:"pid"`
	Version string `json:"version"`
	// Whether this is the node that answered.
	This bool `json:"this"`
	// When it was started.
	Since string `json:"since"`
	// When it last renewed its lease, which it does every second.
	RenewedAt string `json:"renewed_at"`
	// Whether its lease has run out; if so, the other nodes take over what it has.
	Lost bool `json:"lost"`
	// Whether it is giving up its endpoints and taking no more.
	Draining bool `json:"draining"`
	// How many of the 1,024 slots it has.
	Slots int64 `json:"slots"`
	// How many endpoints are in its slots, counted within the last 10 s.
	Endpoints int64 `json:"endpoints"`
	// Attempts on the wire.
	InFlight int64 `json:"in_flight"`
	// When the oldest due delivery of its endpoints fell due; null if none is due.
	OldestDueAt *string `json:"oldest_due_at"`
	// Why it is sending nothing now, or less than it could: the same reasons as in `getStatus`.
	NotSending []string `json:"not_sending"`
	// By how many milliseconds the clock of its host is ahead of the one of PostgreSQL, which all nodes use; negative if it is behind. Null if unknown.
	ClockAheadMs *int64 `json:"clock_ahead_ms"`
}

type NodeList struct {
	Data []Node `json:"data"`
}

// `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
type Ordering = string

// What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.
type OrderingKey = string

type Outbox struct {
	Name string `json:"name"`
	Database string `json:"database"`
	// Its host and database, or its file; no password.
	Place string `json:"place"`
	Table string `json:"table"`
	// True if it can be read.
	Up bool `json:"up"`
	// The time since which that has been so.
	Since string `json:"since"`
	// Why it cannot be read, or why its rows cannot be published, and what to do; null while all is well.
	Trouble *struct {
	What string `json:"what"`
	Todo string `json:"todo"`
} `json:"trouble"`
	// Rows that wait to be published; 100000 means as many or more. Null until they have been counted.
	Waiting *int64 `json:"waiting"`
	// The age of the first of these rows; null if there is none, or if the table has no `created_at`.
	OldestSeconds *float64 `json:"oldest_seconds"`
	// Rows that cannot be events, counted like `waiting`.
	SetAside *int64 `json:"set_aside"`
	// Events that this process has published from it since it started.
	Published int64 `json:"published"`
}

type OutboxList struct {
	Data []Outbox `json:"data"`
}

type Pause struct {
	Reason string `json:"reason"`
	// The key that was used, `socket`, `serve --paused`, or `restore`.
	By string `json:"by"`
	At string `json:"at"`
	// False if the disk is full: until there is space, a restart forgets it.
	Saved bool `json:"saved"`
}

type PauseAnswer struct {
	// While all sending is paused: since when, by whom and why. Otherwise null.
	Paused *Pause `json:"paused"`
}

type PauseRequest struct {
	// The reason, for the next person who looks.
	Reason string `json:"reason"`
}

type Portal struct {
	// A tenant's name, or `*` for every tenant.
	Tenant string `json:"tenant"`
	// What the link may do, including what each scope includes.
	Can []string `json:"can"`
	// The endpoints that it is limited to; null means all endpoints of the tenant.
	Endpoints []string `json:"endpoints"`
	// When the key expires; null if it does not.
	ExpiresAt *string `json:"expires_at"`
	ReturnURL *string `json:"return_url"`
	// `[portal] name`.
	Name string `json:"name"`
	// `[portal] logo_url`.
	LogoURL *string `json:"logo_url"`
	Colors struct {
	// `[portal] accent`, as `#rrggbb`.
	Accent *string `json:"accent"`
	// `[portal] header_color`, as `#rrggbb`.
	Header *string `json:"header"`
} `json:"colors"`
	// `[portal] radius`, in pixels.
	Radius int64 `json:"radius"`
	// `[portal] font`.
	Font *string `json:"font"`
	// `[portal] font_url`.
	FontURL *string `json:"font_url"`
	// `[portal] footer`.
	Footer string `json:"footer"`
	// `[portal] terms_url`.
	TermsURL *string `json:"terms_url"`
	// `[portal] help_url`.
	HelpURL *string `json:"help_url"`
	// The wait between each failure and the next attempt, in seconds: one number for each retry.
	RetrySchedule []int64 `json:"retry_schedule"`
	// `[signature] header`: the header that receivers verify.
	SignatureHeader string `json:"signature_header"`
	// `[signature] standard_webhooks`: `webhook-signature` is sent too.
	StandardWebhooks bool `json:"standard_webhooks"`
	// How long deliveries of a disabled endpoint are held before they fail.
	HeldSeconds int64 `json:"held_seconds"`
}

type PortalLink struct {
	// The link with its key: shown here and never again.
	URL string `json:"url"`
	// `DELETE /v1/keys/{id}` ends the link.
	KeyID string `json:"key_id"`
	Tenant string `json:"tenant"`
	// What the link may do, including what each scope includes.
	Can []string `json:"can"`
	// The endpoints that it is limited to; null means all endpoints of the tenant.
	Endpoints []string `json:"endpoints"`
	ExpiresAt string `json:"expires_at"`
	ReturnURL *string `json:"return_url"`
}

type PortalLinkDraft struct {
	// Whose endpoints the page shows, or `*` for every tenant. By default the tenant of the calling key, or `default`.
	Tenant *string `json:"tenant,omitempty"`
	// Also make the link if the tenant has had no endpoint, no event and no key of its own so far, as a new customer has not. Otherwise such a name is taken for a typing error.
	NewTenant *bool `json:"new_tenant,omitempty"`
	// Seconds. The link never outlives the key that asks for it.
	ExpiresIn *int64 `json:"expires_in,omitempty"`
	// Only these endpoints, by id. By default, all endpoints of the tenant.
	Endpoints []string `json:"endpoints,omitempty"`
	// `read` is always included. `replay` also allows test events and attempts; `manage` includes `replay` and allows changes to endpoints; `secrets` allows viewing and rotating signing secrets, and setting headers.
	Can []string `json:"can,omitempty"`
	// The URL that the page links back to.
	ReturnURL *string `json:"return_url,omitempty"`
}

type Problem struct {
	// `urn:webhookd:problem:` followed by the code.
	Type string `json:"type"`
	Title string `json:"title"`
	Status int64 `json:"status"`
	// What happened and what to do next, for a person to read.
	Detail string `json:"detail"`
	// Stable, for programs to check.
	Code string `json:"code"`
	// Whether the same request may succeed later. If not, change what `detail` and `errors` name first.
	Retryable bool `json:"retryable"`
	// The fields that are wrong, at most 20.
	Errors []FieldProblem `json:"errors,omitempty"`
	// The same id as in `X-Request-Id`; it is also in the daemon's log.
	RequestID string `json:"request_id"`
}

type Publication struct {
	ID string `json:"id"`
	Type string `json:"type"`
	CreatedAt string `json:"created_at"`
	// How many endpoints it goes to.
	DeliveryCount int64 `json:"delivery_count"`
	// Data that does not match the schema of a type whose `validation` is `warn`, at most 20. The events were accepted anyway.
	Warnings []DataWarning `json:"warnings,omitempty"`
}

// Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
type PublishedData = json.RawMessage

// Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
type PublisherId = string

// The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
type RatePerSecond = *float64

type RecentAttempts struct {
	Since string `json:"since"`
	// The length of each part; the last one is not over yet.
	StepSeconds int64 `json:"step_seconds"`
	// Successful attempts in each part.
	Succeeded []int64 `json:"succeeded"`
	// Failed attempts in each part.
	Failed []int64 `json:"failed"`
}

type RegisteredEndpoint struct {
	Endpoint
	// Signs what is sent to this endpoint. Shown only here and to keys with the scope `secrets`.
	SigningSecret string `json:"signing_secret"`
}

type Registration struct {
	// A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
	URL string `json:"url"`
	// The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
	Events []string `json:"events"`
	// Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
	Filter any `json:"filter,omitempty"`
	// A note for people, on one line.
	Description *string `json:"description,omitempty"`
	// Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.
	Headers map[string]string `json:"headers,omitempty"`
	Auth any `json:"auth,omitempty"`
	// PEM of the authorities of its certificate.
	Ca *string `json:"ca,omitempty"`
	// The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
	RatePerSecond *float64 `json:"rate_per_second,omitempty"`
	// The maximum number of attempts at once: the ceiling of the adaptive cap.
	MaxInFlight *int64 `json:"max_in_flight,omitempty"`
	// Whether anything is sent to it.
	Enabled *bool `json:"enabled,omitempty"`
	// While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
	WhenDisabled *string `json:"when_disabled,omitempty"`
	// `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
	Ordering *string `json:"ordering,omitempty"`
	// With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
	AfterFailure *string `json:"after_failure,omitempty"`
	// The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
	Format *string `json:"format,omitempty"`
	// Sends `traceparent` and `tracestate` to the receiver.
	TraceContext *bool `json:"trace_context,omitempty"`
	// The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
	Signatures []string `json:"signatures,omitempty"`
	// Your own name for it, unique within the tenant.
	UID *string `json:"uid,omitempty"`
	// For your own use: at most 4096 bytes of JSON.
	Metadata any `json:"metadata,omitempty"`
	// A secret that its receiver already verifies with, from another sender. By default, a new one is made.
	Secret *string `json:"secret,omitempty"`
}

type Rekeyed struct {
	// How many endpoints are now sealed with the new key, including the one for alerts.
	Resealed int64 `json:"resealed"`
	// The path of the new key on the daemon's host. Copy it to another host.
	SecretKeyFile string `json:"secret_key_file"`
	// Identifies the new key without revealing it.
	KeyID string `json:"key_id"`
	// The path of the old key. Older backups need it, unless it is sealed into them. Null if its file was missing.
	Kept *string `json:"kept"`
	// Endpoints whose secrets or headers could not be unsealed with the old key either. They are unchanged.
	Damaged []string `json:"damaged"`
}

type ReplayedEvent struct {
	Event
	// Failed deliveries that are not replayed, and why.
	LeftAlone []struct {
	Delivery string `json:"delivery"`
	Endpoint string `json:"endpoint"`
	Reason string `json:"reason"`
} `json:"left_alone"`
}

type ResumeAnswer struct {
	// While all sending is paused: since when, by whom and why. Otherwise null.
	Paused *Pause `json:"paused"`
	// Whether sending was paused until this call. If it was not, nothing changed.
	WasPaused bool `json:"was_paused"`
}

type ResumeRequest struct {
	// Try one more delivery alone, for each endpoint that has not accepted one yet.
	Canary *bool `json:"canary,omitempty"`
	// Send everything that is left, at the job's pace.
	SendAll *bool `json:"send_all,omitempty"`
}

type RowsAnswer struct {
	// How many rows that was.
	Rows int64 `json:"rows"`
}

type RowsRequest struct {
	// The rows. By default all that were set aside.
	Ids []string `json:"ids,omitempty"`
}

type SetAsideRow struct {
	ID string `json:"id"`
	Type *string `json:"type"`
	// Why it cannot be an event.
	Problem string `json:"problem"`
}

type SetAsideRows struct {
	Data []SetAsideRow `json:"data"`
}

type SigningKeySet struct {
	Keys []struct {
	Kty json.RawMessage `json:"kty"`
	Crv json.RawMessage `json:"crv"`
	X string `json:"x"`
	Use json.RawMessage `json:"use"`
	// The thumbprint of RFC 7638.
	Kid string `json:"kid"`
} `json:"keys"`
}

type SigningKeys struct {
	// Verifies `v1a` in `webhook-signature`: `whpk_` and base64, as in Standard Webhooks. Null until the tenant has a key: the first endpoint that chooses `ed25519` makes it, or a rotation.
	PublicKey *string `json:"public_key"`
	// Only during a rotation: its private key already signs too, and takes over afterwards.
	NextPublicKey *string `json:"next_public_key,omitempty"`
	// During a rotation: when the next key takes over.
	SwitchesAt *string `json:"switches_at,omitempty"`
	// Whether anyone may read the public keys at `jwks.json`, without an API key.
	Published bool `json:"published"`
}

type SigningSecrets struct {
	// Signs `X-Service-Signature` and, together with the next one, `webhook-signature`.
	SigningSecret string `json:"signing_secret"`
	// Only during a rotation: already signs `webhook-signature`, and takes over afterwards.
	NextSigningSecret *string `json:"next_signing_secret,omitempty"`
	// During a rotation: when the next secret takes over.
	SwitchesAt *string `json:"switches_at,omitempty"`
}

type Statistics struct {
	Window string `json:"window"`
	Since string `json:"since"`
	Until string `json:"until"`
	// How long each step of the series is; the last step is not over yet.
	StepSeconds int64 `json:"step_seconds"`
	Endpoint *string `json:"endpoint"`
	// Events; null for one endpoint, because events are published to a tenant.
	Published *struct {
	Total int64 `json:"total"`
	PerSecond float64 `json:"per_second"`
	ByType map[string]int64 `json:"by_type"`
} `json:"published"`
	Attempts struct {
	Total int64 `json:"total"`
	PerSecond float64 `json:"per_second"`
	Succeeded int64 `json:"succeeded"`
	Failed int64 `json:"failed"`
	// Attempts that the daemon ended itself; they are made again.
	Interrupted int64 `json:"interrupted"`
	// Failed attempts, by their `error`.
	ByError map[string]int64 `json:"by_error"`
} `json:"attempts"`
	// Deliveries that reached this status.
	Deliveries struct {
	Delivered int64 `json:"delivered"`
	Failed int64 `json:"failed"`
} `json:"deliveries"`
	// The durations of attempts, estimated from buckets and so up to a fifth off; null if there were none. `first_attempt_delay_ms` and the durations of the series are estimated the same way.
	DurationMs struct {
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
	P99 *float64 `json:"p99"`
} `json:"duration_ms"`
	// From the publish request to the start of the first attempt.
	FirstAttemptDelayMs struct {
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
	P99 *float64 `json:"p99"`
} `json:"first_attempt_delay_ms"`
	Series []struct {
	At string `json:"at"`
	Published int64 `json:"published"`
	Succeeded int64 `json:"succeeded"`
	Failed int64 `json:"failed"`
	DurationP50Ms *float64 `json:"duration_p50_ms"`
	DurationP95Ms *float64 `json:"duration_p95_ms"`
} `json:"series"`
}

type Status struct {
	Version string `json:"version"`
	// The version of the store's schema.
	Schema int64 `json:"schema"`
	// Whether events are accepted, as in the answer of `/readyz`. A pause does not change this.
	State string `json:"state"`
	// Since when and why this process cannot use its PostgreSQL, with what to do about it; null while it can. Meanwhile, everything that is read from the store is as it was last known.
	StoreOutage *struct {
	Since string `json:"since"`
	Detail string `json:"detail"`
} `json:"store_outage"`
	StartedAt string `json:"started_at"`
	UptimeSeconds int64 `json:"uptime_seconds"`
	// While all sending is paused: since when, by whom and why. Otherwise null.
	Paused *Pause `json:"paused"`
	// Every reason why nothing is being sent now, or less than could be; empty if all is well. No delivery loses an attempt because of these.
	NotSending []Halt `json:"not_sending"`
	// When the oldest due delivery fell due, on any node; null if none is due. Held deliveries do not count.
	OldestDueAt *string `json:"oldest_due_at"`
	// All nodes that share the store, including this one; empty if this is the only process. `not_sending` and all other fields are about the node that answers.
	Nodes []Node `json:"nodes"`
	// By how many milliseconds the clock of this host is ahead of the one of PostgreSQL, by which everything goes; negative if it is behind. Null if the store is not in PostgreSQL.
	ClockAheadMs *int64 `json:"clock_ahead_ms"`
	// By how many milliseconds the instant in the id of the latest event is ahead of the clock, because the clock was ahead when an event was published. `received_at` and all filters by time go by the clock; ids only rise, at half its speed until it has caught up. Null if ids are not ahead.
	IdsAheadMs *int64 `json:"ids_ahead_ms"`
	// Deliveries that were due later than their ladder allows, because a clock had been wrong, and that this process has made due in time since it started.
	PutOffDeliveries int64 `json:"put_off_deliveries"`
	// Deliveries that were pending, held or failed at `counted_at`; null until the first count.
	Deliveries *struct {
	Pending int64 `json:"pending"`
	Held int64 `json:"held"`
	Failed int64 `json:"failed"`
} `json:"deliveries"`
	// When the deliveries of this answer were counted: now, or up to half a minute ago if there are so many that counting takes long. Null until the first count.
	CountedAt *string `json:"counted_at"`
	// How many deliveries have an attempt due in each of the next 60 minutes, beginning with the current one, which includes overdue deliveries. Counted like `deliveries`.
	DueByMinute []int64 `json:"due_by_minute"`
	// Deliveries that are waiting for their turn, and the endpoints whose deliveries have waited for ten seconds or longer. At most five endpoints are listed, the longest wait first, and only those that this process sends to.
	Overdue struct {
	// Deliveries that fell due in an earlier minute and have not been attempted since, counted like `deliveries`; null until the first count.
	Deliveries *int64 `json:"deliveries"`
	Behind []struct {
	Endpoint string `json:"endpoint"`
	Tenant string `json:"tenant"`
	URL string `json:"url"`
	OldestDueAt string `json:"oldest_due_at"`
	// How many attempts to it are made at a time: fewer if it is slow to answer.
	AtOnce int64 `json:"at_once"`
} `json:"behind"`
} `json:"overdue"`
	// A move of the store with `webhookd migrate --online` that has been neither finished nor given up. The store records each change for it. Null if there is none.
	OpenMove *struct {
	// Null if unknown.
	Since *string `json:"since"`
} `json:"open_move"`
	// The paths of the store and of its `secret.key` on the daemon's host.
	Data struct {
	Dir string `json:"dir"`
	SecretKeyFile string `json:"secret_key_file"`
} `json:"data"`
	Disk struct {
	// Space that can still be used, including free space inside the database. 9007199254740991 if the store is in PostgreSQL, whose disk is not known here.
	FreeBytes int64 `json:"free_bytes"`
	// With less free space than this, new events are refused (507).
	FloorBytes int64 `json:"floor_bytes"`
} `json:"disk"`
	Database struct {
	Bytes int64 `json:"bytes"`
	WalBytes int64 `json:"wal_bytes"`
	// Why the write-ahead log is growing, in a sentence; null while it is not. It keeps filling the disk until that is fixed.
	WalTrouble *string `json:"wal_trouble"`
} `json:"database"`
	// Set if the database was found damaged: the data that could be read is in a new database, which is now in use. Null if there is no damage to look into.
	DamagedDatabase *Damage `json:"damaged_database"`
	Backup struct {
	// 0 means that backups are made only on request.
	EverySeconds int64 `json:"every_seconds"`
	Dir string `json:"dir"`
	// The latest complete backup; null if there is none.
	Last *Backup `json:"last"`
	// Why the last backup failed; null once one succeeds.
	Failure *struct {
	At string `json:"at"`
	Detail string `json:"detail"`
} `json:"failure"`
} `json:"backup"`
	// The tables of `[[outbox]]` that this process reads, as in `/v1/outboxes`.
	Outboxes []Outbox `json:"outboxes"`
	// Spans; null without `[telemetry]`.
	Traces *struct {
	Exported int64 `json:"exported"`
	Dropped int64 `json:"dropped"`
	Failure *struct {
	Since string `json:"since"`
	Detail string `json:"detail"`
} `json:"failure"`
} `json:"traces"`
	// Endpoints that cannot be read in full, at most twenty of them. Nothing is sent to them until they are repaired.
	DamagedEndpoints struct {
	Total int64 `json:"total"`
	Endpoints []struct {
	Endpoint string `json:"endpoint"`
	Tenant string `json:"tenant"`
	URL string `json:"url"`
	// The parts that cannot be read. A rotation with `overlap_seconds` 0 repairs a secret; setting anything else again repairs it.
	Parts []string `json:"parts"`
	// How it is damaged, in a sentence.
	Reason string `json:"reason"`
} `json:"endpoints"`
} `json:"damaged_endpoints"`
	// The ordering keys that are held, by endpoint, the longest held first; at most twenty endpoints.
	HeldKeys []EndpointHeldKeys `json:"held_keys"`
	// Client certificates that expire within 14 days.
	ClientCertificates []struct {
	Endpoint string `json:"endpoint"`
	NotAfter string `json:"not_after"`
} `json:"client_certificates"`
	// A sentence for each constant of the specification that the configuration changes.
	Departures []string `json:"departures"`
	// The ladder: the wait after each failure, in order.
	RetryDelaysSeconds []float64 `json:"retry_delays_seconds"`
	// Whether it runs with `--dev`, so that endpoints may use plain http on this machine.
	Dev bool `json:"dev"`
	// How many threads send when the load is high. At other times, and always with 0, the main thread sends.
	SenderThreads int64 `json:"sender_threads"`
	// Whether deliveries are marked on the disk before they are attempted, because the process has crashed repeatedly.
	Careful bool `json:"careful"`
	// Why the audit log cannot name callers over the unix socket; null if it can, as far as is known.
	SocketUIDTrouble *string `json:"socket_uid_trouble"`
}

// For a deprecated type: when its events are expected to end, for the `Sunset` header.
type SunsetAt = *string

// Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
type Tags = []string

type TenantSummary struct {
	Name string `json:"name"`
	// How many endpoints it has, not counting deleted ones.
	Endpoints int64 `json:"endpoints"`
	// How many events it published in the last hour, not counting tests.
	PublishedLastHour int64 `json:"published_last_hour"`
}

// A word under which types are shown together.
type TypeGroup = *string

// An example of `data`, which must match the schema; by default one is made from the schema.
type TypeSample = json.RawMessage

// JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
type TypeSchema = json.RawMessage

// What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
type Validation = *string

// While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
type WhenDisabled = string

type WholeDelivery struct {
	Delivery
	Event string `json:"event"`
	Type string `json:"type"`
	// When its event was committed. Lists are sorted by this.
	ReceivedAt string `json:"received_at"`
	Tenant string `json:"tenant"`
	Test bool `json:"test"`
	// 1 at first; each replay adds one.
	Round int64 `json:"round"`
	// The place of the next attempt on the ladder, 0 for the first of a round; null if there is none.
	Retry *int64 `json:"retry"`
}

type WholeJob struct {
	Job
	// The counts for each endpoint: at most 100, the largest first.
	Endpoints []struct {
	Endpoint string `json:"endpoint"`
	Matched int64 `json:"matched"`
	Done int64 `json:"done"`
	Delivered int64 `json:"delivered"`
	Failed int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
} `json:"endpoints"`
}

// Compact JSON with its keys in this order; nothing inside `data` is altered. This is the `format` `envelope`; an endpoint may ask for a CloudEvent or the data alone.
type Envelope struct {
	// The same on every attempt.
	ID string `json:"id"`
	Type string `json:"type"`
	CreatedAt string `json:"created_at"`
	Data json.RawMessage `json:"data"`
}
