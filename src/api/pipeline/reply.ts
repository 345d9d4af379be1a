/** A request over Node's HTTP, what a route answers it with, and how that is written; errors are RFC 9457 problems. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { type Duplex, pipeline as connect, Readable } from "node:stream";
import type { AuditAction } from "../../domain/caller.ts";
import type { Damage } from "../../domain/endpoints/endpoint.ts";
import { unawaited } from "../../domain/unawaited.ts";
import { type ErrorCode, PROBLEMS, WebhookdError } from "../../domain/errors.ts";
import { giveBack } from "../server/body-memory.ts";
import type { Reject } from "../server/listener.ts";
import { targetOf } from "../server/request-head.ts";

/** A request, and what is known of it by the time it is answered. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly isTrusted: boolean;
  readonly requestId: string;
  /** Monotonic. */
  readonly begun: number;
  path: string;
  /** With its question mark; empty if there is none. */
  search: string;
  params: Readonly<Record<string, string>>;
  allow: string | undefined;
  /** What is left of the key's rate. */
  limit: readonly Header[] | undefined;
  /** The name of its account among callers; null until its key is known, and for whoever has none. */
  caller: string | null;
  /** The id of what it is about, where the path does not say it. */
  object: string | undefined;
  /** What the request is called in metrics. */
  route: string | undefined;
  /** Of its body, those that are known of: all that it declares, or what has come. */
  bodyBytes: number;
  /** Whether it has waited for its turn, by a `Pace`. */
  hasWaited: boolean;
}

export const NO_PARAMS: Readonly<Record<string, string>> = {};

/** All of its fields at once: objects of one shape are quick to read. */
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

/** For a client to take some of its answer: until it has, the answer is in memory. */
const PATIENCE_MS = 30_000;

/**
 * What is text goes out with its headers as one piece. `failed` hears of a stream that broke off by itself. Only a test
 * is less patient with whoever does not read it.
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
    // A client that went away ends the stream with an error, too, but has closed the answer before.
    body.once("error", (error) => res.destroyed || failed(error));
    return void connect(body, res, () => {});
  }
  // Nobody will read the stream, which is what ends it; and Node throws where it is to connect one to a closed answer.
  body.destroy();
  res.end();
}

/** So much of an answer that it may not fit into what the system keeps for a connection. */
const LONG_BYTES = 64 * 1024;

export function isLong(body: Reply["body"]): boolean {
  return (typeof body === "string" || body instanceof Uint8Array) && body.length > LONG_BYTES;
}

/** Node destroys a socket on which nothing moves for so long, if nobody else hears of it. */
function cutUnlessTaken(res: ServerResponse, patienceMs: number): void {
  res.setTimeout(patienceMs);
  // Before Node's own listener, which begins the time of a connection that is kept.
  res.prependOnceListener("finish", () => res.setTimeout(0));
}

/** So much of a body that was refused is read and thrown away, so that the connection can be used again. */
const MAX_DRAINED = 64 * 1024;
/** For the client to read the answer, although it is still sending. */
const LINGER_MS = 1000;

/**
 * Whether more of its body may be to come than is drained, so that no more of it is read once it is refused. Of one that
 * comes in chunks nobody knows.
 */
export function hasMuchLeft({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MAX_DRAINED;
}

/**
 * Says nothing after this answer, and reads no more. Node would read the body to its end first, whatever its length, or
 * else reset the connection, and a reset may overtake the answer.
 */
function hangUpAfter(req: IncomingMessage, res: ServerResponse): void {
  const { socket } = req;
  res.shouldKeepAlive = false;
  // What Node would read by; and what it calls once the answer is out.
  Object.assign(req, { _dump: () => {}, _read: () => {} });
  socket.destroySoon = () => {
    const come = req.read() as Buffer | null;
    if (come !== null) giveBack(come);
    socket.end();
    (socket as { _handle?: { readStop(): void } | null })._handle?.readStop();
    AbortSignal.timeout(LINGER_MS).addEventListener("abort", () => socket.destroy());
  };
}

/** Names and values in turns, as Node takes them without looking at them twice. */
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
  // Whoever asks for the headers alone wants this one as well (RFC 9110 9.3.2).
  if (typeof body === "string" || body instanceof Uint8Array) {
    headers.push("content-length", String(Buffer.byteLength(body)));
  }
  return headers;
}

/** Calls `run`, never at once, when the answer is out or nobody takes it any more; what it answers takes that back. */
export function whenClosed(res: ServerResponse, run: () => void): () => void {
  if (res.destroyed) queueMicrotask(run);
  else res.once("close", run);
  return () => void res.off("close", run);
}

export type Header = readonly [name: string, value: string];

export interface Reply {
  readonly status: number;
  readonly type: string;
  /** A stream goes on until it ends by itself, or the client is gone, which destroys it. */
  readonly body: string | Uint8Array | Readable | null;
  readonly headers?: readonly Header[];
  /** What caches may do with it; nothing keeps an answer that does not say. */
  readonly cache?: string;
  /** False: nothing was changed, so an audited route leaves no entry. */
  readonly isAudited?: boolean;
  /** What was done, where that says more than what the route is called in the audit log. */
  readonly audit?: AuditAction;
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
export function rejection(newRequestId: () => string, turn: (socket: Duplex) => Promise<void> | null): Reject {
  // Node says it again with each piece that comes.
  const waiting = new WeakSet<Duplex>();
  const rejected = new WeakSet<Duplex>();
  return function reject(error, socket) {
    if (rejected.has(socket)) return;
    // As Node's own answer does: it is the response that this connection is at, and there is no other way to know it.
    const current = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
    if (current?.req.complete) {
      // The fault is in the request behind it. To refuse this one would be a lie about something that is done.
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
    // What is too slow, or has to give way to others, goes at once.
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
    case "NO_ROOM":
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
