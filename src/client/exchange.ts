/** Sends one request to the daemon, over TCP or its unix socket, and reads the response. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { systemClock } from "../clock.ts";
import { type Answered, ClientError, notReached, notWebhookd, refusal } from "./error.ts";

/** The daemon's address and the key for it. A caller that may open the socket needs no key. */
export type Target =
  | { readonly socket: string }
  | { readonly url: URL; readonly key: string; /** The address is for messages. */ readonly keyFile?: string };

export interface Sending {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Gives up after this time without a byte. */
  readonly silenceMs?: number;
  /** Leaves the connection open for the next request. */
  readonly keepAlive?: boolean;
}

/** Returns the daemon's name in messages: its URL, or the path of its socket. */
export function nameOf(target: Target): string {
  return "socket" in target ? target.socket : target.url.href;
}

/** Resolves when the head of the response has arrived. Rejects if there is none, and when `signal` aborts. */
export async function send(
  target: Target,
  { method, path, headers, body, signal, silenceMs, keepAlive = false }: Sending,
): Promise<IncomingMessage> {
  // Loaded only if needed: with all of TLS, it takes as long as the rest of a command.
  const isSecure = "url" in target && target.url.protocol === "https:";
  const open = isSecure ? (await import("node:https")).request : httpRequest;
  const own = "key" in target ? { authorization: `Bearer ${target.key}` } : { host: "localhost" };
  const common = {
    method,
    headers: { ...headers, ...own },
    signal,
    // Node's own agent keeps connections open. Without an agent, each request has its own connection, which is closed
    // afterwards.
    ...(!keepAlive && { agent: false }),
    ...(silenceMs !== undefined && { timeout: silenceMs }),
  };
  return new Promise((resolve, reject) => {
    const request =
      "socket" in target
        ? httpRequest({ ...common, socketPath: target.socket, path }, resolve)
        : open(locate(target.url, path), common, resolve);
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("it stopped answering")));
    request.end(body);
  });
}

/** The daemon may be behind a proxy that serves it under a path. */
function locate(base: URL, path: string): URL {
  return new URL(base.pathname.replace(/\/+$/, "") + path, base);
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  /** JSON. */
  readonly body: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly version: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly keepAlive: boolean;
  /** True if a 2xx response must be JSON. */
  readonly json: boolean;
  /** The object that a 404 response says does not exist. */
  readonly what: Named | undefined;
}

/** An object, with the command that lists its kind. */
export interface Named {
  readonly id: string;
  readonly name: string;
  readonly list: string;
}

/** Every response is shorter than this. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export interface Exchanged {
  readonly text: string;
  /** Null if the response has none. */
  readonly etag: string | null;
}

/**
 * Resolves to the body of a 2xx response, which must be empty, JSON or plain text. Throws a `ClientError` otherwise.
 */
export async function exchange(target: Target, asked: Asked): Promise<Exchanged> {
  const { method, path, body, json, what, timeoutMs, version, keepAlive } = asked;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = asked.signal === undefined ? timeout : AbortSignal.any([timeout, asked.signal]);
  const headers = {
    accept: "application/json, text/plain",
    "user-agent": `webhookd/${version}`,
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(asked.idempotencyKey !== undefined && { "idempotency-key": asked.idempotencyKey }),
    ...(asked.ifMatch !== undefined && { "if-match": asked.ifMatch }),
    ...(asked.ifNoneMatch !== undefined && { "if-none-match": asked.ifNoneMatch }),
  };
  let answer: Answer;
  try {
    const sending = { method, path, headers, signal, keepAlive, ...(body !== undefined && { body }) };
    answer = await collect(await send(target, sending));
  } catch (error) {
    if (error instanceof ClientError || asked.signal?.aborted) throw error;
    throw notReached(nameOf(target), error as NodeJS.ErrnoException, timeout.aborted);
  }
  return { text: textOf(target, answer, { json, ...(what !== undefined && { what }) }), etag: answer.etag };
}

/** Returns the body of a 2xx response. Throws the daemon's refusal as a `ClientError`. */
export function textOf(
  target: Target,
  { status, type, text, retryAfterMs }: Answer,
  { json, what }: { readonly json: boolean; readonly what?: Named },
): string {
  if (status === 204) return "";
  const isGood = status >= 200 && status <= 299;
  const value = /^application\/(problem\+)?json\b/.test(type) ? parseOrNull(text) : null;
  const isObject = typeof value === "object" && value !== null;
  if (!isObject && (json || !isGood)) throw notWebhookd(nameOf(target), { status, retryAfterMs });
  if (isGood) return text;
  if (status === 404 && what !== undefined) {
    const hint = `Or this key may not see it. Look with: ${what.list}`;
    throw new ClientError("not_found", "not_found", `there is no ${what.name} at ${nameOf(target)}`, hint);
  }
  const keyFile = "keyFile" in target ? target.keyFile : undefined;
  throw refusal({ status, retryAfterMs }, value as object, { keyFile, about: what?.id });
}

export interface Answer extends Answered {
  readonly type: string;
  readonly text: string;
  readonly etag: string | null;
}

export async function collect(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new ClientError("refused", "too_large", "the answer is too large");
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    type: response.headers["content-type"] ?? "",
    text: Buffer.concat(chunks).toString(),
    etag: response.headers.etag ?? null,
    retryAfterMs: waitAskedFor(response.headers["retry-after"]),
  };
}

/** Reads seconds, or a date, which proxies may send (RFC 9110 10.2.3). */
function waitAskedFor(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const instant = Date.parse(retryAfter);
  return Number.isNaN(instant) ? undefined : Math.max(0, instant - systemClock.now());
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
