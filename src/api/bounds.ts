/** What one client may take of the server, and how a server ends: `interface.md` §3, "Client bounds". */
import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { Server as NetServer, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { Server as TlsServer, type TLSSocket } from "node:tls";
import type { Log } from "../log.ts";

export type WebServer = HttpServer | HttpsServer;

const DROPS_PER_LINE = 1000;
/** A publisher far away needs this long to send its next request after an answer. */
const LAST_REQUESTS_MS = 250;

/** A flood that never ends must not keep the daemon from ending. */
const QUIET_TURNS = 200;

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

/** `end` stops accepting and resolves when the last request is answered; what is left at the deadline is cut. */
export async function endWithin(deadlineMs: number, server: WebServer, end: () => Promise<void>): Promise<void> {
  // Real time, whatever clock the daemon has: it bounds real sockets. The timer keeps no process alive.
  AbortSignal.timeout(deadlineMs).addEventListener("abort", () => server.closeAllConnections());
  // An idle connection may have its next request on the way already: that one is still answered, with a 503.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  const over = new AbortController();
  const waited = wait(Math.min(LAST_REQUESTS_MS, deadlineMs), undefined, over).catch(() => {});
  await Promise.race([closed, waited]);
  over.abort();
  await readWhatCame();
  await end();
}

/**
 * Answers as before, but on each connection for the last time, and then cuts those that had nothing more to say. Nobody
 * is refused meanwhile, so that what is left to `endWithin`, when nobody listens, takes no time.
 */
export async function partFrom(server: WebServer): Promise<void> {
  server.prependListener("request", (_req, res) => void (res.shouldKeepAlive = false));
  const open = await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  if (open > 0) await wait(LAST_REQUESTS_MS);
  await readWhatCame();
  server.closeIdleConnections();
}

/**
 * A connection that the system took and we did not would be cut with the request that is in it, so listening ends right
 * after a turn in which nobody came: right after this.
 */
export async function untilQuiet(server: WebServer): Promise<void> {
  let came = true;
  const onCome = () => void (came = true);
  server.on("connection", onCome).on("request", onCome);
  for (let turns = 0; came && turns < QUIET_TURNS; turns++) {
    came = false;
    await readWhatCame();
  }
  server.off("connection", onCome).off("request", onCome);
}

/** The time may have passed while this process was busy: one whole turn reads, and answers, what came meanwhile. */
async function readWhatCame(): Promise<void> {
  await turn();
  await turn();
}
