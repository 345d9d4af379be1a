/** The result of one HTTP request to a receiver. A receiver's fault is a value here, never an exception. */

/**
 * The evidence about this host's own network that the end of an attempt gives.
 * - `answer`: something out there answered, if only with a refusal, so the network works.
 * - `silence`: nothing answered. The receiver's fault, unless no other receiver answers either.
 * - `no_look_up`: no DNS server answered for the name. The receiver's fault, unless this host's resolvers answer
 *   nothing at all.
 * - `cut_off`: this host itself has no route. Our fault, even if there is only one receiver.
 * - `shortage`: this process or host ran out of something. Our fault.
 * - `none`: no receiver was asked.
 */
export type Evidence = "answer" | "silence" | "no_look_up" | "cut_off" | "shortage" | "none";

/** The facts about an error that do not depend on the attempt. */
interface Known {
  /** The cause that `failures` shows. */
  readonly cause: string;
  /** Shown in the narrowest column, if the error itself is too long. */
  readonly short?: string;
  /** Used if only the error is known. The code of the system or a resolver takes precedence. */
  readonly evidence: Evidence;
}

/**
 * The reasons why an attempt may fail. `docs/interface.md` §6 calls this the attempt's `error`. The file that detects
 * each one is named beside it, under `src/delivery` unless it says otherwise. Add a new one at the end, because the
 * order is on disk (`domain/tally.ts`), which has capacity for 24. `domain/advice/by-error.ts` then does not compile
 * until it has advice for it.
 */
const ERRORS = {
  http_status: { cause: "failed", evidence: "answer" }, // http/exchange.ts, by status
  redirect_not_followed: { cause: "redirect, not followed", evidence: "answer" }, // http/exchange.ts, by status
  timeout: { cause: "no answer in time", evidence: "silence" }, // http/exchange.ts, resolver.ts, egress-guard.ts
  dns_failure: { cause: "DNS name not found", short: "dns", evidence: "answer" }, // http/resolver.ts
  connection_refused: { cause: "connection refused", short: "refused", evidence: "answer" }, // http/fault.ts, by the system's code
  connection_closed: { cause: "connection closed", short: "closed", evidence: "answer" }, // http/fault.ts, by the system's code
  tls_error: { cause: "TLS error", short: "tls", evidence: "answer" }, // http/fault.ts, by OpenSSL's code
  bad_response: { cause: "bad response", short: "bad", evidence: "answer" }, // http/answer.ts, by its bytes
  response_headers_too_large: { cause: "response headers too large", evidence: "answer" }, // http/answer.ts
  too_many_informational: { cause: "too many 1xx responses", evidence: "answer" }, // http/answer.ts
  address_not_public: { cause: "address is not public", evidence: "none" }, // domain/network/address.ts, as the next three
  address_metadata: { cause: "address of cloud metadata", evidence: "none" },
  address_denied: { cause: "address is denied by settings", evidence: "none" },
  address_self: { cause: "address is this host", evidence: "none" },
  unreachable: { cause: "unreachable", evidence: "silence" }, // http/fault.ts, by the system's code
  payload_corrupt: { cause: "payload is damaged", evidence: "none" }, // send/sender.ts
  held_expired: { cause: "held for too long", evidence: "none" }, // store/sqlite/upkeep-store.ts, store/postgres/upkeep.ts
  interrupted: { cause: "interrupted", evidence: "none" }, // http/fault.ts; a shutdown; the death of a sender
  token_error: { cause: "no token", short: "token", evidence: "none" }, // send/tokens.ts
} as const satisfies Readonly<Record<string, Known>>;

export type AttemptError = keyof typeof ERRORS;

export const ATTEMPT_ERRORS = Object.keys(ERRORS) as [AttemptError, ...AttemptError[]];

/** Text for people, from an `error` of the API; null stands for an error that is unknown. */
export function causeText(error: string | null, statusCode: number | null): string {
  if (error === "http_status" || error === null)
    return statusCode === null ? "failed" : `${statusCode} from the receiver`;
  const known: Known | undefined = ERRORS[error as AttemptError];
  const text = known?.cause ?? error.replaceAll("_", " ");
  return statusCode === null ? text : `${statusCode}, ${text}`;
}

/** Returns the error for a narrow column of a list: a shorter word if it would not fit. */
export function shortError(error: string): string {
  const known: Known | undefined = ERRORS[error as AttemptError];
  return known?.short ?? error;
}

export function evidenceOf(error: AttemptError | null): Evidence {
  return error === null ? "answer" : ERRORS[error].evidence;
}

/** True if an attempt that ended like this may not be its receiver's fault. */
export function isInconclusive(evidence: Evidence): boolean {
  return evidence === "silence" || evidence === "no_look_up" || evidence === "cut_off";
}

/** The fate of the response body after a final header block had decided the attempt. It changes nothing. */
export type BodyError = "timeout" | "connection_closed" | "bad_response";

/**
 * Faults in a response whose status counts anyway, because its status line is clear. The attempt's detail names them.
 */
const RESPONSE_FAULTS = {
  bare_lf: "a line ends in LF without CR",
  folded_header: "a header is folded over several lines",
  space_before_colon: "there is a space before the colon of a header",
  repeated_content_length: "Content-Length is repeated",
  content_length_with_transfer_encoding: "there are both Content-Length and Transfer-Encoding",
} as const;

