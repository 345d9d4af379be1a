/** Words for deliveries and attempts. */
import type { Attempt, Delivery } from "../../client/operations.ts";
import type { AttemptError } from "../../domain/deliveries/attempt.ts";
import { capital, t } from "../language/text.ts";
import type { Tone } from "../parts/status.tsx";
import type { WordKey } from "../language/catalogue.ts";

export function toneOf(status: Delivery["status"], attempts: number): Tone {
  switch (status) {
    case "delivered":
      return "good";
    case "failed":
      return "bad";
    case "pending":
      return attempts > 0 ? "warn" : "wait";
    case "held":
    case "cancelled":
    case "shadowed":
      return "off";
  }
}

const STATUS = {
  pending: "status.pending",
  delivered: "status.delivered",
  failed: "status.failed",
  held: "status.held",
  cancelled: "status.cancelled",
  shadowed: "status.shadowed",
} as const satisfies Readonly<Record<Delivery["status"], WordKey>>;

export function wordOf(status: Delivery["status"], attempts: number): string {
  return status === "pending" && attempts > 0 ? t("status.retrying") : t(STATUS[status]);
}

/** The causes of failed attempts, without those that a status names. */
const CAUSES = {
  redirect_not_followed: "cause.redirect",
  timeout: "cause.timeout",
  dns_failure: "cause.dns",
  connection_refused: "cause.refused",
  connection_closed: "cause.closed",
  tls_error: "cause.tls",
  token_error: "cause.token",
  bad_response: "cause.bad",
  response_headers_too_large: "cause.headers",
  too_many_informational: "cause.informational",
  address_not_public: "cause.notPublic",
  address_metadata: "cause.metadata",
  address_denied: "cause.denied",
  address_self: "cause.self",
  unreachable: "cause.unreachable",
  payload_corrupt: "cause.corrupt",
  held_expired: "cause.held",
  interrupted: "cause.interrupted",
} as const satisfies Readonly<Record<Exclude<AttemptError, "http_status">, WordKey>>;

/** Returns text such as "503 from the receiver" or "no answer in time". */
export function causeText(error: string | null, status: number | null): string {
  if (error === "http_status" || error === null)
    return status === null ? t("cause.failed") : t("cause.status", { status: String(status) });
  const cause = error in CAUSES ? t(CAUSES[error as keyof typeof CAUSES]) : error.replaceAll("_", " ");
  return status === null ? cause : `${status}, ${cause}`;
}

/** The cause of a failure in a narrow place. */
export function shortCause({ error, outcome }: Attempt): string {
  return error === null && outcome !== "failed" ? outcome : causeText(error, null);
}

/** Returns text such as "200 in time", "503 from the receiver" or "no answer in time". */
export function answerText({ outcome, status_code: code, error }: Attempt): string {
  if (outcome === "succeeded") return t("answer.inTime", { status: String(code) });
  return capital(causeText(error, code));
}

export function triggerText({ trigger, retry, round }: Attempt): string {
  switch (trigger) {
    case "test":
      return t("trigger.test");
    case "manual":
      return t("trigger.manual");
    case "replay":
    case "ladder":
      if (retry === 0 || retry === null) return round === 1 ? t("trigger.first") : t("trigger.replay");
      return t("trigger.retry", { place: retry });
  }
}
