/** What one client may take of the server: `interface.md` §3, "Client bounds". */
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import { Server as TlsServer, type TLSSocket } from "node:tls";
import type { Log } from "../log.ts";

export type WebServer = HttpServer | HttpsServer;

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

/** Must run before the server listens: that is when Node starts its checks with the interval it finds. */
export function bound(server: WebServer, log: Log, given: Partial<Bounds> = {}): void {
  const bounds = { ...BOUNDS, ...given };
  Object.assign(server, bounds);
  if (server instanceof TlsServer) boundHandshakes(server, bounds.headersTimeout);
  let refused = 0;
  server.on("drop", () => {
    refused++;
    if (refused % DROPS_PER_LINE !== 1) return;
    log.warn({ limit: bounds.maxConnections, refused }, "connections are refused, because too many are open");
  });
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
