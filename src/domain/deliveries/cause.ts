/** Why attempts failed, in a few words for people. */
import type { AttemptError } from "./attempt.ts";

const CAUSES: Readonly<Partial<Record<AttemptError, string>>> = {
  redirect_not_followed: "redirect, not followed",
  timeout: "no answer in time",
  dns_failure: "DNS name not found",
  tls_error: "TLS error",
  address_not_public: "address is not public",
  held_expired: "held for too long",
  payload_corrupt: "payload is damaged",
};

/** `error` as the API says it; null for what it does not know. */
export function causeText(error: string | null, statusCode: number | null): string {
  if (error === "http_status" || error === null)
    return statusCode === null ? "failed" : `${statusCode} from the receiver`;
  const text = CAUSES[error as AttemptError] ?? error.replaceAll("_", " ");
  return statusCode === null ? text : `${statusCode}, ${text}`;
}
