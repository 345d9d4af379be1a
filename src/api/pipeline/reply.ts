/** What a route answers with, and errors as RFC 9457 `application/problem+json`. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Readable } from "node:stream";
import type { Damage } from "../../domain/endpoints/endpoint.ts";
import { type ErrorCode, PROBLEMS, WebhookdError } from "../../domain/errors.ts";
import type { Reject } from "../server/listener.ts";

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  readonly type: string;
  /** A stream goes on until it ends by itself, or the client is gone, which destroys it. */
  readonly body: string | Readable | null;
  readonly headers?: readonly Header[];
  /** False: nothing was changed, so an audited route leaves no entry. */
  readonly isAudited?: boolean;
}

export interface TextReply extends Reply {
  readonly body: string;
}

export function json(status: number, value: unknown, headers?: readonly Header[]): Reply {
  return jsonText(status, JSON.stringify(value), headers);
}

/** For answers that hold stored bytes, which a round trip through JSON.parse would change. */
export function jsonText(status: number, body: string, headers?: readonly Header[]): Reply {
  return { status, type: "application/json", body, headers };
}

export function word(status: number, text: string): Reply {
  return { status, type: "text/plain; charset=utf-8", body: text };
}

export const NO_CONTENT: Reply = { status: 204, type: "", body: null };

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
  return new WebhookdError("endpoint_damaged", `${reason}; nothing is sent to this endpoint until that is repaired`);
}

export function erased(): WebhookdError {
  return new WebhookdError("gone", "the data of this event was erased, so it cannot be sent again");
}

/**
 * What Node refuses before there is a request: bytes that are no HTTP, headers too long, a request too slow. It is
 * answered with a problem document like everything else.
 */
export function rejection(newRequestId: () => string): Reject {
  return function reject(error, socket) {
    // As Node's own answer does: it is the response that this connection is at, and there is no other way to know it.
    const current = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    if (current?.req.complete) {
      // The fault is in the request behind it. To refuse this one would be a lie about something that is done.
      current.once("finish", () => reject(error, socket));
      return;
    }
    if (current?.headersSent) return void socket.destroy();
    socket.end(answer(faultOf(error), newRequestId()), () => socket.destroy());
  };
}

function faultOf({ code }: NodeJS.ErrnoException): WebhookdError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new WebhookdError("request_timeout", "the request was not complete in time; send it again, faster");
    case "HPE_HEADER_OVERFLOW":
      return new WebhookdError("headers_too_large", "the request target and headers are larger than 16 KiB");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new WebhookdError("payload_too_large", "the chunk extensions of the body are larger than 16 KiB");
    default:
      return new WebhookdError("bad_request", "the request is not well-formed HTTP/1.1");
  }
}

function answer(error: WebhookdError, requestId: string): string {
  const { status, type, body, headers = [] } = problem(error, requestId);
  const all: Header[] = [
    ["x-request-id", requestId],
    ["cache-control", "no-store"],
    ["content-type", type],
    ["content-length", String(Buffer.byteLength(body))],
    ["connection", "close"],
    ...headers,
  ];
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`;
}
