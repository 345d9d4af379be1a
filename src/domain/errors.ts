/** Errors that a caller can act on: one list of codes for HTTP, the command line and the docs. */

/** The coarse codes, stable for ever: `docs/interface.md` §2. */
export const PROBLEMS = {
  bad_request: { status: 400, title: "Malformed request" },
  invalid_json: { status: 400, title: "Invalid JSON" },
  unauthorized: { status: 401, title: "Authentication required" },
  forbidden: { status: 403, title: "Forbidden" },
  browser_origin: { status: 403, title: "Origin not allowed" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  request_timeout: { status: 408, title: "Request took too long" },
  event_not_failed: { status: 409, title: "Event has not failed" },
  delivery_behind: { status: 409, title: "Another delivery goes first" },
  delivery_settled: { status: 409, title: "Delivery is settled" },
  endpoint_disabled: { status: 409, title: "Endpoint is disabled" },
  endpoint_damaged: { status: 409, title: "Endpoint is damaged" },
  endpoint_limit: { status: 409, title: "Too many endpoints" },
  rotation_in_progress: { status: 409, title: "Rotation in progress" },
  not_rotating: { status: 409, title: "No rotation in progress" },
  already_created: { status: 409, title: "Already created" },
  canary_failed: { status: 409, title: "Canary has failed" },
  job_ended: { status: 409, title: "Job has ended" },
  backup_running: { status: 409, title: "Backup is running" },
  key_not_changeable: { status: 409, title: "Secret key cannot be changed here" },
  event_type_read_only: { status: 409, title: "Event type is read-only" },
  event_type_in_use: { status: 409, title: "Event type is in use" },
  event_type_limit: { status: 409, title: "Too many event types" },
  plan_changed: { status: 409, title: "Plan has changed" },
  gone: { status: 410, title: "Gone" },
  precondition_failed: { status: 412, title: "Precondition failed" },
  payload_too_large: { status: 413, title: "Payload too large" },
  unsupported_media_type: { status: 415, title: "Unsupported media type" },
  misdirected: { status: 421, title: "Misdirected request" },
  validation_failed: { status: 422, title: "Validation failed" },
  invalid_query: { status: 422, title: "Invalid query" },
  idempotency_mismatch: { status: 422, title: "Idempotency key reused" },
  rate_limited: { status: 429, title: "Too many requests" },
  headers_too_large: { status: 431, title: "Headers too large" },
  backup_failed: { status: 500, title: "Backup failed" },
  rekey_failed: { status: 500, title: "Changing the secret key failed" },
  internal: { status: 500, title: "Internal error" },
  overloaded: { status: 503, title: "Overloaded" },
  outbox_unavailable: { status: 503, title: "Outbox unavailable" },
  shutting_down: { status: 503, title: "Shutting down" },
  storage_unavailable: { status: 503, title: "Storage unavailable" },
  storage_full: { status: 507, title: "Storage full" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof PROBLEMS;

/** Errors that pass by themselves: the same request may succeed later. Any other must be changed first. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  "request_timeout",
  "backup_running",
  "rate_limited",
  "internal",
  "overloaded",
  "outbox_unavailable",
  "shutting_down",
  "storage_unavailable",
  "storage_full",
]);

export function isRetryable(code: ErrorCode): boolean {
  return PASSING.has(code);
}

/** Codes for a single field, in `errors[].code`. */
export const FIELD_CODES = [
  "invalid_utf8",
  "duplicate_key",
  "too_deep",
  "too_many_values",
  "unsupported_content_encoding",
  "missing_field",
  "unknown_field",
  "invalid_type",
  "invalid_syntax",
  "out_of_range",
  "conflicting_fields",
  "invalid_body",
  "too_long",
  "too_few",
  "forbidden_char",
  "invalid_secret",
  "fan_out_too_large",
  "invalid_events",
  "invalid_filter",
  "unknown_event_type",
  "archived_event_type",
  "read_only_event_type",
  "unknown_endpoint",
  "unknown_event",
  "unknown_tenant",
  "invalid_header",
  "invalid_certificate",
  "invalid_idempotency_key",
  "url_invalid",
  "url_too_long",
  "url_scheme",
  "url_userinfo",
  "url_fragment",
  "url_forbidden_char",
  "host_invalid",
  "host_noncanonical",
  "host_single_label",
  "host_special_use",
  "host_metadata",
  "host_trailing_dot",
  "host_is_ip",
  "port_not_allowed",
  "address_not_public",
  "address_metadata",
  "address_denied",
  "address_self",
] as const;

export type FieldCode = (typeof FIELD_CODES)[number];

export interface FieldError {
  /** An RFC 6901 JSON pointer into the body, `""` for all of it; `?name` for a query parameter. */
  readonly pointer: string;
  readonly code: FieldCode;
  readonly detail: string;
}

/**
 * An error that the caller can act on. Anything else that is thrown is our bug or our disk. `detail` is shown to the
 * caller.
 */
export class WebhookdError extends Error {
  override readonly name = "WebhookdError";
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly retryAfterSeconds: number | undefined;
  /** The offset in the bytes that were sent, if the error is about one place. */
  readonly at: number | undefined;

  constructor(
    code: ErrorCode,
    detail: string,
    more: { errors?: readonly FieldError[]; retryAfterSeconds?: number; at?: number; cause?: unknown } = {},
  ) {
    super(`${code}: ${detail}`, "cause" in more ? { cause: more.cause } : undefined);
    this.code = code;
    this.detail = detail;
    this.errors = more.errors ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.at = more.at;
  }
}
