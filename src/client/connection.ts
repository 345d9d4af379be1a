/** One request to the daemon, over TCP or its unix socket. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

/** Which daemon, and with which key. Anyone who may open the socket needs none. */
export type Target =
  | { readonly socket: string }
  | { readonly url: URL; readonly key: string; /** For messages. */ readonly keyFile: string };

export interface Sending {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Gives up after so long without a byte. */
  readonly silenceMs?: number;
}

/** How messages call the daemon: its URL or the path of its socket. */
export function nameOf(target: Target): string {
  return "socket" in target ? target.socket : target.url.href;
}

/** Resolves at the head of the answer. Rejects when there is none, and when `signal` aborts. */
export function send(
  target: Target,
  { method, path, headers, body, signal, silenceMs }: Sending,
): Promise<IncomingMessage> {
  const own = "key" in target ? { authorization: `Bearer ${target.key}` } : { host: "localhost" };
  // A connection kept open would keep a command that is done from ending.
  const common = {
    method,
    headers: { ...headers, ...own },
    signal,
    agent: false,
    ...(silenceMs !== undefined && { timeout: silenceMs }),
  };
  return new Promise((resolve, reject) => {
    const request =
      "socket" in target
        ? httpRequest({ ...common, socketPath: target.socket, path }, resolve)
        : (target.url.protocol === "https:" ? httpsRequest : httpRequest)(locate(target.url, path), common, resolve);
    request.on("error", reject);
    request.on("timeout", () => request.destroy(new Error("it stopped answering")));
    request.end(body);
  });
}

/** The daemon may be mounted under a path of its proxy. */
function locate(base: URL, path: string): URL {
  return new URL(base.pathname.replace(/\/+$/, "") + path, base);
}
