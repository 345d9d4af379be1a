/**
 * A request over Node's HTTP, the reply that a route returns, and how the reply is written. Errors are RFC 9457
 * problems.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { type Duplex, pipeline as connect, Readable } from "node:stream";
import type { AuditAction } from "../../domain/caller.ts";
import type { Damage } from "../../domain/endpoints/endpoint.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { type ErrorCode, isRetryable, PROBLEMS, WebhookdError } from "../../domain/errors.ts";
import { giveBack } from "../server/body-memory.ts";
import type { Reject } from "../server/listener.ts";
import { targetOf } from "../server/request-head.ts";

/** A request, and everything known about it by the time it is answered. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly isTrusted: boolean;
  readonly requestId: string;
  /** Monotonic time at which the request began. */
  readonly begun: number;
  path: string;
  /** Includes the question mark. Empty if there is no query. */
  search: string;
  params: Readonly<Record<string, string>>;
  allow: string | undefined;
  /** Headers that show the remainder of the key's rate. */
  limit: readonly Header[] | undefined;
  /** The name of the caller's account. Null until its key is known, and for callers without an account. */
  caller: string | null;
  /** The id of the request's object, if the path does not contain it. */
  object: string | undefined;
  /** The name of the route in metrics. */
  route: string | undefined;
  /** The number of body bytes known so far: the declared length, or what has arrived. */
  bodyBytes: number;
  /** True once the request has waited for its turn in a `Pace`. */
  hasWaited: boolean;
}

export const NO_PARAMS: Readonly<Record<string, string>> = {};

/** Sets all fields at once, because objects of the same shape are faster to read. */
export function newExchange(given: Pick<Exchange, "req" | "res" | "isTrusted" | "requestId" | "begun">): Exchange {
  const { req, res, isTrusted, requestId, begun } = given;
  const { path, search } = targetOf(req.url!);
  return {
    req,
    res,
    isTrusted,
    requestId,
    begun,
    path,
    search,
    params: NO_PARAMS,
    allow: undefined,
    limit: undefined,
    caller: null,
    object: undefined,
    route: undefined,
    bodyBytes: 0,
    hasWaited: false,
  };
}

/** The time that a client may take to read some of its answer, which stays in memory until then. */
const PATIENCE_MS = 30_000;

/**
 * Writes a reply. Text is sent together with its headers. `failed` is called if a stream breaks off by itself. Only
 * tests pass another `patienceMs`.
 */
export function write(
  exchange: Exchange,
  reply: Reply,
  forPages: readonly Header[],
  failed: (error: Error) => void,
  patienceMs = PATIENCE_MS,
): void {
  const { req, res } = exchange;
  const { status, body } = reply;
  if (hasMuchLeft(req)) hangUpAfter(req, res);
  res.writeHead(status, headersOf(exchange, reply, forPages));
  if (!(body instanceof Readable)) {
    res.end(body);
    if (res.writableLength > 0) cutUnlessTaken(res, patienceMs);
    return;
  }
  if (req.method !== "HEAD" && !res.destroyed) {
    // A client that disconnects ends the stream with an error too, but the answer is destroyed by then.
    body.once("error", (error) => res.destroyed || failed(error));
    return void connect(body, res, () => {});
  }
  // Nobody will read the stream, and only destroying it ends it. Node throws if it is piped into a closed response.
  body.destroy();
  res.end();
}

/** An answer longer than this may not fit into the kernel's send buffer. */
const LONG_BYTES = 64 * 1024;

export function isLong(body: Reply["body"]): boolean {
  return (typeof body === "string" || body instanceof Uint8Array) && body.length > LONG_BYTES;
}

/** Node destroys a socket that is idle for `patienceMs`, unless there is a listener for the timeout. */
function cutUnlessTaken(res: ServerResponse, patienceMs: number): void {
  res.setTimeout(patienceMs);
  // Runs before Node's own listener, which starts the keep-alive timeout.
  res.prependOnceListener("finish", () => res.setTimeout(0));
}

/** A refused body up to this length is read and discarded, so that the connection can be reused. */
const MAX_DRAINED = 64 * 1024;
/** Gives a client that is still sending time to read the answer. */
const LINGER_MS = 1000;

/**
 * True if the rest of the body may be longer than we would drain, so a refusal leaves it unread. The length of a
 * chunked body is unknown.
 */
