/** What one client may take of the server, and how a server ends: `interface.md` §3, "Client bounds". */
import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../log.ts";

const MAX_CONNECTIONS = 512;
const DROPS_PER_LINE = 1000;
const LAST_REQUESTS_MS = 50;

/** Node looks for late requests at this interval only, so it is what the time limits are exact to. */
const BOUNDS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 5000,
  maxHeaderSize: 16 * 1024,
  connectionsCheckingInterval: 1000,
};

/** Must run before the server listens: that is when Node starts its checks with the interval it finds. */
export function bound(server: Server, log: Log): void {
  Object.assign(server, BOUNDS);
  server.maxConnections = MAX_CONNECTIONS;
  let refused = 0;
  server.on("drop", () => {
    refused++;
    if (refused % DROPS_PER_LINE !== 1) return;
    log.warn({ limit: MAX_CONNECTIONS, refused }, "connections are refused, because too many are open");
  });
}

/** `end` stops accepting and resolves when the last request is answered; what is left at the deadline is cut. */
export async function endWithin(deadlineMs: number, server: Server, end: () => Promise<void>): Promise<void> {
  // Real time, whatever clock the daemon has: it bounds real sockets. The timer keeps no process alive.
  AbortSignal.timeout(deadlineMs).addEventListener("abort", () => server.closeAllConnections());
  // An idle connection may have its next request on the way already: that one is still answered, with a 503.
  NetServer.prototype.close.call(server);
  await wait(Math.min(LAST_REQUESTS_MS, deadlineMs));
  await end();
}
