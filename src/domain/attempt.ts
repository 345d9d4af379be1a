/** What one HTTP request to a receiver came to. A receiver's fault is a value here, never an exception. */
import { evidenceOf, type Evidence } from "./evidence.ts";

/** Why an attempt failed; `docs/interface.md` §6 calls this the attempt's `error`. */
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
  const detail = `the ${victim} died ${DEATHS} times while it made this attempt`;
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
