"""Made from the daemon's OpenAPI description. Do not edit: see test/client/python-types.test.ts."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, TypedDict, Union


class _EventDraft(TypedDict):
    type: str
    # Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
    data: Dict[str, Any]


class EventDraft(_EventDraft, total=False):
    # When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
    created_at: str
    # Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
    publisher_id: str
    # Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
    tags: List[str]
    # With a key for every tenant: the tenant of the event.
    tenant: str


class _BatchItem(TypedDict):
    type: str
    # Delivered byte for byte as given here. The whole event may have at most `[server] max_event_bytes` bytes.
    data: Dict[str, Any]


class BatchItem(_BatchItem, total=False):
    # When it happened, as an RFC 3339 instant at most 5 minutes in the future. By default, now.
    created_at: str
    # Your own id for it, to find it by. Receivers do not get it, and it need not be unique: the idempotency key is what keeps an event from being published twice.
    publisher_id: str
    # Up to 5 different tags to find it by, such as `customer:1042`. Receivers do not get them.
    tags: List[str]
    # With a key for every tenant: the tenant of the event.
    tenant: str
    # Publishing the same event again with this key does not create a second event.
    idempotency_key: str


class DataWarning(TypedDict):
    # A JSON pointer (RFC 6901) into the body.
    pointer: str
    code: str
    detail: str


class _Publication(TypedDict):
    id: str
    type: str
    created_at: str
    # How many endpoints it goes to.
    delivery_count: int


class Publication(_Publication, total=False):
    # Data that does not match the schema of a type whose `validation` is `warn`, at most 20. The events were accepted anyway.
    warnings: List[DataWarning]


class _BatchedPublication(TypedDict):
    id: str
    type: str
    created_at: str
    # How many endpoints it goes to.
    delivery_count: int


class BatchedPublication(_BatchedPublication, total=False):
    # The event was already published with the same key; this is the first answer.
    duplicate: bool


class FieldProblem(TypedDict):
    # A JSON pointer (RFC 6901) into the body, `""` for all of it; `?name` for a parameter.
    pointer: str
    code: Literal["invalid_utf8", "duplicate_key", "too_deep", "too_many_values", "unsupported_content_encoding", "missing_field", "unknown_field", "invalid_type", "invalid_syntax", "out_of_range", "conflicting_fields", "invalid_body", "too_long", "too_few", "forbidden_char", "invalid_secret", "fan_out_too_large", "invalid_events", "invalid_filter", "unknown_event_type", "archived_event_type", "read_only_event_type", "unknown_endpoint", "unknown_event", "unknown_tenant", "invalid_header", "invalid_idempotency_key", "url_invalid", "url_too_long", "url_scheme", "url_userinfo", "url_fragment", "url_forbidden_char", "host_invalid", "host_noncanonical", "host_single_label", "host_special_use", "host_metadata", "host_trailing_dot", "host_is_ip", "port_not_allowed", "address_not_public", "address_metadata", "address_denied", "address_self"]
    detail: str


class _Problem(TypedDict):
    # `urn:webhookd:problem:` followed by the code.
    type: str
    title: str
    status: int
    # What happened and what to do next, for a person to read.
    detail: str
    # Stable, for programs to check.
    code: Literal["bad_request", "invalid_json", "unauthorized", "forbidden", "browser_origin", "not_found", "method_not_allowed", "request_timeout", "event_not_failed", "delivery_settled", "endpoint_disabled", "endpoint_damaged", "endpoint_limit", "rotation_in_progress", "not_rotating", "already_created", "canary_failed", "job_ended", "backup_running", "key_not_changeable", "event_type_read_only", "event_type_in_use", "event_type_limit", "plan_changed", "gone", "precondition_failed", "payload_too_large", "unsupported_media_type", "misdirected", "validation_failed", "invalid_query", "idempotency_mismatch", "rate_limited", "headers_too_large", "backup_failed", "rekey_failed", "internal", "overloaded", "outbox_unavailable", "shutting_down", "storage_unavailable", "storage_full"]
    # Whether the same request may succeed later. If not, change what `detail` and `errors` name first.
    retryable: bool
    # The same id as in `X-Request-Id`; it is also in the daemon's log.
    request_id: str


class Problem(_Problem, total=False):
    # The fields that are wrong, at most 20.
    errors: List[FieldProblem]
