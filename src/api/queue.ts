/**
 * How a server stops listening without cutting anybody off: the system takes connections before we do, requests and all,
 * and closing resets those that wait in its queue. Node shows neither the queue nor its length.
 */
import { connect, Server as NetServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { WebServer } from "./bounds.ts";
import { quiet } from "./connections.ts";

const TRIES = 10;
/** In a crowd there is no quiet, and nobody is let in for long while one try follows the other. */
const QUIET_TURNS = 20;
/** Node's own number. */
const MANY = 511;
/** Each is taken in a turn; on a busy machine the system needs some to deliver what goes to this host. */
const IDLE_TURNS = 20;
const FILLERS = 3;

/**
 * Stops listening on a port, while nobody waits if that can be had. Meanwhile newcomers get no answer from the system,
 * and try again after a second: at the next daemon, perhaps. A unix socket, which would refuse them, is left alone.
 */
export async function stopListening(server: WebServer): Promise<void> {
  const bound = server.address();
  if (bound === null || typeof bound === "string") return;
  for (let tries = 0; tries < TRIES && server.listening; tries++) {
    // A queue that is full now and then also loses who is half connected, so only a crowd is held off for long.
    admit(server, tries === 0 ? MANY : 1);
    await quiet([server], QUIET_TURNS);
    await closeFilled(server, bound);
  }
  NetServer.prototype.close.call(server);
}

/**
 * Fills the queue with connections of our own, and closes when only the last of them is left in it. Whoever came earlier
 * stood before them and is taken; nobody came later, because it was never less than full.
 */
async function closeFilled(server: WebServer, { address, port }: AddressInfo): Promise<void> {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  admit(server, FILLERS);
  const fillers = Array.from({ length: FILLERS }, () => connect({ host, port }).on("error", () => {}));
  const [last, beforeLast] = fillers.toReversed() as [Socket, Socket];
  // They connect in this tick; from now on the queue is full as long as one of them is in it.
  process.nextTick(() => admit(server, 1));
  let idleTurns = 0;
  const onTaken = ({ remotePort }: Socket) => {
    idleTurns = 0;
    if (remotePort !== beforeLast.localPort) return;
    // Whoever slipped in between them took the place of the last.
    if (last.readyState === "open") NetServer.prototype.close.call(server);
    else idleTurns = IDLE_TURNS;
  };
  server.on("connection", onTaken);
  for (; server.listening && idleTurns < IDLE_TURNS; idleTurns++) await turn();
  server.off("connection", onTaken);
  for (const filler of fillers) filler.destroy();
}

/** How many may wait; Linux keeps one more than it is told. Node changes it only by this. */
function admit(server: WebServer, count: number): void {
  (server as unknown as { _handle: { listen(backlog: number): number } | null })._handle?.listen(count - 1);
}
