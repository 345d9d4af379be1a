/** What one HTTP request to a receiver came to. A receiver's fault is a value here, never an exception. */

/** Why an attempt failed; `docs/interface.md` §6 calls this the attempt's `error`. */
// Their order is on disk (`domain/tally.ts`): a new one goes to the end, and there is room for 24.
export const ATTEMPT_ERRORS = [
  "http_status",
  "redirect_not_followed",
  "timeout",
  "dns_failure",
  "connection_refused",
  "connection_closed",
  "tls_error",
  "bad_response",
  "response_headers_too_large",
  "too_many_informational",
  "address_not_public",
  "address_metadata",
  "address_denied",
  "address_self",
  "unreachable",
  "payload_corrupt",
  "held_expired",
  "interrupted",
] as const;

export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

const CAUSES: Readonly<Partial<Record<AttemptError, string>>> = {
  redirect_not_followed: "redirect, not followed",
  timeout: "no answer in time",
  dns_failure: "DNS name not found",
  tls_error: "TLS error",
  address_not_public: "address is not public",
  held_expired: "held for too long",
  payload_corrupt: "payload is damaged",
};

/** For people: `error` as the API says it; null for what it does not know. */
export function causeText(error: string | null, statusCode: number | null): string {
  if (error === "http_status" || error === null)
    return statusCode === null ? "failed" : `${statusCode} from the receiver`;
  const text = CAUSES[error as AttemptError] ?? error.replaceAll("_", " ");
  return statusCode === null ? text : `${statusCode}, ${text}`;
}

/**
 * What the end of an attempt says of this host's own way out, beside what it says of the receiver.
 *
 * - `answer`: someone out there said something, if only no, so the way out works.
 * - `silence`: there was no word. The receiver's fault, unless there is no word from any other either.
 * - `no_look_up`: no DNS had a word on the name. The receiver's fault, unless this host's resolvers say nothing at all.
 * - `cut_off`: this host itself knows no way out. Our fault, even where there is one receiver.
 * - `shortage`: this process or host ran out of something. Our fault.
 * - `none`: no receiver was asked.
 */
export type Evidence = "answer" | "silence" | "no_look_up" | "cut_off" | "shortage" | "none";

/** Where an attempt's error is all that is known. What a system's or a resolver's code says in particular goes before. */
const OF_ERROR: Partial<Readonly<Record<AttemptError, Evidence>>> = {
  timeout: "silence",
  unreachable: "silence",
  address_not_public: "none",
  address_metadata: "none",
  address_denied: "none",
  address_self: "none",
  payload_corrupt: "none",
  held_expired: "none",
  interrupted: "none",
};

export function evidenceOf(error: AttemptError | null): Evidence {
  return (error === null ? undefined : OF_ERROR[error]) ?? "answer";
}

/** Whether an attempt that ended so may be no fault of its receiver's. */
export function isUnheard(evidence: Evidence): boolean {
  return evidence === "silence" || evidence === "no_look_up" || evidence === "cut_off";
}

/** What happened to the response body after a final header block had decided the attempt; it changes nothing. */
export type BodyError = "timeout" | "connection_closed" | "bad_response";

/** What made the attempt happen: the ladder, a replay's first attempt, an operator's single attempt, a test event. */
export type Trigger = "ladder" | "replay" | "manual" | "test";

/** Milliseconds since the attempt began at which each step was done; null where it did not happen. */
export interface Phases {
  readonly dnsMs: number | null;
  readonly connectMs: number | null;
  readonly tlsMs: number | null;
  readonly firstByteMs: number | null;
}

export interface Outcome {
  readonly outcome: "succeeded" | "failed" | "interrupted";
  readonly statusCode: number | null;
  readonly error: AttemptError | null;
  readonly bodyError: BodyError | null;
  /** One sentence for people; holds no text of the receiver's. */
  readonly detail: string;
  /** From the start of the attempt to its decision. */
  readonly durationMs: number;
  readonly remoteAddress: string | null;
  readonly phases: Phases;
  /** `content-type`, `retry-after`, `server`, `date` and `location` only, each cut to 256 bytes. Outside text. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** At most the bytes that may be kept for this outcome. Outside bytes. */
  readonly responseBody: Uint8Array;
  readonly responseTruncated: boolean;
  /** What it says of this host's own way out; by its error if it is not said. */
  readonly evidence?: Evidence;
  /** Our own fault (no file descriptors, no network at all, shutdown): uses no rung, the delivery is queued again. */
  readonly ours: boolean;
}

/** One attempt that has ended, as whoever sent it reports it. */
export interface Ended {
  readonly delivery: string;
  readonly endpoint: string;
  readonly url: string;
  readonly startedAt: number;
  /** Of the secret that signed; null when nothing was signed. */
  readonly secretVersion: number | null;
  readonly outcome: Outcome;
}

export const NO_PHASES: Phases = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };

const NO_HEADERS: Outcome["responseHeaders"] = {};
const NO_BODY = new Uint8Array(0);

/** At so many deaths of those who made an attempt it counts as the delivery's failure, although it is our fault. */
const DEATHS = 3;

/** The outcome of an attempt that killed the process or the sender that made it so often; null if it may be tried again. */
export function deadly(deaths: number, victim: "process" | "sender"): Outcome | null {
  if (deaths < DEATHS) return null;
  const detail = `the ${victim} died ${DEATHS} times while making this attempt`;
  return noResponse("interrupted", detail, 0, { outcome: "failed", ours: false });
}

/** Whether `plainSuccess` says all that is worth keeping of it. */
export function isPlain(outcome: Outcome): boolean {
  return outcome.outcome === "succeeded" && outcome.bodyError === null;
}

/** A success with nothing odd about it. */
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

/** The detail of an attempt that was answered. */
export function answered(statusCode: number | null): string {
  return `the receiver answered ${statusCode}`;
}

/** An outcome without a response: the request never left, or nothing that counts came back. */
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
