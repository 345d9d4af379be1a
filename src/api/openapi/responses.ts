/**
 * Describes the answers of a route: the replies that its operation names, and the problems that follow from its rules.
 */
import * as v from "valibot";
import { type ErrorCode, FIELD_CODES, type FieldError, isRetryable, PROBLEMS } from "../../domain/errors.ts";
import { RETRY_AFTER } from "../pipeline/reply.ts";
import type { ReplyHeader, ReplyShape, Route } from "../pipeline/route.ts";
import { described, id, titled } from "../pipeline/shapes.ts";
import type { JsonObject, Schemas } from "./json-schema.ts";

/** Headers that the daemon sends. */
export const HEADERS = {
  "Retry-After": header("How many seconds to wait before trying again.", 5, { type: "integer", minimum: 0 }),
  "WWW-Authenticate": header("How to authenticate.", "Bearer"),
  Location: header("The path of the new resource.", "/v1/webhooks/ep_06fbqxvx8r4m8q2v6ng0c3kz7t"),
  Link: header(
    'The next page of a list, if there is one, as `rel="next"`; each deprecated event type of a publish, as `rel="deprecation"`.',
    '</v1/webhooks?cursor=Zm9v>; rel="next"',
  ),
  Deprecation: header(
    "If an event type of the request is deprecated: since when, in seconds since 1970 (RFC 9745).",
    "@1795600000",
  ),
  Sunset: header(
    "If an event type of the request is deprecated: when its events are expected to end, if that is known (RFC 8594).",
    "Sun, 31 Jan 2027 00:00:00 GMT",
  ),
  ETag: header(
    "Different after every change. Of an endpoint, for `If-Match`: its health is not part of it. Of a page or file, for `If-None-Match`.",
    '"mX3vP0qLz8Kd2YtA"',
  ),
  "RateLimit-Policy": header(
    "With `[server] rate_limit`: how many requests (`q`) a key may make in `w` seconds; each event of a batch counts as one (draft-ietf-httpapi-ratelimit-headers).",
    '"key";q=100;w=1',
  ),
  RateLimit: header(
    "With `[server] rate_limit`: how many requests are left now (`r`); all of them are available again in `t` seconds.",
    '"key";r=42;t=1',
  ),
};

type HeaderName = keyof typeof HEADERS;

const REPLY_HEADERS: Record<ReplyHeader, HeaderName> = {
  location: "Location",
  link: "Link",
  etag: "ETag",
  deprecation: "Deprecation",
  sunset: "Sunset",
};

type StatusClass = "4XX" | "5XX";

function classOf(status: number): StatusClass {
  return status < 500 ? "4XX" : "5XX";
}

/** Problems that follow from the rules that most routes share. A status that has any other one is described for itself. */
const COMMON: ReadonlySet<ErrorCode> = new Set([
  "bad_request",
  "invalid_json",
  "unauthorized",
  "forbidden",
  "browser_origin",
  "payload_too_large",
  "unsupported_media_type",
  "misdirected",
  "validation_failed",
  "invalid_query",
  "idempotency_mismatch",
  "rate_limited",
  "internal",
  "overloaded",
  "shutting_down",
  "storage_unavailable",
  "storage_full",
]);

/** Headers of answers to callers that have a rate limit. */
const LIMIT: readonly HeaderName[] = ["RateLimit-Policy", "RateLimit"];

export class Responses {
  readonly #schemas: Schemas;
  readonly #shared = new Map<string, JsonObject>();

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  of(route: Route): JsonObject {
    const responses: JsonObject = {};
    const problems = Map.groupBy(problemsOf(route), (code) => PROBLEMS[code].status);
    for (const [status, codes] of problems) {
      if (codes.every((code) => COMMON.has(code))) responses[classOf(status)] = this.#common(classOf(status));
      else responses[status] = this.#problem(codes.join("."), codes);
    }
    for (const [status, shape] of Object.entries(route.operation.replies ?? {})) responses[status] = this.#reply(shape);
    return responses;
  }

