/** A client of the daemon's HTTP interface, over TCP or its unix socket. Strings in its answers are outside text. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type {
  ClientBackup,
  ClientEvent,
  ClientKey,
  ClientPause,
  ClientStatus,
  NewClientKey,
  ReplayedEvent,
} from "./client-answers.ts";

/** Which daemon, and as whom. Whoever may open the socket needs no key. */
export type Target =
  | { readonly socket: string }
  | { readonly url: URL; readonly key: string; /** For messages. */ readonly keyFile: string };

export interface Client {
  /** How messages call the daemon: its URL or the path of its socket. */
  readonly target: string;
  getEvent(id: string): Promise<ClientEvent>;
  replay(id: string, scope: { readonly endpoint?: string; readonly force?: boolean }): Promise<ReplayedEvent>;
  status(): Promise<ClientStatus>;
  /** Answers the brake as it holds: if it was on before, as it was put on then. */
  pause(reason: string): Promise<ClientPause>;
  resume(): Promise<void>;
  /** Resolves when it is made, however long that takes. */
  backup(): Promise<ClientBackup>;
  /** `key` in the answer is the token; it is in no other answer. */
  createKey(key: NewClientKey): Promise<ClientKey & { readonly key: string }>;
  /** All of them, the first made first. */
  listKeys(): Promise<readonly ClientKey[]>;
  /** Answers what the daemon has to say about it, if anything. */
  revokeKey(id: string): Promise<string | null>;
}

/** What kind of failure: names of exit codes. */
export type ClientFailure = "refused" | "usage" | "not_found" | "not_allowed" | "unreachable" | "conflict";

export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly failure: ClientFailure;
  /** The `code` of the daemon's answer, or `unreachable`. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor(failure: ClientFailure, code: string, message: string, hint?: string) {
    super(message);
    this.failure = failure;
    this.code = code;
    this.hint = hint;
  }
}

export interface ClientOptions {
  readonly version: string;
  /** From sending a request to the end of its answer. */
  readonly timeoutMs?: number;
}

const EVENTS = "/v1/webhooks/events";
const KEYS = "/v1/keys";
const BACKUP_TIMEOUT_MS = 86_400_000;
/** More than any answer these calls can have. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export function createClient(target: Target, options: ClientOptions): Client {
  const call = (asked: Asked) => exchange(target, options, asked);
  const event = (id: string) => ({ path: `${EVENTS}/${encodeURIComponent(id)}`, what: `event ${id}` });
  return {
    target: nameOf(target),
    getEvent: async (id) => (await call({ method: "GET", ...event(id) })) as ClientEvent,
    async replay(id, body) {
      const { path, what } = event(id);
      return (await call({ method: "POST", path: `${path}/retry`, what, body })) as ReplayedEvent;
    },
    status: async () => (await call({ method: "GET", path: "/v1/status" })) as ClientStatus,
    async pause(reason) {
      const answer = await call({ method: "POST", path: "/v1/pause", body: { reason } });
      return (answer as { paused: ClientPause }).paused;
    },
    async resume() {
      await call({ method: "POST", path: "/v1/resume" });
    },
    backup: async () =>
      (await call({ method: "POST", path: "/v1/backups", timeoutMs: BACKUP_TIMEOUT_MS })) as ClientBackup,
    createKey: async (body) => (await call({ method: "POST", path: KEYS, body })) as ClientKey & { key: string },
    listKeys: () => everyPage(call, KEYS),
    async revokeKey(id) {
      const asked = { method: "DELETE", path: `${KEYS}/${encodeURIComponent(id)}`, what: `key ${id}` };
      const answer = (await call(asked)) as { note?: string } | null;
      return answer?.note ?? null;
    },
  };
}

/** A list to its end. */
async function everyPage<T>(call: (asked: Asked) => Promise<unknown>, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const more = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await call({ method: "GET", path: `${path}?order=oldest&limit=100${more}` });
    const { data, next_cursor } = page as { data: T[]; next_cursor?: string | null };
    items.push(...data);
    cursor = next_cursor ?? null;
  }
  return items;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** In place of the client's own. */
  readonly timeoutMs?: number;
  /** What there is not when the answer is 404. */
  readonly what?: string;
}

