/**
 * The connections of one server. This file closes them without cutting off a request, and stops listening without
 * cutting off newcomers: the kernel accepts connections, and their requests, before we do, and closing the socket
 * resets those still in its queue. Node shows neither the queue nor its length, and among systems only Linux does.
 */
import { readFileSync } from "node:fs";
import type { Server as HttpServer, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { type AddressInfo, connect, isIPv6, Server as NetServer, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";

import type { PlainRequests } from "./plain-requests.ts";
import { unawaited } from "../../domain/unawaited.ts";

export type WebServer = HttpServer | HttpsServer;

/** Avoids `instanceof`, because importing the class would load all of TLS even if the server does not use it. */
export function speaksTls(server: object): server is HttpsServer {
  return "setSecureContext" in server;
}

/** The time that a distant publisher needs to send its next request after an answer, or its first after connecting. */
const LAST_REQUESTS_MS = 250;

/** Limits the wait for a quiet turn, so that the daemon can stop during an endless flood. */
const QUIET_TURNS = 200;

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** The latest answer on the connection. Null before its first request. */
  answer: ServerResponse | null;
}

/**
 * The limit on connections. Beyond `most`, one connection is closed for each newcomer. `refused` counts the newcomers
 * that were refused.
 */
export interface ConnectionLimit {
  readonly most: number;
  readonly dismiss: (socket: Socket) => void;
  readonly refused: () => void;
}

export class Connections {
  readonly #server: WebServer;
  readonly #plain: PlainRequests | null;
  readonly #limit: ConnectionLimit;
  readonly #closed: Promise<void>;
  readonly #open = new Map<unknown, Connection>();
  #isLeaving = false;

  /** Must be called before the server listens. */
  constructor(server: WebServer, plain: PlainRequests | null, limit: ConnectionLimit) {
    this.#server = server;
    this.#plain = plain;
    this.#limit = limit;
    // The callback of `close` is called as soon as the server stops listening, even while it is still answering.
    this.#closed = new Promise((resolve) => server.once("close", resolve));
    // A TLS socket and its raw socket have no link to each other, but they share the remote address and port.
    const isTls = speaksTls(server);
    const keyOf = (socket: Socket) => (isTls ? `${socket.remoteAddress} ${socket.remotePort}` : socket);
    server.on("connection", (socket: Socket) => {
      const [key, connection] = [keyOf(socket), { socket, peer: peerOf(socket.remoteAddress ?? ""), answer: null }];
      if (this.#open.size >= this.#limit.most && !this.#admits(connection.peer)) {
        this.#limit.refused();
        return void socket.destroy();
      }
      this.#open.set(key, connection);
      socket.once("close", () => this.#open.get(key) === connection && this.#open.delete(key));
    });
    const onRequest = ({ socket }: { socket: Socket }, answer: ServerResponse) => {
      const connection = this.#open.get(keyOf(socket));
      if (connection !== undefined) connection.answer = answer;
      if (this.#isLeaving) answer.shouldKeepAlive = false;
    };
    // Runs before the handler, which may answer at once.
    server.prependListener("request", onRequest).on("plain", onRequest);
  }

  /**
   * Frees a connection for a newcomer. The peer with the most connections gives up one that has no request yet or, if
   * the newcomer is another peer, an idle one. Requests in progress are never cut off. If there is no connection to
   * give up, only the peer with the most is refused.
   */
  #admits(newcomer: string): boolean {
    const held = [...Map.groupBy(this.#open.values(), ({ peer }) => peer).values()];
    const largest = held.reduce((most, each) => (each.length > most.length ? each : most), []);
    const isLargest = largest[0]?.peer === newcomer;
    const silent = largest.find(({ answer }) => answer === null);
    const leaving = silent ?? (isLargest ? undefined : largest.find(({ answer }) => answer!.writableFinished));
    if (leaving === undefined) return !isLargest;
    // The connection is no longer counted, although the kernel has not closed it yet.
    for (const [key, connection] of this.#open) if (connection === leaving) this.#open.delete(key);
    if (silent === undefined) leaving.socket.destroy();
    else this.#limit.dismiss(leaving.socket);
    return true;
  }

  /**
   * Ends each connection after its next answer. Resolves when clients have had time to send a request that they were
   * about to send.
   */
  async leave(): Promise<void> {
    this.#leave();
    if (this.#open.size > 0) await wait(LAST_REQUESTS_MS);
  }

  #leave(): void {
    this.#isLeaving = true;
    for (const { answer } of this.#open.values()) if (answer?.headersSent === false) answer.shouldKeepAlive = false;
  }

  /** Stops listening, waits for requests in progress, and cuts the remaining connections at the deadline. */
  async close(deadlineMs: number): Promise<void> {
    // This runs synchronously: the caller has just checked that nothing is unread.
    NetServer.prototype.close.call(this.#server);
    if (this.#isLeaving) this.#closeIdle();
    this.#leave();
    // Uses real time, whatever clock the daemon has, because the sockets are real. This timer does not keep the process
    // alive.
    const cut = () =>
      unawaited(
        aWholeTurn().then(() => {
          this.#server.closeAllConnections();
          // Node does not list connections that it has never read from.
          for (const { socket } of this.#open.values()) socket.destroy();
        }),
      );
    AbortSignal.timeout(deadlineMs).addEventListener("abort", cut);
    const over = new AbortController();
    const waited = wait(Math.min(LAST_REQUESTS_MS, deadlineMs), undefined, over).catch(() => {});
    await Promise.race([this.#closed, waited]);
    over.abort();
    await aWholeTurn();
    for (const { socket, answer } of this.#open.values()) if (answer === null) socket.destroy();
    this.#server.close();
    this.#plain?.closeIdle();
    await this.#closed;
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    this.#plain?.closeIdle();
  }
}

/**
 * Resolves right after a turn of the event loop in which no server got a connection or a request. A caller that then
 * closes synchronously cuts off no unread request. Resolves after `mostTurns` in any case.
 */
export async function quiet(servers: readonly WebServer[], mostTurns = QUIET_TURNS): Promise<void> {
  let came = true;
  const onCome = () => void (came = true);
  for (const server of servers) server.on("connection", onCome).on("request", onCome).on("plain", onCome);
  // The scheduler rarely interrupts a process that has just slept. On a busy machine, other processes could otherwise
  // run between the last check and the closing.
  await wait(1);
  await aWholeTurn();
  for (let turns = 0; came && turns < mostTurns; turns++) {
    came = false;
    await turn();
  }
  for (const server of servers) server.off("connection", onCome).off("request", onCome).off("plain", onCome);
}

/** Reads and answers everything that arrived while this process was busy. */
export async function aWholeTurn(): Promise<void> {
  await turn();
  await turn();
}

const TRIES = 10;
/** During a flood no turn is quiet, and newcomers must not wait long between tries. */
const CROWD_TURNS = 20;
/** Node's default backlog. */
const MANY = 511;
/** We accept a connection in each turn, but on a busy machine the kernel takes some turns to deliver ours. */
const IDLE_TURNS = 20;
const FILLERS = 3;
/**
 * The kernel repeats its SYN-ACK to a half-connected client after a second, and the client repeats its request after a
 * fifth of a second.
 */
const HALF_CONNECTED_MS = 1500;
const LOOK_AGAIN_MS = 10;

/**
 * Stops listening on a port, if possible while nobody is waiting. Until then the kernel does not answer newcomers,
 * which try again after a second, perhaps with the next daemon. A unix socket would refuse them, so it is left alone.
 */
export async function stopListening(server: WebServer): Promise<void> {
  const bound = server.address();
  if (bound === null || typeof bound === "string") return;
  const hurry = AbortSignal.timeout(HALF_CONNECTED_MS);
  const isLost = () => !hurry.aborted && waiting(bound)?.some(({ isHalfConnected }) => isHalfConnected);
  for (let tries = 0; tries < TRIES && server.listening; tries++) {
    // A queue that is full from time to time loses half-connected clients, so hold newcomers off only in a crowd, and
    // briefly.
    admit(server, tries === 0 || isLost() ? MANY : 1);
    while (isLost()) await wait(LOOK_AGAIN_MS);
    await quiet([server], CROWD_TURNS);
    await closeFilled(server, bound);
  }
  NetServer.prototype.close.call(server);
}

/**
 * Fills the queue with our own connections, and closes when only the last of them is left. Clients that came earlier
 * were ahead of it and have been accepted. None came later, because the queue stayed full.
 */
async function closeFilled(server: WebServer, bound: AddressInfo): Promise<void> {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[bound.address] ?? bound.address;
  admit(server, FILLERS);
  const fillers = Array.from({ length: FILLERS }, () => connect({ host, port: bound.port }).on("error", () => {}));
  const [last, beforeLast] = fillers.toReversed() as [Socket, Socket];
  // They connect in this tick. From now on the queue is full as long as one of them is in it.
  process.nextTick(() => admit(server, 1));
  let idleTurns = 0;
  const onTaken = ({ remotePort }: Socket) => {
    idleTurns = 0;
    if (remotePort !== beforeLast.localPort) return;
    // A client that got in between took the last one's place, or is half-connected because the queue was full.
    const left = waiting(bound);
    const isAlone = left === null || (left.length === 1 && left[0]?.port === last.localPort);
    if (last.readyState === "open" && isAlone) NetServer.prototype.close.call(server);
    else idleTurns = IDLE_TURNS;
  };
  server.on("connection", onTaken);
  for (; server.listening && idleTurns < IDLE_TURNS; idleTurns++) await turn();
  server.off("connection", onTaken);
  for (const filler of fillers) filler.destroy();
}

interface Waiting {
  /** The port on the client's side. */
  readonly port: number;
  /** True if the client believes that it is connected, although its handshake found the queue full. */
  readonly isHalfConnected: boolean;
}

/** Returns the clients that the kernel has accepted and we have not, or null if the system cannot tell. */
export function waiting({ address, port }: AddressInfo): Waiting[] | null {
  let table: string;
  try {
    table = readFileSync(isIPv6(address) ? "/proc/net/tcp6" : "/proc/net/tcp", "latin1");
  } catch {
    return null;
  }
  const portOf = (text = "") => Number.parseInt(text.slice(text.indexOf(":") + 1), 16);
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state, , , , , , inode]) => portOf(local) === port && WAITS.has(state!) && inode === "0")
    .map(([, , remote, state]) => ({ port: portOf(remote), isHalfConnected: state === HALF_CONNECTED }));
}

const HALF_CONNECTED = "03";
/**
 * Connections that are established, half-connected, or closed by the other side. Until we accept them, they have no
 * inode.
 */
const WAITS = new Set(["01", HALF_CONNECTED, "08"]);

/** Sets the length of the queue. Linux keeps one more than it is given. Node offers no other way to change it. */
function admit(server: WebServer, count: number): void {
  (server as unknown as { _handle: { listen(backlog: number): number } | null })._handle?.listen(count - 1);
}

/** Returns the address that stands for one peer. For IPv6 that is the /64, because one host usually owns all of it. */
export function peerOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  return address.split("::")[0]!.split(":").slice(0, 4).join(":");
}
