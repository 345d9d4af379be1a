/**
 * What opens connections to the API has in common, a TCP listener (listen.ts) or the unix socket (socket.ts), and what
 * one client may take of either: `docs/interface.md` §3, "Bounds".
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as TlsServer, TLSSocket } from "node:tls";
import type { Log } from "../../log.ts";
import { type Plain, PlainRequests } from "./plain-requests.ts";
import { Connections, quiet, speaksTls, stopListening, type WebServer } from "./connections.ts";

export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** Answers what Node's parser refuses. */
export type Reject = (error: NodeJS.ErrnoException, socket: Duplex) => void;

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
  readonly reject: Reject;
  /** Which requests need not pass Node's HTTP; absent: none. Over TLS all do. */
  readonly plain?: Plain;
  /** Only a test has its own. */
  readonly bounds?: Partial<Bounds>;
}

/** Before the server listens. */
export function prepare(server: WebServer, { log, reject, plain, bounds: given }: ListenerParts): Connections {
  const bounds = { ...BOUNDS, ...given };
  const refused = bound(server, log, bounds);
  const plainOnes =
    plain === undefined || speaksTls(server)
      ? null
      : new PlainRequests(server, plain, bounds.connectionsCheckingInterval);
  // Node would answer these by itself, without a body; now they go the way of all requests, and the pipeline sees to them.
  Object.assign(server, { requireHostHeader: false });
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  // Only once its headers were found good is the client told to go on.
  server.on("checkContinue", (req, res) => server.emit("request", req, res));
  // A connection may be reset at any time, also while nobody listens to it: Node lets go of one that asks for CONNECT, and
  // the error of a socket that nobody listens to would end the process.
  for (const event of ["connection", "secureConnection"])
    server.on(event, (socket: Socket) => socket.on("error", () => {}));
  server.on("connect", (_req, socket) => reject(new Error("CONNECT"), socket));
  // Where TLS has failed, no HTTP can be said.
  server.removeAllListeners("tlsClientError").on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("clientError", reject);
  // Node keeps the answer; of a connection that is lost it could no longer be had, and the log would not know whose.
  server.on(speaksTls(server) ? "secureConnection" : "connection", (socket: Socket) => socket.remoteAddress);
  const dismiss = (socket: Socket) => {
    // Before the handshake is over nothing can be said.
    if (speaksTls(server)) socket.destroy();
    else reject(Object.assign(new Error("no room"), { code: NO_ROOM }), socket);
  };
  const spare = Math.min(SPARE_CONNECTIONS, Math.floor(bounds.maxConnections / 8));
  return new Connections(server, plainOnes, { most: bounds.maxConnections - spare, dismiss, refused });
}

/** The code of an error for those who give way to others. */
export const NO_ROOM = "NO_ROOM";

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

const DROPS_PER_LINE = 1000;

/** Node looks for late requests at this interval only, so it is what the time limits are exact to. */
const BOUNDS = {
  /** Of a TLS handshake as well. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5000,
  maxHeaderSize: 16 * 1024,
  maxConnections: 512,
  connectionsCheckingInterval: 1000,
};

export type Bounds = typeof BOUNDS;

/** Connections that are not for the peer that holds most. Never more than an eighth. */
const SPARE_CONNECTIONS = 64;

/**
 * Must run before the server listens: that is when Node starts its checks with the interval it finds. Returns what
 * counts a connection that was refused.
 */
function bound(server: WebServer, log: Log, bounds: Bounds): () => void {
  Object.assign(server, bounds);
  if (speaksTls(server)) boundHandshakes(server, bounds.headersTimeout);
  let refused = 0;
  const onRefused = () => {
    refused++;
    if (refused % DROPS_PER_LINE !== 1) return;
    log.warn({ limit: bounds.maxConnections, refused }, "connections are refused, because too many are open");
  };
  server.on("drop", onRefused);
  return onRefused;
}

/** Node's own limit is two minutes without a byte, which listhen leaves no way to change. */
function boundHandshakes(server: TlsServer, limitMs: number): void {
  // The raw socket and the one that TLS makes of it do not know each other; the other end is the same.
  const pending = new Map<string, Socket>();
  const peer = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const key = peer(socket);
    const ended = () => pending.get(key) === socket && pending.delete(key);
    pending.set(key, socket);
    socket.once("close", ended);
    AbortSignal.timeout(limitMs).addEventListener("abort", () => ended() && socket.destroy());
  });
  server.on("secureConnection", (socket: TLSSocket) => pending.delete(peer(socket)));
}
