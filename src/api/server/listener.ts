/**
 * Setup that the TCP listener (listen.ts) and the unix socket (socket.ts) share, and the limits on a client's
 * connections: `docs/interface.md` §3, "Bounds".
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Server as TlsServer, TLSSocket } from "node:tls";
import type { Log } from "../../log.ts";
import { type Plain, PlainRequests } from "./plain-requests.ts";
import { Connections, quiet, speaksTls, stopListening, type WebServer } from "./connections.ts";

export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** Answers connections that Node's parser refuses. */
export type Reject = (error: NodeJS.ErrnoException, socket: Duplex) => void;

export interface Listener {
  /** The URL with the port that was bound, without a trailing slash, or `unix:` and the path of a socket. */
  readonly url: string;
  readonly server: WebServer;
  /**
   * Keeps serving, but closes each connection after its next answer. Called before `close`, which then has less to wait
   * for.
   */
  leave(): Promise<void>;
  /** Stops listening, waits for requests in progress, and cuts the remaining connections at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

export interface ListenerParts {
  readonly log: Log;
  readonly reject: Reject;
  /** The requests that skip Node's HTTP parser. None if absent. Over TLS, all requests use Node's parser. */
  readonly plain?: Plain;
  /** Set only by tests. */
  readonly bounds?: Partial<Bounds>;
}

/** Prepares a server. Must be called before it listens. */
export function prepare(server: WebServer, { log, reject, plain, bounds: given }: ListenerParts): Connections {
  const bounds = { ...BOUNDS, ...given };
  const refused = bound(server, log, bounds);
  const plainOnes =
    plain === undefined || speaksTls(server)
      ? null
      : new PlainRequests(server, plain, bounds.connectionsCheckingInterval);
  // Node would answer these itself, without a body. This way they reach the pipeline like all other requests.
  Object.assign(server, { requireHostHeader: false });
  server.on("checkExpectation", (req, res) => server.emit("request", req, res));
  // Ask the client to continue only after its headers were accepted.
  server.on("checkContinue", (req, res) => server.emit("request", req, res));
  // A connection may be reset at any time, even when nobody handles its errors. Node detaches a socket that asks for
  // CONNECT, and an unhandled error would end the process.
  for (const event of ["connection", "secureConnection"])
    server.on(event, (socket: Socket) => socket.on("error", () => {}));
  server.on("connect", (_req, socket) => reject(new Error("CONNECT"), socket));
  // After a failed TLS handshake, no HTTP answer can be sent.
  server.removeAllListeners("tlsClientError").on("tlsClientError", (_error, socket) => socket.destroy());
  server.on("clientError", reject);
  // Makes Node cache the remote address. After the connection is lost it could no longer be read, and the log would
  // lack it.
  server.on(speaksTls(server) ? "secureConnection" : "connection", (socket: Socket) => socket.remoteAddress);
  const dismiss = (socket: Socket) => {
    // Before the handshake is complete, no answer can be sent.
    if (speaksTls(server)) socket.destroy();
    else reject(Object.assign(new Error("no capacity"), { code: NO_CAPACITY }), socket);
  };
  const spare = Math.min(SPARE_CONNECTIONS, Math.floor(bounds.maxConnections / 8));
  return new Connections(server, plainOnes, { most: bounds.maxConnections - spare, dismiss, refused });
}

/** The error code of a connection that was closed to admit a newcomer. */
export const NO_CAPACITY = "NO_CAPACITY";

/**
 * Closes all listeners together. Requests that arrived before `onClosed` is called are answered, and so are those that
 * arrive within a quarter of a second on a connection accepted by then. The rest is cut at the deadline.
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

/** Timeouts are only as precise as `connectionsCheckingInterval`, the interval of Node's checks. */
const BOUNDS = {
  /** Also limits the TLS handshake. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5000,
  maxHeaderSize: 16 * 1024,
  maxConnections: 512,
  connectionsCheckingInterval: 1000,
};

export type Bounds = typeof BOUNDS;

/** Connections that the peer with the most cannot use. At most an eighth of all. */
const SPARE_CONNECTIONS = 64;

/**
 * Must be called before the server listens, because Node then starts its checks with the interval it finds. Returns a
 * function that counts a refused connection.
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

/** Limits TLS handshakes. Node's own limit is two minutes without a byte, and listhen offers no way to change it. */
function boundHandshakes(server: TlsServer, limitMs: number): void {
  // A TLS socket and its raw socket have no link to each other, but they share the remote address and port.
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
