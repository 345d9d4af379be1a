/** One request over Node's HTTP, and how its answer is written. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline as connect, Readable } from "node:stream";
import { pageHeaders } from "./origin.ts";
import type { Header, Reply } from "./reply.ts";

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
  /** The id of what it is about, where the path does not say it. */
  object: string | undefined;
  /** What the request is called in metrics. */
  route: string | undefined;
}

export const NO_PARAMS: Readonly<Record<string, string>> = {};

/** All of its fields at once: objects of one shape are quick to read. */
export function newExchange(given: Pick<Exchange, "req" | "res" | "isTrusted" | "requestId" | "begun">): Exchange {
  const { req, res, isTrusted, requestId, begun } = given;
  const url = req.url!;
  const end = url.indexOf("?");
  return {
    req,
    res,
    isTrusted,
    requestId,
    begun,
    path: end < 0 ? url : url.slice(0, end),
    search: end < 0 ? "" : url.slice(end),
    params: NO_PARAMS,
    allow: undefined,
    limit: undefined,
    object: undefined,
    route: undefined,
  };
}

/** What is text goes out with its headers as one piece. */
export function write(exchange: Exchange, reply: Reply, allowedOrigins: readonly string[]): void {
  const { req, res } = exchange;
  const { status, body } = reply;
  res.writeHead(status, headersOf(exchange, reply, allowedOrigins));
  if (!(body instanceof Readable)) return void res.end(body);
  if (req.method !== "HEAD") return void connect(body, res, () => {});
  // Nobody will read a stream to its end, which is what ends it.
  body.destroy();
  res.end();
}

/** Names and values in turns, as Node takes them without looking at them twice. */
function headersOf(
  { req, requestId, limit }: Exchange,
  { type, body, headers: own }: Reply,
  allowedOrigins: readonly string[],
): string[] {
  const headers = ["x-request-id", requestId, "cache-control", "no-store"];
  for (const header of pageHeaders(allowedOrigins, req)) headers.push(...header);
  if (body !== null) headers.push("content-type", type);
  if (limit !== undefined) for (const header of limit) headers.push(...header);
  if (own !== undefined) for (const header of own) headers.push(...header);
  // Whoever asks for the headers alone wants this one as well (RFC 9110 9.3.2).
  if (typeof body === "string") headers.push("content-length", String(Buffer.byteLength(body)));
  return headers;
}

/** Calls `run`, never at once, when the answer is out or nobody takes it any more; what it answers takes that back. */
export function whenClosed(res: ServerResponse, run: () => void): () => void {
  if (res.destroyed) queueMicrotask(run);
  else res.once("close", run);
  return () => void res.off("close", run);
}