function nameOf(target: Target): string {
  return "socket" in target ? target.socket : target.url.href;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function exchange(target: Target, options: ClientOptions, asked: Asked): Promise<unknown> {
  const { method, path, body, what, timeoutMs = options.timeoutMs ?? 10_000 } = asked;
  const signal = AbortSignal.timeout(timeoutMs);
  let answer: Answer;
  try {
    answer = await send(target, options, { method, path, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    throw error instanceof ClientError ? error : notReached(target, error as NodeJS.ErrnoException, signal.aborted);
  }
  const value = answer.text === "" ? null : parseOrNull(answer.text);
  if (answer.status === 204) return null;
  const isOurs = /^application\/(problem\+)?json\b/.test(answer.type) && typeof value === "object" && value !== null;
  if (!isOurs) throw notWebhookd(target, answer.status);
  if (answer.status === 404 && what !== undefined) {
    const hint = "Or this key may not see it.";
    throw new ClientError("not_found", "not_found", `there is no ${what} at ${nameOf(target)}`, hint);
  }
  if (answer.status < 200 || answer.status > 299) throw problem(target, answer.status, value);
  return value;
}

interface Sending {
  readonly method: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly body: string | undefined;
}

function send(target: Target, { version }: ClientOptions, { method, path, signal, body }: Sending): Promise<Answer> {
  const headers: Record<string, string> = { accept: "application/json", "user-agent": `webhookd/${version}` };
  if ("key" in target) headers.authorization = `Bearer ${target.key}`;
  else headers.host = "localhost";
  if (body !== undefined) headers["content-type"] = "application/json";
  // A connection kept open would keep a command that is done from ending.
  const common = { method, headers, signal, agent: false };
  return new Promise((resolve, reject) => {
    const onAnswer = (response: IncomingMessage) => collect(response).then(resolve, reject);
    const request =
      "socket" in target
        ? httpRequest({ ...common, socketPath: target.socket, path }, onAnswer)
        : (target.url.protocol === "https:" ? httpsRequest : httpRequest)(locate(target.url, path), common, onAnswer);
    request.on("error", reject);
    request.end(body);
  });
}

/** The daemon may be mounted under a path of its proxy. */
function locate(base: URL, path: string): URL {
  return new URL(base.pathname.replace(/\/+$/, "") + path, base);
}

async function collect(response: IncomingMessage): Promise<Answer> {
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
  };
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function notReached(target: Target, error: NodeJS.ErrnoException, timedOut: boolean): ClientError {
  const name = nameOf(target);
  if (error.code === "EACCES" || error.code === "EPERM") {
    const hint = "Run as its user or a member of its group, or name the daemon: --url URL --key-file FILE.";
    return new ClientError("not_allowed", "forbidden", `you may not open ${name} (permission denied)`, hint);
  }
  const reason = timedOut ? "no answer in time" : (REASONS[error.code ?? ""] ?? error.code ?? error.message);
  const hint = "Is `webhookd serve` running there? Name another one: --socket PATH, or --url URL --key-file FILE.";
  return new ClientError("unreachable", "unreachable", `cannot reach the daemon at ${name} (${reason})`, hint);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it closed the connection",
  ENOTFOUND: "no such host",
};

function notWebhookd(target: Target, status: number): ClientError {
  const message = `what answers at ${nameOf(target)} is not webhookd (status ${status})`;
  return new ClientError("unreachable", "unreachable", message, "Check --url or --socket, and the proxy in between.");
}

/** RFC 9457, as all errors of the daemon are. */
function problem(target: Target, status: number, body: object): ClientError {
  const { code, detail, title, errors } = body as Record<string, unknown>;
  const faults = (Array.isArray(errors) ? errors : []).map(
    ({ pointer, detail: fault }: Record<string, unknown>) => `${String(pointer)}: ${String(fault)}`,
  );
  const message = [String(detail ?? title ?? `status ${status}`), ...faults].join("; ");
  const failure = failureOf(status);
  const hint = failure === "not_allowed" && "keyFile" in target ? `The key in ${target.keyFile} was used.` : undefined;
  return new ClientError(failure, String(code ?? "refused"), message, hint);
}

function failureOf(status: number): ClientFailure {
  if (status === 401 || status === 403) return "not_allowed";
  if (status === 404) return "not_found";
  if (status === 409 || status === 410) return "conflict";
  return status === 422 ? "usage" : "refused";
}