export function hasMuchLeft({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MAX_DRAINED;
}

/**
 * Ends the connection after this answer without reading the rest of the body. Node would either read the body to its
 * end first, or reset the connection, and the reset could overtake the answer.
 */
function hangUpAfter(req: IncomingMessage, res: ServerResponse): void {
  const { socket } = req;
  res.shouldKeepAlive = false;
  // Replaces the methods that Node would read with, and the one that it calls when the answer is sent.
  Object.assign(req, { _dump: () => {}, _read: () => {} });
  socket.destroySoon = () => {
    const come = req.read() as Buffer | null;
    if (come !== null) giveBack(come);
    socket.end();
    (socket as { _handle?: { readStop(): void } | null })._handle?.readStop();
    AbortSignal.timeout(LINGER_MS).addEventListener("abort", () => socket.destroy());
  };
}

/** Returns names and values alternately, the form that Node accepts without further checks. */
function headersOf(
  { requestId, limit }: Exchange,
  { type, body, cache = "no-store", headers: own }: Reply,
  forPages: readonly Header[],
): string[] {
  const headers = ["x-request-id", requestId, "cache-control", cache];
  for (const header of forPages) headers.push(...header);
  if (body !== null) headers.push("content-type", type);
  if (limit !== undefined) for (const header of limit) headers.push(...header);
  if (own !== undefined) for (const header of own) headers.push(...header);
  // HEAD requests get this header too (RFC 9110 9.3.2).
  if (typeof body === "string" || body instanceof Uint8Array) {
    headers.push("content-length", String(Buffer.byteLength(body)));
  }
  return headers;
}

/**
 * Calls `run`, never synchronously, when the answer is sent or the client is gone. The returned function cancels the
 * call.
 */
export function whenClosed(res: ServerResponse, run: () => void): () => void {
  if (res.destroyed) queueMicrotask(run);
  else res.once("close", run);
  return () => void res.off("close", run);
}

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  readonly type: string;
  /** A stream continues until it ends by itself, or until the client disconnects, which destroys it. */
  readonly body: string | Uint8Array | Readable | null;
  readonly headers?: readonly Header[];
  /** The tenant of the entry in the audit log, if the caller's key is for every tenant and there is no object. */
  readonly tenant?: string;
  /** The `Cache-Control` value. Without one, nothing may be cached. */
  readonly cache?: string;
  /** False if nothing changed, so that an audited route leaves no entry. */
  readonly isAudited?: boolean;
  /** The action for the audit log, if it is more specific than the route's. */
  readonly audit?: AuditAction;
}

export interface TextReply extends Reply {
  readonly body: string;
}

export function json(status: number, value: unknown, headers?: readonly Header[]): Reply {
  return jsonText(status, JSON.stringify(value), headers);
}

/** For answers that contain stored bytes, which a round trip through JSON.parse would change. */
export function jsonText(status: number, body: string, headers?: readonly Header[]): Reply {
  return { status, type: "application/json", body, headers };
}

export function word(status: number, text: string): Reply {
  return { status, type: "text/plain; charset=utf-8", body: text };
}

export const NO_CONTENT: Reply = { status: 204, type: "", body: null };

/** Seconds after which a caller may try again, for errors that do not say so themselves. */
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
    retryable: isRetryable(error.code),
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
 * Answers requests that Node's parser refuses because they are not HTTP, too slow, or have headers that are too long.
 * They get a problem document too.
 */
export function rejection(newRequestId: () => string, turn: (socket: Duplex) => Promise<void> | null): Reject {
  // Node reports the error again with each chunk that arrives.
  const waiting = new WeakSet<Duplex>();
  const rejected = new WeakSet<Duplex>();
  return function reject(error, socket) {
    if (rejected.has(socket)) return;
    // Node's own handler does the same, because there is no public property for the response in progress.
    const current = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    if (current?.req.complete) {
      // The fault is in the next request. Refusing the current one would be wrong, because it is already being handled.
      if (waiting.has(socket)) return;
      waiting.add(socket);
      current.once("finish", () => {
        waiting.delete(socket);
        reject(error, socket);
      });
      return;
    }
    if (current?.headersSent) return void socket.destroy();
    rejected.add(socket);
    const fault = faultOf(error);
    const send = () => void socket.end(answer(fault, newRequestId()), () => socket.destroy());
    // Slow requests and dismissed connections are answered at once.
    const own = PROBLEMS[fault.code].status < 500 && fault.code !== "request_timeout" ? turn(socket) : null;
    if (own === null) return send();
    socket.pause();
    unawaited(sendAfter(own, socket, send));
  };
}

async function sendAfter(turn: Promise<void>, socket: Duplex, send: () => void): Promise<void> {
  try {
    await turn;
    send();
  } catch {
    socket.destroy();
  }
}

function faultOf({ code }: NodeJS.ErrnoException): WebhookdError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new WebhookdError("request_timeout", "the request was not complete in time; send it again, faster");
    case "NO_CAPACITY":
      return new WebhookdError("overloaded", "too many connections are open; send the request again");
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
