/**
 * What Node refuses before there is a request: bytes that are no HTTP, headers too long, a request too slow. It is
 * answered with a problem document like everything else.
 */
import { STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebhookdError } from "../domain/errors.ts";
import { problem } from "./problem.ts";
import type { Header } from "./route.ts";

export type Reject = (error: NodeJS.ErrnoException, socket: Duplex) => void;

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