export type ResponseFault = keyof typeof RESPONSE_FAULTS;

export const RESPONSE_FAULT_NAMES = Object.keys(RESPONSE_FAULTS) as ResponseFault[];

/** Adds the faults of the response, if any, to the attempt's detail. */
export function withFaults(detail: string, faults: readonly ResponseFault[]): string {
  if (faults.length === 0) return detail;
  const words = faults.map((fault) => `${RESPONSE_FAULTS[fault]} (${fault})`).join(", ");
  return `${detail}; the response is malformed: ${words}`;
}

/** The reason for the attempt: the ladder, a replay's first attempt, an operator's single attempt, or a test event. */
export type Trigger = "ladder" | "replay" | "manual" | "test";

/** The milliseconds since the attempt began at which each step was done. Null if it did not happen. */
export interface Phases {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
}

export const OUTCOMES = ["succeeded", "failed", "interrupted"] as const;

export interface Outcome {
  readonly outcome: (typeof OUTCOMES)[number];
  readonly statusCode: number | null;
  readonly error: AttemptError | null;
  readonly bodyError: BodyError | null;
  /** One sentence for people, without any text from the receiver. */
  readonly detail: string;
  /** Milliseconds from the start of the attempt to its decision. */
  readonly durationMs: number;
  readonly remoteAddress: string | null;
  readonly phases: Phases;
  /**
   * `content-type`, `content-encoding`, `retry-after`, `server`, `date` and `location` only, each cut to 256 bytes.
   * Outside text.
   */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** At most the bytes that may be kept for this outcome. Outside bytes. */
  readonly responseBody: Uint8Array;
  readonly responseTruncated: boolean;
  /** Absent if the error alone determines it. */
  readonly evidence?: Evidence;
  /**
   * True if the fault is our own (no file descriptors, no network at all, shutdown). It uses no rung, and the delivery
   * is queued again.
   */
  readonly ours: boolean;
}

/** One attempt that has ended, as its sender reports it. */
export interface Ended {
  readonly delivery: string;
  readonly endpoint: string;
  readonly url: string;
  readonly startedAt: number;
  /** The version of the secret that signed; null if nothing was signed. */
  readonly secretVersion: number | null;
  readonly outcome: Outcome;
}

export const NO_PHASES: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

const NO_HEADERS: Outcome["responseHeaders"] = {};
const NO_BODY = new Uint8Array(0);

/**
 * After the process or thread that made the attempt has died this often, it counts as the delivery's failure, although
 * it is our fault.
 */
const DEATHS = 3;

/** Returns the outcome of an attempt that has killed its process or sender this often, or null if it may be retried. */
export function deadly(deaths: number, victim: "process" | "sender"): Outcome | null {
  if (deaths < DEATHS) return null;
  const detail = `the ${victim} died ${DEATHS} times while making this attempt`;
  return noResponse("interrupted", detail, 0, { outcome: "failed", ours: false });
}

/** True if `plainSuccess` can express the whole outcome. */
export function isPlain(outcome: Outcome): boolean {
  return outcome.bodyError === null && isByStatus(outcome);
}

/** True for a success whose detail says no more than the status does. */
export function isByStatus({
  outcome,
  detail,
  statusCode,
}: Pick<Outcome, "outcome" | "detail" | "statusCode">): boolean {
  return outcome === "succeeded" && addedDetail(outcome, statusCode, detail) === "";
}

/** A success with nothing unusual about it. */
export function plainSuccess(
  statusCode: number,
  durationMs: number,
  more: Partial<Pick<Outcome, "remoteAddress" | "phases" | "responseHeaders" | "responseBody" | "responseTruncated">>,
): Outcome {
  return {
    outcome: "succeeded",
    statusCode,
    error: null,
    bodyError: null,
    detail: answered(statusCode),
    durationMs,
    remoteAddress: more.remoteAddress ?? null,
    phases: more.phases ?? NO_PHASES,
    responseHeaders: more.responseHeaders ?? NO_HEADERS,
    responseBody: more.responseBody ?? NO_BODY,
    responseTruncated: more.responseTruncated ?? false,
    ours: false,
  };
}

/** The detail of an attempt that got a response. */
export function answered(statusCode: number | null): string {
  return `the receiver answered ${statusCode}`;
}

/**
 * Returns the detail that a list shows beside an attempt's status, or "" for a success whose detail adds nothing to it.
 */
export function addedDetail(outcome: string, statusCode: number | null, detail: string): string {
  return outcome === "succeeded" && detail === answered(statusCode) ? "" : detail;
}

/** An outcome without a response: the request was not sent, or nothing that counts came back. */
export function noResponse(
  error: AttemptError,
  detail: string,
  durationMs: number,
  more: Partial<Outcome> = {},
): Outcome {
  return {
    outcome: error === "interrupted" ? "interrupted" : "failed",
    statusCode: null,
    error,
    bodyError: null,
    detail,
    durationMs,
    remoteAddress: null,
    phases: NO_PHASES,
    responseHeaders: {},
    responseBody: new Uint8Array(0),
    responseTruncated: false,
    evidence: evidenceOf(error),
    ours: error === "interrupted",
    ...more,
  };
}
