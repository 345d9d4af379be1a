/** What opens connections to the API has in common: a TCP listener (listen.ts), the unix socket (socket.ts). */
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import type { Log } from "../log.ts";
import { bound, type Bounds, type WebServer } from "./bounds.ts";
import { Connections, quiet } from "./connections.ts";
import { stopListening } from "./queue.ts";
import type { Reject } from "./rejection.ts";

export interface Listener {
  /** With the port that was really bound, without a slash at the end; `unix:` and the path for a socket. */
  readonly url: string;
  readonly server: WebServer;
  /** Goes on, but lets no connection stay: to be called before `close`, which then has little to wait for. */
  leave(): Promise<void>;
  /** Takes no more connections, waits for running requests, and cuts what is left at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

export interface ListenerParts {
  readonly log: Log;
  /** Answers what Node's parser refuses. */
  readonly reject: Reject;
  /** Only a test has its own. */
  readonly bounds?: Partial<Bounds>;
}

/** Before the server listens. */
export function prepare(server: WebServer, { log, reject, bounds }: ListenerParts): Connections {
  bound(server, log, bounds);
  // Node would answer these by itself, without a body; now they go the way of all requests, and app.ts sees to them.
  Object.assign(server, { requireHostHeader: false });
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  server.on("connect", (_req, socket) => reject(new Error("CONNECT"), socket));
  // Where TLS has failed, no HTTP can be said.
  server.removeAllListeners("tlsClientError").on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("clientError", reject);
  // Node keeps the answer; of a connection that is lost it could no longer be had, and the log would not know whose.
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => socket.remoteAddress);
  return new Connections(server);
}

/**
 * Ends them together. A request that had come when `onClosed` is called is answered; so is one that comes within a
 * quarter of a second on a connection that was taken by then. What is left at the deadline is cut.
 */
export async function closeAll(
  listeners: readonly Listener[],
  deadlineMs: number,
  onClosed: () => void,
): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.leave()));
  await Promise.all(listeners.map(({ server }) => stopListening(server)));
  await quiet(listeners.map(({ server }) => server));
  const closed = listeners.map((listener) => listener.close(deadlineMs));
  onClosed();
  await Promise.all(closed);
}
