/** Errors as RFC 9457 `application/problem+json`. */
import type { Damage } from "../domain/endpoint.ts";
import { PROBLEMS, WebhookdError, type ErrorCode } from "../domain/errors.ts";
import type { Header, TextReply } from "./route.ts";

/** Seconds after which a caller may try again, where the error itself does not know better. */
export const RETRY_AFTER: Partial<Record<ErrorCode, number>> = {
  rate_limited: 60,
  overloaded: 1,
  shutting_down: 5,
  storage_unavailable: 5,
  storage_full: 30,
};

export function problem(error: WebhookdError, requestId: string, more: readonly Header[] = []): TextReply {
  const { status, title } = PROBLEMS[error.code];
  const headers: Header[] = [...more];
  const retryAfter = error.retryAfterSeconds ?? RETRY_AFTER[error.code];
  if (retryAfter !== undefined) headers.push(["retry-after", String(retryAfter)]);
  if (error.code === "unauthorized") headers.push(["www-authenticate", "Bearer"]);
  if (error.code === "shutting_down") headers.push(["connection", "close"]);
  const body = {
    type: `urn:webhookd:problem:${error.code}`,
    title,
    status,
    detail: error.detail,
    code: error.code,
    ...(error.errors.length > 0 && { errors: error.errors }),
    request_id: requestId,
  };
  return { status, type: "application/problem+json", body: JSON.stringify(body), headers };
}

export function notFound(): WebhookdError {
  return new WebhookdError("not_found", "there is nothing here for this key");
}

export function damagedEndpoint({ reason }: Damage): WebhookdError {
  return new WebhookdError("endpoint_damaged", `${reason}; nothing is sent to this endpoint until that is mended`);
}

export function erased(): WebhookdError {
  return new WebhookdError("gone", "the data of this event was erased, so it cannot be sent again");
}