  /** Returns the shared responses, by the problem codes that they describe. */
  shared(): JsonObject {
    return Object.fromEntries([...this.#shared].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Leaves out the example, which would make the document half as long again. The page shows it. */
  #reply({ description, schema, type = "application/json", headers = [] }: ReplyShape): JsonObject {
    return {
      description,
      ...(headers.length > 0 && { headers: refs(headers.map((name) => REPLY_HEADERS[name])) }),
      ...(schema !== undefined && { content: { [type]: { schema: this.#schemas.of(schema) } } }),
    };
  }

  /** The problems of every route are described once, for all statuses of a class. */
  #common(name: StatusClass): JsonObject {
    return this.#problem(
      name,
      CODES.filter((code) => COMMON.has(code) && classOf(PROBLEMS[code].status) === name),
    );
  }

  #problem(name: string, codes: readonly ErrorCode[]): JsonObject {
    if (!this.#shared.has(name)) this.#shared.set(name, this.#problemResponse(codes));
    return { $ref: `#/components/responses/${name}` };
  }

  #problemResponse(codes: readonly ErrorCode[]): JsonObject {
    const headers: HeaderName[] = [];
    if (codes.some((code) => RETRY_AFTER[code] !== undefined)) headers.push("Retry-After");
    if (codes.includes("rate_limited")) headers.push(...LIMIT);
    if (codes.includes("unauthorized")) headers.push("WWW-Authenticate");
    return {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join("; "),
      ...(headers.length > 0 && { headers: refs(headers) }),
      content: {
        "application/problem+json": {
          schema: this.#schemas.of(Problem),
        },
      },
    };
  }
}

function refs(names: readonly HeaderName[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function header(description: string, example: unknown, schema: JsonObject = { type: "string" }): JsonObject {
  return { description, schema, example };
}

export const CODES = Object.keys(PROBLEMS) as ErrorCode[];

export const FieldProblem = titled(
  "FieldProblem",
  v.object({
    pointer: described(
      v.string(),
      'A JSON pointer (RFC 6901) into the body, `""` for all of it; `?name` for a parameter.',
    ),
    code: v.picklist(FIELD_CODES),
    detail: v.string(),
  }),
);

export const Problem = titled(
  "Problem",
  v.object({
    type: described(v.string(), "`urn:webhookd:problem:` followed by the code."),
    title: v.string(),
    status: v.pipe(v.number(), v.integer()),
    detail: described(v.string(), "What happened and what to do next, for a person to read."),
    code: described(v.picklist(CODES), "Stable, for programs to check."),
    retryable: described(
      v.boolean(),
      "Whether the same request may succeed later. If not, change what `detail` and `errors` name first.",
    ),
    errors: v.optional(described(v.array(FieldProblem), "The fields that are wrong, at most 20.")),
    request_id: described(id("req"), "The same id as in `X-Request-Id`; it is also in the daemon's log."),
  }),
);

const DETAILS: Record<ErrorCode, string> = {
  bad_request: "there are two host headers",
  invalid_json: "/data/a is given twice",
  unauthorized: "send a valid key: Authorization: Bearer whk_…",
  forbidden: 'this key lacks the scope "manage"',
  browser_origin: "requests from web pages are refused; see [server] allowed_origins",
  not_found: "there is nothing here for this key",
  method_not_allowed: "this path takes POST, GET, HEAD",
  request_timeout: "the request was not complete in time; send it again, faster",
  event_not_failed: "none of the selected deliveries has failed; use force to replay delivered ones too",
  delivery_behind:
    "another event with its ordering key goes first; attempt, replay or cancel that one, which `why` names",
  delivery_settled:
    "it was delivered, cancelled or shadowed, so there is nothing to attempt; to send a delivered one again, replay its event with force",
  endpoint_disabled: "all its failed deliveries go to disabled or deleted endpoints: ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  endpoint_damaged: "its signing secret cannot be unsealed; give it a new one with overlap_seconds 0",
  endpoint_limit:
    "this tenant already has as many endpoints as it is allowed; delete one, or see [endpoints] max_per_tenant",
  rotation_in_progress: "a rotation is in progress until 2026-11-21T09:55:00.000Z; complete or abandon it first",
  not_rotating: "no rotation is in progress: there is no next secret",
  already_created: "this idempotency key already created an API key, which was shown only once; revoke that API key",
  canary_failed:
    'the canary to ep_06fbqxvx8r4m8q2v6ng0c3kz7t failed: the receiver answered 503; say how the job should continue: {"canary": true} tries one more, {"send_all": true} sends all that is left',
  job_ended: "it is done, so it can no longer be changed; create a new job",
  backup_running: "a backup is being made; wait until it is done",
  key_not_changeable:
    "/run/credentials/webhookd.service/secret.key is outside the data directory: change it where it comes from, while the daemon is stopped",
  event_type_read_only:
    "budget.exceeded is fixed by the specification and cannot be changed; add a type of another name",
  event_type_in_use:
    "order.created cannot be deleted, because an endpoint chose it (ep_06fbqxvx8r4m8q2v6ng0c3kz7t); archive it instead, with archived: true: it is no longer offered, and endpoints that chose it keep it",
  event_type_limit: "there are 1000 event types already: delete some that are no longer used",
  plan_changed: "the set now contains 442 deliveries, not 441; check the plan again",
  gone: "the data of this event was erased, so it cannot be sent again",
  precondition_failed: "the endpoint has changed since you read it: GET it again, and send its ETag in If-Match",
  payload_too_large: "the body is larger than 65536 bytes",
  unsupported_media_type: "send JSON in UTF-8, with content-type: application/json",
  misdirected: "this host name is not served here; see [server] allowed_hosts",
  validation_failed: "/url must begin with https://",
  invalid_query: "limit must be a number from 1 to 100",
  idempotency_mismatch: "this idempotency key was already used for a different request; use a new one for each request",
  rate_limited: "too many failed authentications from this address",
  headers_too_large: "the request target and headers are larger than 16 KiB",
  internal: "something went wrong in webhookd; the log has more under this request id",
  rekey_failed: "the secret key /var/lib/webhookd/secret.key.next cannot be written: make its directory writable",
  backup_failed: "/var/backups/webhookd is full: free some space, or name another [backup] dir",
  overloaded: "too many publish requests are waiting for their commit",
  outbox_unavailable:
    "the outbox cannot be used: it cannot be reached: connect ECONNREFUSED 10.0.0.7:5432; start it, or correct [[outbox]] url; it is read again as soon as it can be",
  shutting_down: "the daemon is stopping; try again in a moment",
  storage_unavailable: "the store cannot be written or read now",
  storage_full: "there is too little free disk space: nothing was stored",
};

const FAULTS: Partial<Record<ErrorCode, FieldError>> = {
  invalid_json: { pointer: "/data/a", code: "duplicate_key", detail: "is given twice" },
  validation_failed: { pointer: "/url", code: "url_scheme", detail: "must begin with https://" },
  invalid_query: { pointer: "?limit", code: "invalid_type", detail: "must be a number from 1 to 100" },
};

export function exampleOf(code: ErrorCode): JsonObject {
  const fault = FAULTS[code];
  return {
    type: `urn:webhookd:problem:${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: DETAILS[code],
    code,
    retryable: isRetryable(code),
    ...(fault !== undefined && { errors: [fault] }),
    request_id: "req_06fbqxvx8q1r2s3t4v5w6x7y8z",
  };
}

/** Returns the problem codes that a route may answer with. */
export function problemsOf({ method, path, access, body, again, operation }: Route): ErrorCode[] {
  const codes: ErrorCode[] = ["bad_request", "misdirected", "browser_origin", "invalid_query"];
  if (access !== "open") codes.push("unauthorized", "rate_limited", "shutting_down", "storage_unavailable", "internal");
  if (access !== "open" && access !== "any") codes.push("forbidden");
  if (access !== "open" && method !== "GET") codes.push("storage_full");
  if (body !== undefined)
    codes.push("invalid_json", "unsupported_media_type", "payload_too_large", "validation_failed");
  if (method === "POST") codes.push("validation_failed", "idempotency_mismatch");
  // The answer of such a route holds a secret, so it is not stored, and a repeat does not get it.
  if (method === "POST" && access === "secrets" && again === undefined) codes.push("already_created");
  if (body?.metered) codes.push("overloaded");
  if (path.includes(":") && operation.adds !== true) codes.push("not_found");
  codes.push(...(operation.problems ?? []));
  return CODES.filter((code) => codes.includes(code));
}
