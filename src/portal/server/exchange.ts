/** Replaces `src/client/exchange.ts` in the page: sends one request to the daemon by fetch, and reads the response. */
import type { IncomingMessage } from "node:http";
import { ClientError, refusal } from "../../client/error.ts";
import type { Asked, Exchanged, Sending, Target } from "../../client/exchange.ts";
import { after, setByDaemon } from "./clock.ts";
import { clear, slowDown } from "./pace.ts";
import { t } from "../language/text.ts";

export function nameOf(_target: Target): string {
  return "the server";
}

/** A request is refused at most this often for being one too many. */
const MOST_TRIES = 5;

/** Throws a `ClientError`, like the original. A request that was one too many did nothing, so it is sent again. */
export async function exchange(target: Target, asked: Asked): Promise<Exchanged> {
  for (let tries = 1; ; tries++) {
    await clear(asked.signal);
    try {
      return await exchangeOnce(target, asked);
    } catch (error) {
      const { code, answered } = error as ClientError;
      if (code !== "rate_limited" || asked.signal?.aborted) throw error;
      slowDown(answered?.retryAfterMs);
      if (tries === MOST_TRIES) throw error;
    }
  }
}

async function exchangeOnce(target: Target, asked: Asked): Promise<Exchanged> {
  const { method, path, body, json, timeoutMs, idempotencyKey, ifMatch, ifNoneMatch } = asked;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = asked.signal === undefined ? timeout : AbortSignal.any([timeout, asked.signal]);
  const headers = {
    accept: "application/json, text/plain",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    ...(ifMatch !== undefined && { "if-match": ifMatch }),
    ...(ifNoneMatch !== undefined && { "if-none-match": ifNoneMatch }),
  };
  try {
    const response = await open(target, { method, path, headers, signal, ...(body !== undefined && { body }) });
    setByDaemon(response.headers.get("date"));
    const answer = await answerOf(response);
    return { text: textOf(target, answer, { json }), etag: answer.etag };
  } catch (error) {
    if (error instanceof ClientError || asked.signal?.aborted) throw error;
    throw notReached(timeout.aborted);
  }
}

interface Answer {
  readonly retryAfterMs?: number | undefined;
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly etag: string | null;
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = Number.isNaN(seconds) ? undefined : seconds * 1000;
  const [type, etag] = [headers.get("content-type") ?? "", headers.get("etag")];
  return { status, type, text: await response.text(), etag, retryAfterMs };
}

export function textOf(
  _target: Target,
  { status, type, text, retryAfterMs }: Answer,
  { json }: { readonly json: boolean },
): string {
  if (status === 204) return "";
  const isGood = status >= 200 && status <= 299;
  const isJson = /^application\/(problem\+)?json\b/.test(type);
  if (isGood && (isJson || !json)) return text;
  if (!isJson) throw new ClientError("unreachable", "unreachable", t("server.unexpected", { status: String(status) }));
  throw refusal({ status, retryAfterMs }, JSON.parse(text) as object);
}

function notReached(timedOut: boolean): ClientError {
  const message = timedOut ? t("server.late") : t("server.unreachable");
  return new ClientError("unreachable", "unreachable", message);
}

async function open(target: Target, { method, path, headers, body, signal }: Sending): Promise<Response> {
  if (!("url" in target)) throw new TypeError("a browser has no sockets");
  const url = new URL(target.url.pathname.replace(/\/+$/, "") + path, target.url);
  const authorization = `Bearer ${target.key}`;
  return fetch(url, {
    method,
    headers: { ...headers, authorization },
    signal,
    body: body ?? null,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });
}

/** Gives a `Response` the parts of Node's message that `src/client/stream.ts` reads. */
export async function send(target: Target, sending: Sending): Promise<IncomingMessage> {
  const silent = new AbortController();
  const signal = AbortSignal.any([sending.signal, silent.signal]);
  const wait = () => after(sending.silenceMs ?? 2 ** 31, () => silent.abort());
  let stop = wait();
  const response = await open(target, { ...sending, signal });
  async function* chunks() {
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        stop();
        stop = wait();
        yield chunk;
      }
    } finally {
      stop();
    }
  }
  const headers = { "content-type": response.headers.get("content-type") ?? "" };
  const message = { statusCode: response.status, headers, setEncoding() {}, [Symbol.asyncIterator]: chunks };
  return message as unknown as IncomingMessage;
}

export async function collect(message: IncomingMessage): Promise<Answer> {
  let text = "";
  for await (const chunk of message as AsyncIterable<string>) text += chunk;
  return { status: message.statusCode ?? 0, type: message.headers["content-type"] ?? "", text, etag: null };
}
