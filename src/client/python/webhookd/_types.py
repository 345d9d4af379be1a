"""Made from the daemon's OpenAPI description. Do not edit: see test/client/python-types.test.ts."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union


AfterFailure = Literal["continue", "hold"]


class Attempt(TypedDict):
    id: str
    event: str
    delivery: str
    endpoint: str
    # The URL that it was sent to: the endpoint's URL at that time.
    url: str
    # Counts the delivery's attempts from 1 and never restarts.
    number: int
    trigger: Literal["ladder", "replay", "manual", "test"]
    started_at: str
    # From the start of the attempt until its outcome was known.
    duration_ms: float
    # 1 at first; each replay adds one.
    round: int
    # The place on the ladder, 0 for the first attempt of a round; null for an attempt outside the ladder.
    retry: Optional[int]
    outcome: Literal["succeeded", "failed", "interrupted"]
    # The status code that the receiver answered with, if it answered.
    status_code: Optional[int]
    # Why it failed; null when it succeeded.
    error: Union[AttemptError, None]
    # A problem with the response body that came after the status had decided the outcome. It does not change the outcome.
    body_error: Literal["timeout", "connection_closed", "bad_response", None]
    # What happened, in one sentence.
    detail: str
    remote_address: Optional[str]
    # Whether the secret that signed it is still in use.
    secret: Literal["current", "previous", None]
    # When each step was complete, in milliseconds since the attempt began; null if the step did not happen.
    phases: Dict[str, Any]
    # Some of the response headers, each cut to 256 bytes.
    response_headers: Dict[str, str]
    # The beginning of the response body, read by its declared charset, else as UTF-8; of a compressed body only its size. Do not trust this text.
    response_body: str
    response_truncated: bool


AttemptError = Literal["http_status", "redirect_not_followed", "timeout", "dns_failure", "connection_refused", "connection_closed", "tls_error", "bad_response", "response_headers_too_large", "too_many_informational", "address_not_public", "address_metadata", "address_denied", "address_self", "unreachable", "payload_corrupt", "held_expired", "interrupted", "token_error"]


AuditAction = Literal["endpoint.register", "endpoint.update", "endpoint.disable", "endpoint.enable", "endpoint.put", "endpoint.delete", "endpoint.test", "event_type.create", "event_type.put", "event_type.import", "event_type.delete", "secret.read", "secret.rotate", "secret.complete", "secret.abandon", "signing_key.rotate", "signing_key.complete", "signing_key.abandon", "signing_key.publish", "event.retry", "event.cancel", "event.erase", "delivery.attempt", "job.create", "job.pause", "job.resume", "job.cancel", "key.create", "key.revoke", "portal_link.create", "daemon.pause", "daemon.resume", "node.drain", "node.resume", "outbox.retry", "outbox.drop", "backup.create", "secret_key.rekey"]


class AuditRecord(TypedDict):
    at: str
    # The key that was used, or `socket` for a call over the unix socket.
    actor: str
    # The caller over the unix socket, as the kernel reports it; null for a key, or if the kernel cannot be asked.
    uid: Optional[int]
    # The login name of that uid in /etc/passwd; null if there is none.
    user: Optional[str]
    # The tenant whose data the call concerned, or `*`.
    tenant: str
    # `endpoint.disable` and `endpoint.enable` are changes that set `enabled`, whatever else they changed; a refused one is an `endpoint.update`.
    action: AuditAction
    # The id of the object, or the name of the event type; null for the daemon as a whole.
    object: Optional[str]
    # The first of these calls.
    request_id: str
    # How many calls this entry stands for; more than 1 where calls of a kind were repeated.
    count: int
    # The last of these calls; the same as `at` if there is only one.
    last_at: str
    # `ok`, `repeated` if the idempotency key had been used before, or the error code.
    outcome: str


class Backup(TypedDict):
    # Its path on the daemon's host; the file name contains the time.
    file: str
    at: str
    bytes: int
    schema: int
    # How many endpoints it contains, not counting deleted ones.
    endpoints: int
    # How many events it contains.
    events: int
    # The hash of the whole file, in hexadecimal.
    sha256: str
    # Whether `secret.key` is in it, sealed with a passphrase.
    sealed: bool


class BackupDraft(TypedDict, total=False):
    # Seals `secret.key` into the backup, which can then be restored with this passphrase alone. The passphrase is not stored. By default `[backup] seal_with_file` is used, if it is set.
    passphrase: str


class _BatchItem(TypedDict):
    type: EventTypeName
    # Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
    data: PublishedData


class BatchItem(_BatchItem, total=False):
    # When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
    created_at: HappenedAt
    # Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
    publisher_id: PublisherId
    # Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
    tags: Tags
    # What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.
    ordering_key: OrderingKey
    # With a key for every tenant: the tenant of the event.
    tenant: str
    # Publishing the same event again with this key does not create a second event.
    idempotency_key: str


class _BatchedPublication(TypedDict):
    id: str
    type: str
    created_at: str
    # How many endpoints it goes to.
    delivery_count: int


class BatchedPublication(_BatchedPublication, total=False):
    # The event was already published with the same key; this is the first answer.
    duplicate: bool


BodyFormat = Literal["envelope", "cloudevents", "cloudevents_binary", "data"]


class EventFacts(TypedDict):
    id: str
    type: str
    # When it happened, according to the publisher.
    created_at: str
    # When webhookd committed it. Lists and retention use this time.
    received_at: str
    tenant: str
    test: bool
    # `failed` if any of its deliveries is, else `pending` if any is, else `held`, `delivered`, `cancelled`, `shadowed`; `unmatched` if no endpoint chose it.
    status: Literal["pending", "held", "delivered", "failed", "cancelled", "shadowed", "unmatched"]
    # The publisher's own id for it; null if it has none.
    publisher_id: Optional[str]
    # The publisher's tags, sorted; at most 5.
    tags: List[str]
    # Endpoints with `ordering` `by_key` get the events of this key in order; null if it has none.
    ordering_key: Optional[str]
    # When its data was erased; null if it was not.
    erased_at: Optional[str]


class CancelledEvent(EventFacts):
    # How many of its deliveries were open.
    cancelled: int


ChosenSignatures = List[Literal["hmac", "ed25519"]]


ChosenTypes = List[str]


class Configuration(TypedDict):
    # Every setting by section and key, such as `server.listen`, with its value as in a configuration file. If knowing a URL is enough to use it, only the beginning of the URL is shown.
    settings: Dict[str, Any]
    # The contents of each `[tenants.NAME]`, by tenant.
    tenants: Dict[str, Dict[str, Any]]


class Key(TypedDict):
    id: str
    name: str
    scopes: List[Literal["publish", "read", "replay", "manage", "secrets", "metrics", "admin"]]
    # A tenant's name, or `*` for every tenant.
    tenant: str
    created_at: str
    expires_at: Optional[str]
    # Accurate to the minute.
    last_used_at: Optional[str]
    revoked_at: Optional[str]
    # For a portal link: the endpoints that it is limited to, the URL that its page links back to, and the key that created it. Null for any other key.
    portal: Optional[Dict[str, Any]]


class CreatedKey(Key):
    # The key itself: shown here and never again.
    key: str


class Damage(TypedDict):
    # When it was found.
    at: str
    # The damaged database or log, which is kept. `damaged_database` is null once you have removed or moved it.
    file: str
    # Damaged pages by table or index, as far as they were checked.
    pages: List[Dict[str, Any]]
    # What could not be read and is lost; empty if nothing is lost.
    lost: List[Dict[str, Any]]
    # What of the write-ahead log is lost, because it stood behind damage; null if the log was whole.
    log: Optional[Dict[str, Any]]


class DataWarning(TypedDict):
    # A JSON pointer (RFC 6901) into the body.
    pointer: str
    code: str
    detail: str


class Delivery(TypedDict):
    id: str
    endpoint: str
    # `held` is a pending delivery of a disabled endpoint: kept, not sent. `shadowed` is one that is never sent.
    status: Literal["pending", "held", "delivered", "failed", "cancelled", "shadowed"]
    # How many attempts have been made.
    attempts: int
    # Null unless it is pending.
    next_attempt_at: Optional[str]
    # The number in `webhook-sequence`, if it is delivered in order: it counts the deliveries of its endpoint and `ordering_key`. 0 if a job added it afterwards.
    sequence: Optional[int]
    # The event that goes before it, because it has the same `ordering_key`; null if none does.
    waits_behind: Optional[Dict[str, Any]]
    last_attempt: Union[Attempt, None]


class Endpoint(TypedDict):
    id: str
    tenant: str
    # Normalized according to the WHATWG URL standard.
    url: str
    events: List[str]
    filter: Optional[Dict[str, Any]]
    description: str
    # Sent with each attempt; the values are masked.
    headers: Dict[str, str]
    # What the receiver asks for besides a signature, as `EndpointAuth`; `***` keeps a secret.
    auth: Union[EndpointAuth, None]
    # PEM of the authorities of its certificate.
    ca: Optional[str]
    rate_per_second: Optional[float]
    max_in_flight: Optional[int]
    enabled: bool
    # While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
    when_disabled: WhenDisabled
    # `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
    ordering: Ordering
    # With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
    after_failure: AfterFailure
    # The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
    format: BodyFormat
    trace_context: bool
    signatures: List[Literal["hmac", "ed25519"]]
    # The name it was registered under, unique within the tenant.
    uid: Optional[str]
    metadata: Dict[str, Any]
    # Why the daemon disabled it: its receiver answered 410 (`gone`), or no attempt had succeeded for a long time (`failing`).
    disabled_reason: Literal["gone", "failing", None]
    # During a rotation: when the next signing secret takes over.
    secret_switches_at: Optional[str]
    # Which parts of the endpoint the store can no longer read; null if all is well. Until the endpoint is repaired, nothing is sent to it, and its deliveries wait.
    damaged: Union[EndpointDamage, None]
    created_at: str
    updated_at: str


EndpointAuth = Dict[str, Any]


class EndpointChange(TypedDict, total=False):
    # A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
    url: EndpointUrl
    # The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
    events: ChosenTypes
    # Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
    filter: FilterDocument
    # A note for people, on one line.
    description: Optional[str]
    headers: Optional[Dict[str, Any]]
    auth: Optional[Dict[str, Any]]
    # PEM of the authorities of its certificate.
    ca: Optional[str]
    # The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
    rate_per_second: RatePerSecond
    # The maximum number of attempts at once: the ceiling of the adaptive cap.
    max_in_flight: MaxInFlight
    # Whether anything is sent to it.
    enabled: bool
    # While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
    when_disabled: Union[WhenDisabled, None]
    # `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
    ordering: Union[Ordering, None]
    # With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
    after_failure: Union[AfterFailure, None]
    # The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
    format: Union[BodyFormat, None]
    # Sends `traceparent` and `tracestate` to the receiver.
    trace_context: Optional[bool]
    # The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
    signatures: Union[ChosenSignatures, None]
    # Your own name for it, unique within the tenant.
    uid: Optional[str]
    metadata: Optional[Dict[str, Any]]
    # With `enabled: true`: held deliveries are sent (`release`, the default) or cancelled (`cancel`).
    held: Literal["release", "cancel"]


class EndpointDamage(TypedDict):
    # The parts that cannot be read. A rotation with `overlap_seconds` 0 repairs a secret; setting anything else again repairs it.
    parts: List[EndpointPart]
    # How it is damaged, in a sentence.
    reason: str


class HeldKeys(TypedDict):
    # How many are held, counted up to the maximum. In a list of more than ten endpoints, each is counted up to its share of 100,000.
    count: int
    # Since when the one that has been held for longest is held.
    since: str
    # That key.
    ordering_key: str
    # The failed event that holds it. To go on, replay it, or cancel it to leave it out: the next event of the key is sent then.
    event: str


class EndpointHeldKeys(HeldKeys):
    endpoint: str


EndpointPart = Literal["signing_secret", "next_signing_secret", "signing_key", "headers", "auth", "url", "events", "signatures", "filter", "metadata", "when_disabled", "ordering", "after_failure", "format", "rate_per_second", "max_in_flight", "tenant"]


class _EndpointReplacement(TypedDict):
    # A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
    url: EndpointUrl
    # The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
    events: ChosenTypes


class EndpointReplacement(_EndpointReplacement, total=False):
    # Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
    filter: FilterDocument
    # A note for people, on one line.
    description: str
    # Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.
    headers: HeaderValues
    auth: Optional[Dict[str, Any]]
    # PEM of the authorities of its certificate.
    ca: Optional[str]
    # The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
    rate_per_second: RatePerSecond
    # The maximum number of attempts at once: the ceiling of the adaptive cap.
    max_in_flight: MaxInFlight
    # While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
    when_disabled: WhenDisabled
    # `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
    ordering: Ordering
    # With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
    after_failure: AfterFailure
    # The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
    format: BodyFormat
    # Sends `traceparent` and `tracestate` to the receiver.
    trace_context: bool
    # The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
    signatures: ChosenSignatures
    # For your own use: at most 4096 bytes of JSON.
    metadata: Metadata
    # By default it stays as it is; a new endpoint is enabled.
    enabled: bool
    # Needed only if the path contains an id. If you leave it out in that case, the endpoint loses its `uid`.
    uid: Optional[str]
    # If this registers the endpoint: a secret that its receiver already verifies with; needs the scope `secrets`. An endpoint that exists keeps its own; a rotation replaces it.
    secret: str
    # If you send back what you read: it must be that of the endpoint in the path.
    id: str
    # If you send back what you read: it must be that of the endpoint in the path.
    tenant: str
    # Ignored.
    disabled_reason: Literal["gone", "failing", None]
    # Ignored.
    secret_switches_at: Optional[str]
    # Ignored.
    damaged: Union[EndpointDamage, None]
    # Ignored.
    created_at: str
    # Ignored.
    updated_at: str
    # Ignored.
    health: Dict[str, Any]


EndpointUrl = str


class EndpointWithHealth(Endpoint):
    health: Health


class Event(EventFacts):
    # Byte for byte as it was published; null once it has been erased.
    data: Optional[Dict[str, Any]]
    # At most 100 deliveries.
    deliveries: List[Delivery]
    # How many deliveries there are, whether shown here or not.
    delivery_count: int
    # The path of the full list; null if all of them are shown here.
    more_deliveries: Optional[str]


class EventBatch(TypedDict):
    events: List[BatchItem]


class _EventDraft(TypedDict):
    type: EventTypeName
    # Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
    data: PublishedData


class EventDraft(_EventDraft, total=False):
    # When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
    created_at: HappenedAt
    # Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
    publisher_id: PublisherId
    # Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
    tags: Tags
    # What the event is about, such as `order_1042`. Endpoints with `ordering` `by_key` get the events of a key in the order in which they were published. 1 to 256 bytes in UTF-8, without control characters.
    ordering_key: OrderingKey
    # With a key for every tenant: the tenant of the event.
    tenant: str


class EventSummary(EventFacts, total=False):
    # Byte for byte as it was published; null once it has been erased.
    data: Optional[Dict[str, Any]]
    # At most 100 deliveries.
    deliveries: List[Delivery]
    # How many deliveries there are, whether shown here or not.
    delivery_count: int
    # The path of the full list; null if all of them are shown here.
    more_deliveries: Optional[str]


class EventType(TypedDict):
    name: str
    description: str
    # JSON Schema 2020-12 of `data`. Published data is checked against it if `validation` says so, or `[events] validate`.
    schema: Dict[str, Any]
    # An example of `data`, and the `data` of a test event.
    sample: Dict[str, Any]
    # Whether the data is specified, or only an example.
    source: Literal["specified", "example"]
    # A word under which types are shown together.
    group: Optional[str]
    # What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
    validation: Validation
    # Whether new publishers and subscribers should use another type.
    deprecated: bool
    # Since when it is deprecated.
    deprecated_at: Optional[str]
    # When its events are expected to end. Nothing happens by itself then.
    sunset_at: Optional[str]
    # Whether no endpoint may choose it any more. It can still be published, and those who chose it still receive it.
    archived: bool
    # `specification`: fixed; `configuration`: from `[[event_types]]`; `api`: it can be changed with this interface.
    defined_in: Literal["specification", "configuration", "api"]


class _EventTypeDraft(TypedDict):
    # Words of letters, digits, `_` and `-`, separated by dots: at most 128 characters.
    name: str


class EventTypeDraft(_EventTypeDraft, total=False):
    # What the event says, for subscribers, on one line.
    description: str
    # JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
    schema: TypeSchema
    # An example of `data`, which must match the schema; by default one is made from the schema.
    sample: TypeSample
    # A word under which types are shown together.
    group: TypeGroup
    # What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
    validation: Validation
    # Warns publishers with a `Deprecation` header, and subscribers in the portal.
    deprecated: bool
    # For a deprecated type: when its events are expected to end, for the `Sunset` header.
    sunset_at: SunsetAt
    # Stops offering it to endpoints; those that chose it still receive it.
    archived: bool


class _EventTypeImport(TypedDict):
    # The types to add or to change. What you leave out of a type stays as it is.
    types: List[ImportedType]


class EventTypeImport(_EventTypeImport, total=False):
    # Only return what the import would do.
    dry_run: bool


class EventTypeImported(TypedDict):
    data: List[Dict[str, Any]]
    # True if nothing was done.
    dry_run: bool


EventTypeName = str


class EventTypeSettings(TypedDict, total=False):
    # What the event says, for subscribers, on one line.
    description: str
    # JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
    schema: TypeSchema
    # An example of `data`, which must match the schema; by default one is made from the schema.
    sample: TypeSample
    # A word under which types are shown together.
    group: TypeGroup
    # What happens to published data that does not match the schema: `enforce` refuses it, `warn` accepts it and says so in `warnings` of the answer, `off` does not look. Null: as `[events] validate` says.
    validation: Validation
    # Warns publishers with a `Deprecation` header, and subscribers in the portal.
    deprecated: bool
    # For a deprecated type: when its events are expected to end, for the `Sunset` header.
    sunset_at: SunsetAt
    # Stops offering it to endpoints; those that chose it still receive it.
    archived: bool
    # If you send back what you read: it must be the name in the path.
    name: str
    # Ignored.
    source: str
    # Ignored.
    deprecated_at: Optional[str]
    # Ignored.
    defined_in: str


class Explanation(TypedDict):
    event: str
    endpoint: str
    # The first eight are about its delivery: `retrying` is due later, `waiting` is due and waits for its turn, `behind` waits for another event with its ordering key, `erased` was cancelled and its event erased. The next ones say why there is none. `unknown`: what would tell is not kept any more.
    reason: Literal["delivered", "failed", "cancelled", "shadowed", "erased", "held", "retrying", "waiting", "behind", "tenant_differs", "test_of_another", "not_registered", "deleted", "not_subscribed", "skipped", "filtered", "unknown"]
    # The answer in one sentence, for people. Its words may change.
    sentence: str
    # When it was delivered, failed or was erased, when it is due, or when the endpoint was registered or deleted; null for other reasons, and if it is not known.
    at: Optional[str]
    # The delivery; null if there is none.
    delivery: Optional[str]
    # The conditions of the filter that decided; empty for any other reason, and if the event's data is gone.
    decided: List[FilterDecision]
    # What the endpoint had chosen when the event was published, if that is the reason; otherwise null.
    choice: Optional[Dict[str, Any]]


class FailureGroup(TypedDict):
    endpoint: str
    error: AttemptError
    # The status code that the receiver answered with, if it answered.
    status_code: Optional[int]
    # Deliveries that have failed for good, until they are replayed.
    failed: int
    # Deliveries that failed this way and will be retried.
    pending: int
    # The same, but for a disabled endpoint: kept, not sent.
    held: int
    # When the first of them began to fail this way.
    first_at: str
    # When the latest of these attempts began.
    last_at: str
    # How many deliveries last failed in each step, oldest first.
    series: List[int]
    # The latest of these attempts.
    sample_attempt: str


class Failures(TypedDict):
    # Only events received since this instant were counted. It is later than you asked for if more deliveries have failed than can be counted.
    since: str
    # When the first step of each series begins: a full minute, or a full hour if a step is an hour or longer. What failed earlier counts in that step.
    series_since: str
    # How long each step of a series is.
    step_seconds: int
    # How many groups there are; at most 500 are returned.
    total: int
    # The groups with the most deliveries first.
    data: List[FailureGroup]


class FieldProblem(TypedDict):
    # A JSON pointer (RFC 6901) into the body, `""` for all of it; `?name` for a parameter.
    pointer: str
    code: Literal["invalid_utf8", "duplicate_key", "too_deep", "too_many_values", "unsupported_content_encoding", "missing_field", "unknown_field", "invalid_type", "invalid_syntax", "out_of_range", "conflicting_fields", "invalid_body", "too_long", "too_few", "forbidden_char", "invalid_secret", "fan_out_too_large", "invalid_events", "invalid_filter", "unknown_event_type", "archived_event_type", "read_only_event_type", "unknown_endpoint", "unknown_event", "unknown_tenant", "invalid_header", "invalid_certificate", "invalid_idempotency_key", "url_invalid", "url_too_long", "url_scheme", "url_userinfo", "url_fragment", "url_forbidden_char", "host_invalid", "host_noncanonical", "host_single_label", "host_special_use", "host_metadata", "host_trailing_dot", "host_is_ip", "port_not_allowed", "address_not_public", "address_metadata", "address_denied", "address_self"]
    detail: str


class FilterDecision(TypedDict):
    # The condition in the filter, as a JSON pointer.
    pointer: str
    # Where it looked in the event, as a JSON pointer.
    path: str
    # The value there as JSON, cut after 200 characters; null if there is none.
    found: Optional[str]
    # Whether the condition is met.
    holds: bool


FilterDocument = Optional[Dict[str, Any]]


class FilterResult(TypedDict):
    # Whether the filter takes the event.
    matches: bool
    # The filter would have to test more values of the event than it may, so the event is accepted.
    too_large: bool
    # The conditions that decided: the one that is not met, or all that are; empty without a filter, and for an event that is too large for them to be found.
    decided: List[FilterDecision]


class FilterTest(TypedDict, total=False):
    # The filter to try; by default the one that the endpoint has.
    filter: Optional[Dict[str, Any]]
    # The id of an event whose data is still kept.
    event: str
    # In place of `event`: the type of an event.
    type: str
    # In place of `event`: the data of an event.
    data: Dict[str, Any]
    # In place of `event`: the tags of an event.
    tags: List[str]


class Halt(TypedDict):
    # `operator`: all sending is paused. `unrecorded`: results of attempts cannot be recorded. `unreachable`: nothing can be reached, or this host has no route or no DNS. `shortage`: this host is short of file descriptors, memory or something else that attempts need. `lease`: another process may have taken over the PostgreSQL database, because this one could not renew its lease. `stopping`: the daemon is stopping.
    reason: Literal["operator", "unrecorded", "unreachable", "shortage", "lease", "stopping"]
    since: str
    # The reason, in a sentence.
    detail: str


HappenedAt = str


HeaderValues = Dict[str, str]


class Health(TypedDict):
    last_success_at: Optional[str]
    last_failure_at: Optional[str]
    # Failed attempts since the last success, or since it was enabled.
    consecutive_failures: int
    # Deliveries that are pending now, counted up to the maximum; `held` and `failed` are counted the same way.
    pending: int
    held: int
    failed: int
    # The ordering keys of which nothing is sent, because an event failed and `after_failure` is `hold`; null if there is none.
    held_keys: Union[HeldKeys, None]
    # How many attempts to it may be on the wire at once for now: fewer if it is slow to answer. Other deliveries that are due wait for their turn. Null if another node sends to it.
    at_once: Optional[int]


class _ImportedType(TypedDict):
    # Words of letters, digits, `_` and `-`, separated by dots: at most 128 characters.
    name: str


class ImportedType(_ImportedType, total=False):
    # What the event says, for subscribers, on one line.
    description: str
    # JSON Schema 2020-12 of `data`. By default any object; without references to other documents.
    schema: TypeSchema
    # An example of `data`, which must match the schema; by default one is made from the schema.
    sample: TypeSample
    # A word under which types are shown together.
    group: TypeGroup
    # Warns publishers with a `Deprecation` header, and subscribers in the portal.
    deprecated: bool


class Job(TypedDict):
    id: str
    # The tenant whose deliveries it works on, or `*` for every tenant.
    tenant: str
    action: Literal["replay", "attempt_now", "cancel"]
    status: Literal["running", "paused", "done", "cancelled"]
    # The filter as it was requested.
    filter: Dict[str, Any]
    # How many deliveries the set had when the job was created.
    matched: int
    # Delivered, failed or cancelled. In the end `done` and `skipped` add up to `matched`.
    done: int
    delivered: int
    # Counted by the job's own attempts; the retries of a replay follow the ladder.
    failed: int
    # Deliveries that no longer qualified when their turn came.
    skipped: int
    # How many deliveries per second to each endpoint.
    rate_per_second: float
    canary: bool
    reason: str
    # Why the job paused itself; null if it did not.
    paused_reason: Optional[str]
    created_at: str
    # Null while the job is running or paused.
    ended_at: Optional[str]


class _JobDraft(TypedDict):
    # `replay` begins a new round; `attempt_now` makes one attempt outside the ladder; `cancel` cancels open deliveries.
    action: Literal["replay", "attempt_now", "cancel"]
    # The same filter as for lists; `{}` selects everything that the action applies to.
    filter: Dict[str, Any]


class JobDraft(_JobDraft, total=False):
    # Only return what the job would work on.
    dry_run: bool
    # Refuse the job unless the set has exactly this many deliveries.
    expect: int
    # How many deliveries per second to each endpoint; at least 0.001.
    rate_per_second: float
    # The first delivery to each endpoint is tried alone. A failure pauses the job; a success lets it continue.
    canary: bool
    reason: str


class JobPlan(TypedDict):
    action: Literal["replay", "attempt_now", "cancel"]
    # The number to pass as `expect`.
    matched: int
    # How many of them timed out at their last attempt, so the receiver may have handled them.
    timed_out: int
    # How long the job takes at this pace.
    eta_seconds: int
    endpoints: List[Dict[str, Any]]
    # Deliveries that match the filter but cannot be sent now.
    left_alone: List[Dict[str, Any]]


class _KeyDraft(TypedDict):
    scopes: List[Literal["publish", "read", "replay", "manage", "secrets", "metrics", "admin"]]


class KeyDraft(_KeyDraft, total=False):
    name: str
    # The tenant whose data it can access, or `*` for every tenant. By default the tenant of the calling key, or `default`.
    tenant: str
    expires_at: Optional[str]


class LastAdminKey(TypedDict):
    id: str
    # A warning that no admin key for every tenant is left, and how to get access now.
    note: str


class _ListPage(TypedDict):
    # Pass it as `cursor` to get the next page; null at the end of the list.
    next_cursor: Optional[str]


class ListPage(_ListPage, total=False):
    # Finding these rows took too long, or what they say is too large for one page: the page is short, perhaps empty, and the list continues at `next_cursor`.
    cut_short: Literal[True]
    # With `data`: how far the search got. Nothing up to there is missing; the search continues at `next_cursor`.
    searched: Dict[str, Any]
    # With `total=true`: the number of rows on all pages. Left out if counting takes too long.
    total: int
    # With `total`: `at_least` if there are more, because counting stops at 10,000.
    total_is: Literal["exact", "at_least"]


class ListedEndpoint(Endpoint, total=False):
    health: Health
    recent: RecentAttempts


MaxInFlight = Optional[int]


Metadata = Dict[str, Any]


class Node(TypedDict):
    # The name of its host, with a number if another node already has that name.
    name: str
    host: str
    pid: int
    version: str
    # Whether this is the node that answered.
    this: bool
    # When it was started.
    since: str
    # When it last renewed its lease, which it does every second.
    renewed_at: str
    # Whether its lease has run out; if so, the other nodes take over what it has.
    lost: bool
    # Whether it is giving up its endpoints and taking no more.
    draining: bool
    # How many of the 1,024 slots it has.
    slots: int
    # How many endpoints are in its slots, counted within the last 10 s.
    endpoints: int
    # Attempts on the wire.
    in_flight: int
    # When the oldest due delivery of its endpoints fell due; null if none is due.
    oldest_due_at: Optional[str]
    # Why it is sending nothing now, or less than it could: the same reasons as in `getStatus`.
    not_sending: List[Literal["operator", "unrecorded", "unreachable", "shortage", "lease", "stopping"]]
    # By how many milliseconds the clock of its host is ahead of the one of PostgreSQL, which all nodes use; negative if it is behind. Null if unknown.
    clock_ahead_ms: Optional[int]


class NodeList(TypedDict):
    data: List[Node]


Ordering = Literal["none", "by_key"]


OrderingKey = str


class Outbox(TypedDict):
    name: str
    database: Literal["postgres", "sqlite"]
    # Its host and database, or its file; no password.
    place: str
    table: str
    # True if it can be read.
    up: bool
    # The time since which that has been so.
    since: str
    # Why it cannot be read, or why its rows cannot be published, and what to do; null while all is well.
    trouble: Optional[Dict[str, Any]]
    # Rows that wait to be published; 100000 means as many or more. Null until they have been counted.
    waiting: Optional[int]
    # The age of the first of these rows; null if there is none, or if the table has no `created_at`.
    oldest_seconds: Optional[float]
    # Rows that cannot be events, counted like `waiting`.
    set_aside: Optional[int]
    # Events that this process has published from it since it started.
    published: int


class OutboxList(TypedDict):
    data: List[Outbox]


class Pause(TypedDict):
    reason: str
    # The key that was used, `socket`, `serve --paused`, or `restore`.
    by: str
    at: str
    # False if the disk is full: until there is space, a restart forgets it.
    saved: bool


class PauseAnswer(TypedDict):
    # While all sending is paused: since when, by whom and why. Otherwise null.
    paused: Union[Pause, None]


class PauseRequest(TypedDict):
    # The reason, for the next person who looks.
    reason: str


class Portal(TypedDict):
    # A tenant's name, or `*` for every tenant.
    tenant: str
    # What the link may do, including what each scope includes.
    can: List[Literal["read", "replay", "manage", "secrets"]]
    # The endpoints that it is limited to; null means all endpoints of the tenant.
    endpoints: Optional[List[str]]
    # When the key expires; null if it does not.
    expires_at: Optional[str]
    return_url: Optional[str]
    # `[portal] name`.
    name: str
    # `[portal] logo_url`.
    logo_url: Optional[str]
    colors: Dict[str, Any]
    # `[portal] radius`, in pixels.
    radius: int
    # `[portal] font`.
    font: Optional[str]
    # `[portal] font_url`.
    font_url: Optional[str]
    # `[portal] footer`.
    footer: str
    # `[portal] terms_url`.
    terms_url: Optional[str]
    # `[portal] help_url`.
    help_url: Optional[str]
    # The wait between each failure and the next attempt, in seconds: one number for each retry.
    retry_schedule: List[int]
    # `[signature] header`: the header that receivers verify.
    signature_header: str
    # `[signature] standard_webhooks`: `webhook-signature` is sent too.
    standard_webhooks: bool
    # How long deliveries of a disabled endpoint are held before they fail.
    held_seconds: int


class PortalLink(TypedDict):
    # The link with its key: shown here and never again.
    url: str
    # `DELETE /v1/keys/{id}` ends the link.
    key_id: str
    tenant: str
    # What the link may do, including what each scope includes.
    can: List[Literal["read", "replay", "manage", "secrets"]]
    # The endpoints that it is limited to; null means all endpoints of the tenant.
    endpoints: Optional[List[str]]
    expires_at: str
    return_url: Optional[str]


class PortalLinkDraft(TypedDict, total=False):
    # Whose endpoints the page shows, or `*` for every tenant. By default the tenant of the calling key, or `default`.
    tenant: str
    # Also make the link if the tenant has had no endpoint, no event and no key of its own so far, as a new customer has not. Otherwise such a name is taken for a typing error.
    new_tenant: bool
    # Seconds. The link never outlives the key that asks for it.
    expires_in: int
    # Only these endpoints, by id. By default, all endpoints of the tenant.
    endpoints: Optional[List[str]]
    # `read` is always included. `replay` also allows test events and attempts; `manage` includes `replay` and allows changes to endpoints; `secrets` allows viewing and rotating signing secrets, and setting headers.
    can: List[Literal["read", "replay", "manage", "secrets"]]
    # The URL that the page links back to.
    return_url: Optional[str]


class _Problem(TypedDict):
    # `urn:webhookd:problem:` followed by the code.
    type: str
    title: str
    status: int
    # What happened and what to do next, for a person to read.
    detail: str
    # Stable, for programs to check.
    code: Literal["bad_request", "invalid_json", "unauthorized", "forbidden", "browser_origin", "not_found", "method_not_allowed", "request_timeout", "event_not_failed", "delivery_behind", "delivery_settled", "endpoint_disabled", "endpoint_damaged", "endpoint_limit", "rotation_in_progress", "not_rotating", "already_created", "canary_failed", "job_ended", "backup_running", "key_not_changeable", "event_type_read_only", "event_type_in_use", "event_type_limit", "plan_changed", "gone", "precondition_failed", "payload_too_large", "unsupported_media_type", "misdirected", "validation_failed", "invalid_query", "idempotency_mismatch", "rate_limited", "headers_too_large", "backup_failed", "rekey_failed", "internal", "overloaded", "outbox_unavailable", "shutting_down", "storage_unavailable", "storage_full"]
    # Whether the same request may succeed later. If not, change what `detail` and `errors` name first.
    retryable: bool
    # The same id as in `X-Request-Id`; it is also in the daemon's log.
    request_id: str


class Problem(_Problem, total=False):
    # The fields that are wrong, at most 20.
    errors: List[FieldProblem]


class _Publication(TypedDict):
    id: str
    type: str
    created_at: str
    # How many endpoints it goes to.
    delivery_count: int


class Publication(_Publication, total=False):
    # Data that does not match the schema of a type whose `validation` is `warn`, at most 20. The events were accepted anyway.
    warnings: List[DataWarning]


PublishedData = Dict[str, Any]


PublisherId = str


RatePerSecond = Optional[float]


class RecentAttempts(TypedDict):
    since: str
    # The length of each part; the last one is not over yet.
    step_seconds: int
    # Successful attempts in each part.
    succeeded: List[int]
    # Failed attempts in each part.
    failed: List[int]


class RegisteredEndpoint(Endpoint):
    # Signs what is sent to this endpoint. Shown only here and to keys with the scope `secrets`.
    signing_secret: str


class _Registration(TypedDict):
    # A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.
    url: EndpointUrl
    # The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.
    events: ChosenTypes


class Registration(_Registration, total=False):
    # Which events of those types are sent to it: a filter of at most 4096 characters of JSON, or null for all. A change replaces the whole filter.
    filter: FilterDocument
    # A note for people, on one line.
    description: str
    # Sent with each attempt. Names must follow RFC 9110, and values must be visible ASCII; headers that webhookd sets itself are refused.
    headers: HeaderValues
    auth: Optional[Dict[str, Any]]
    # PEM of the authorities of its certificate.
    ca: Optional[str]
    # The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.
    rate_per_second: RatePerSecond
    # The maximum number of attempts at once: the ceiling of the adaptive cap.
    max_in_flight: MaxInFlight
    # Whether anything is sent to it.
    enabled: bool
    # While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.
    when_disabled: WhenDisabled
    # `by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.
    ordering: Ordering
    # With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.
    after_failure: AfterFailure
    # The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.
    format: BodyFormat
    # Sends `traceparent` and `tracestate` to the receiver.
    trace_context: bool
    # The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.
    signatures: ChosenSignatures
    # Your own name for it, unique within the tenant.
    uid: Optional[str]
    # For your own use: at most 4096 bytes of JSON.
    metadata: Metadata
    # A secret that its receiver already verifies with, from another sender. By default, a new one is made.
    secret: str


class Rekeyed(TypedDict):
    # How many endpoints are now sealed with the new key, including the one for alerts.
    resealed: int
    # The path of the new key on the daemon's host. Copy it to another host.
    secret_key_file: str
    # Identifies the new key without revealing it.
    key_id: str
    # The path of the old key. Older backups need it, unless it is sealed into them. Null if its file was missing.
    kept: Optional[str]
    # Endpoints whose secrets or headers could not be unsealed with the old key either. They are unchanged.
    damaged: List[str]


class ReplayedEvent(Event):
    # Failed deliveries that are not replayed, and why.
    left_alone: List[Dict[str, Any]]


class ResumeAnswer(TypedDict):
    # While all sending is paused: since when, by whom and why. Otherwise null.
    paused: Union[Pause, None]
    # Whether sending was paused until this call. If it was not, nothing changed.
    was_paused: bool


class ResumeRequest(TypedDict, total=False):
    # Try one more delivery alone, for each endpoint that has not accepted one yet.
    canary: Literal[True]
    # Send everything that is left, at the job's pace.
    send_all: Literal[True]


class RowsAnswer(TypedDict):
    # How many rows that was.
    rows: int


class RowsRequest(TypedDict, total=False):
    # The rows. By default all that were set aside.
    ids: List[str]


class SetAsideRow(TypedDict):
    id: str
    type: Optional[str]
    # Why it cannot be an event.
    problem: str


class SetAsideRows(TypedDict):
    data: List[SetAsideRow]


class SigningKeySet(TypedDict):
    keys: List[Dict[str, Any]]


class _SigningKeys(TypedDict):
    # Verifies `v1a` in `webhook-signature`: `whpk_` and base64, as in Standard Webhooks. Null until the tenant has a key: the first endpoint that chooses `ed25519` makes it, or a rotation.
    public_key: Optional[str]
    # Whether anyone may read the public keys at `jwks.json`, without an API key.
    published: bool


class SigningKeys(_SigningKeys, total=False):
    # Only during a rotation: its private key already signs too, and takes over afterwards.
    next_public_key: str
    # During a rotation: when the next key takes over.
    switches_at: str


class _SigningSecrets(TypedDict):
    # Signs `X-Service-Signature` and, together with the next one, `webhook-signature`.
    signing_secret: str


class SigningSecrets(_SigningSecrets, total=False):
    # Only during a rotation: already signs `webhook-signature`, and takes over afterwards.
    next_signing_secret: str
    # During a rotation: when the next secret takes over.
    switches_at: str


class Statistics(TypedDict):
    window: str
    since: str
    until: str
    # How long each step of the series is; the last step is not over yet.
    step_seconds: int
    endpoint: Optional[str]
    # Events; null for one endpoint, because events are published to a tenant.
    published: Optional[Dict[str, Any]]
    attempts: Dict[str, Any]
    # Deliveries that reached this status.
    deliveries: Dict[str, Any]
    # The durations of attempts, estimated from buckets and so up to a fifth off; null if there were none. `first_attempt_delay_ms` and the durations of the series are estimated the same way.
    duration_ms: Dict[str, Any]
    # From the publish request to the start of the first attempt.
    first_attempt_delay_ms: Dict[str, Any]
    series: List[Dict[str, Any]]


class Status(TypedDict):
    version: str
    # The version of the store's schema.
    schema: int
    # Whether events are accepted, as in the answer of `/readyz`. A pause does not change this.
    state: Literal["ready", "draining", "disk_full", "store_unavailable"]
    # Since when and why this process cannot use its PostgreSQL, with what to do about it; null while it can. Meanwhile, everything that is read from the store is as it was last known.
    store_outage: Optional[Dict[str, Any]]
    started_at: str
    uptime_seconds: int
    # While all sending is paused: since when, by whom and why. Otherwise null.
    paused: Union[Pause, None]
    # Every reason why nothing is being sent now, or less than could be; empty if all is well. No delivery loses an attempt because of these.
    not_sending: List[Halt]
    # When the oldest due delivery fell due, on any node; null if none is due. Held deliveries do not count.
    oldest_due_at: Optional[str]
    # All nodes that share the store, including this one; empty if this is the only process. `not_sending` and all other fields are about the node that answers.
    nodes: List[Node]
    # By how many milliseconds the clock of this host is ahead of the one of PostgreSQL, by which everything goes; negative if it is behind. Null if the store is not in PostgreSQL.
    clock_ahead_ms: Optional[int]
    # By how many milliseconds the instant in the id of the latest event is ahead of the clock, because the clock was ahead when an event was published. `received_at` and all filters by time go by the clock; ids only rise, at half its speed until it has caught up. Null if ids are not ahead.
    ids_ahead_ms: Optional[int]
    # Deliveries that were due later than their ladder allows, because a clock had been wrong, and that this process has made due in time since it started.
    put_off_deliveries: int
    # Deliveries that were pending, held or failed at `counted_at`; null until the first count.
    deliveries: Optional[Dict[str, Any]]
    # When the deliveries of this answer were counted: now, or up to half a minute ago if there are so many that counting takes long. Null until the first count.
    counted_at: Optional[str]
    # How many deliveries have an attempt due in each of the next 60 minutes, beginning with the current one, which includes overdue deliveries. Counted like `deliveries`.
    due_by_minute: Optional[List[int]]
    # Deliveries that are waiting for their turn, and the endpoints whose deliveries have waited for ten seconds or longer. At most five endpoints are listed, the longest wait first, and only those that this process sends to.
    overdue: Dict[str, Any]
    # A move of the store with `webhookd migrate --online` that has been neither finished nor given up. The store records each change for it. Null if there is none.
    open_move: Optional[Dict[str, Any]]
    # The paths of the store and of its `secret.key` on the daemon's host.
    data: Dict[str, Any]
    disk: Dict[str, Any]
    database: Dict[str, Any]
    # Set if the database was found damaged: the data that could be read is in a new database, which is now in use. Null if there is no damage to look into.
    damaged_database: Union[Damage, None]
    backup: Dict[str, Any]
    # The tables of `[[outbox]]` that this process reads, as in `/v1/outboxes`.
    outboxes: List[Outbox]
    # Spans; null without `[telemetry]`.
    traces: Optional[Dict[str, Any]]
    # Endpoints that cannot be read in full, at most twenty of them. Nothing is sent to them until they are repaired.
    damaged_endpoints: Dict[str, Any]
    # The ordering keys that are held, by endpoint, the longest held first; at most twenty endpoints.
    held_keys: List[EndpointHeldKeys]
    # Client certificates that expire within 14 days.
    client_certificates: List[Dict[str, Any]]
    # A sentence for each constant of the specification that the configuration changes.
    departures: List[str]
    # The ladder: the wait after each failure, in order.
    retry_delays_seconds: List[float]
    # Whether it runs with `--dev`, so that endpoints may use plain http on this machine.
    dev: bool
    # How many threads send when the load is high. At other times, and always with 0, the main thread sends.
    sender_threads: int
    # Whether deliveries are marked on the disk before they are attempted, because the process has crashed repeatedly.
    careful: bool
    # Why the audit log cannot name callers over the unix socket; null if it can, as far as is known.
    socket_uid_trouble: Optional[str]


SunsetAt = Optional[str]


Tags = List[str]


class TenantSummary(TypedDict):
    name: str
    # How many endpoints it has, not counting deleted ones.
    endpoints: int
    # How many events it published in the last hour, not counting tests.
    published_last_hour: int


TypeGroup = Optional[str]


TypeSample = Dict[str, Any]


TypeSchema = Dict[str, Any]


Validation = Literal["off", "warn", "enforce", None]


WhenDisabled = Literal["hold", "skip", "shadow"]


class WholeDelivery(Delivery):
    event: str
    type: str
    # When its event was committed. Lists are sorted by this.
    received_at: str
    tenant: str
    test: bool
    # 1 at first; each replay adds one.
    round: int
    # The place of the next attempt on the ladder, 0 for the first of a round; null if there is none.
    retry: Optional[int]


class WholeJob(Job):
    # The counts for each endpoint: at most 100, the largest first.
    endpoints: List[Dict[str, Any]]


class Envelope(TypedDict):
    # The same on every attempt.
    id: str
    type: str
    created_at: str
    data: Dict[str, Any]
