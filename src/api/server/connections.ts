/**
 * The connections of one server, how it parts from them without cutting a request off, and how it stops listening
 * without cutting anybody off: the system takes connections before we do, requests and all, and closing resets those
 * that wait in its queue. Node shows neither the queue nor its length; of systems, Linux does.
 */
import { readFileSync } from "node:fs";
import type { Server as HttpServer, ServerResponse } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { type AddressInfo, connect, isIPv6, Server as NetServer, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";

import type { PlainRequests } from "./plain-requests.ts";
import { unawaited } from "../../domain/unawaited.ts";

export type WebServer = HttpServer | HttpsServer;

/** Not by its class: to name that would load all of TLS, also for a server that does without. */
export function speaksTls(server: object): server is HttpsServer {
  return "setSecureContext" in server;
}

/** A publisher far away needs this long to send its next request after an answer, or its first after connecting. */
const LAST_REQUESTS_MS = 250;

/** A flood that never ends must not keep the daemon from ending. */
const QUIET_TURNS = 200;

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** The latest on it; null before its first request. */
  answer: ServerResponse | null;
}

/** From how many on somebody has to give way to each newcomer, what it hears, and who counts those that are refused. */
export interface Room {
  readonly most: number;
  readonly dismiss: (socket: Socket) => void;
  readonly refused: () => void;
}

export class Connections {
  readonly #server: WebServer;
  readonly #plain: PlainRequests | null;
  readonly #room: Room;
  readonly #closed: Promise<void>;
  readonly #open = new Map<unknown, Connection>();
  #isLeaving = false;

  /** Before the server listens. */
  constructor(server: WebServer, plain: PlainRequests | null, room: Room) {
    this.#server = server;
    this.#plain = plain;
    this.#room = room;
    // Not the callback of `close`, which comes at once when the server no longer listens, whatever it still answers.
    this.#closed = new Promise((resolve) => server.once("close", resolve));
    // The raw socket and the one that TLS makes of it do not know each other; the other end is the same.
    const isTls = speaksTls(server);
    const keyOf = (socket: Socket) => (isTls ? `${socket.remoteAddress} ${socket.remotePort}` : socket);
    server.on("connection", (socket: Socket) => {
      const [key, connection] = [keyOf(socket), { socket, peer: peerOf(socket.remoteAddress ?? ""), answer: null }];
      if (this.#open.size >= this.#room.most && !this.#hasRoomFor(connection.peer)) {
        this.#room.refused();
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
    // Ahead of the handler, which may answer at once.
    server.prependListener("request", onRequest).on("plain", onRequest);
  }

  /**
   * The peer that holds most gives way, by a connection whose first request never came; to one that holds less also by
   * one that is idle. A request that is under way is never cut off: then only the peer that holds most is refused.
   */
  #hasRoomFor(newcomer: string): boolean {
    const held = [...Map.groupBy(this.#open.values(), ({ peer }) => peer).values()];
    const largest = held.reduce((most, each) => (each.length > most.length ? each : most), []);
    const isLargest = largest[0]?.peer === newcomer;
    const silent = largest.find(({ answer }) => answer === null);
    const leaving = silent ?? (isLargest ? undefined : largest.find(({ answer }) => answer!.writableFinished));
    if (leaving === undefined) return !isLargest;
    // Its place is free at once, not only when the system has closed it.
    for (const [key, connection] of this.#open) if (connection === leaving) this.#open.delete(key);
    if (silent === undefined) leaving.socket.destroy();
    else this.#room.dismiss(leaving.socket);
    return true;
  }

  /** Answers as before, but on each connection for the last time; resolves when those who were about to ask had time to. */
  async leave(): Promise<void> {
    this.#leave();
    if (this.#open.size > 0) await wait(LAST_REQUESTS_MS);
  }

  #leave(): void {
    this.#isLeaving = true;
    for (const { answer } of this.#open.values()) if (answer?.headersSent === false) answer.shouldKeepAlive = false;
  }

  /** Takes nobody more, waits for what is under way, and cuts what is left at the deadline. */
  async close(deadlineMs: number): Promise<void> {
    // In this very turn: the caller has just seen that nothing lies unread.
    NetServer.prototype.close.call(this.#server);
    if (this.#isLeaving) this.#closeIdle();
    this.#leave();
    // Real time, whatever clock the daemon has: it bounds real sockets. The timer keeps no process alive.
    const cut = () =>
      unawaited(
        aWholeTurn().then(() => {
          this.#server.closeAllConnections();
          // Node does not know of those that it never read from.
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
 * Resolves right after a turn of the event loop in which nobody came to any of the servers: what had come by then is
 * read, and whoever closes next, without awaiting anything first, cuts no request off that lies unread. After so many
 * turns it resolves all the same.
 */
export async function quiet(servers: readonly WebServer[], mostTurns = QUIET_TURNS): Promise<void> {
  let came = true;
  const onCome = () => void (came = true);
  for (const server of servers) server.on("connection", onCome).on("request", onCome).on("plain", onCome);
  // Who has slept is not interrupted soon: on a busy machine others would have their turn between the look and the end.
  await wait(1);
  await aWholeTurn();
  for (let turns = 0; came && turns < mostTurns; turns++) {
    came = false;
    await turn();
  }
  for (const server of servers) server.off("connection", onCome).off("request", onCome).off("plain", onCome);
}

/** The time may have passed while this process was busy: this reads, and answers, what came meanwhile. */
export async function aWholeTurn(): Promise<void> {
  await turn();
  await turn();
}

const TRIES = 10;
/** In a crowd there is no quiet, and nobody is let in for long while one try follows the other. */
const CROWD_TURNS = 20;
/** Node's own number. */
const MANY = 511;
/** Each is taken in a turn; on a busy machine the system needs some to deliver what goes to this host. */
const IDLE_TURNS = 20;
const FILLERS = 3;
/** Whoever is half connected is told once more after a second, or sends again a fifth of a second after its request. */
const HALF_CONNECTED_MS = 1500;
const LOOK_AGAIN_MS = 10;

/**
 * Stops listening on a port, while nobody waits if that can be had. Meanwhile newcomers get no answer from the system,
 * and try again after a second: at the next daemon, perhaps. A unix socket, which would refuse them, is left alone.
 */
export async function stopListening(server: WebServer): Promise<void> {
  const bound = server.address();
  if (bound === null || typeof bound === "string") return;
  const hurry = AbortSignal.timeout(HALF_CONNECTED_MS);
  const isLost = () => !hurry.aborted && waiting(bound)?.some(({ isHalfConnected }) => isHalfConnected);
  for (let tries = 0; tries < TRIES && server.listening; tries++) {
    // A queue that is full now and then loses who is half connected, so only a crowd is held off, and not for long.
    admit(server, tries === 0 || isLost() ? MANY : 1);
    while (isLost()) await wait(LOOK_AGAIN_MS);
    await quiet([server], CROWD_TURNS);
    await closeFilled(server, bound);
  }
  NetServer.prototype.close.call(server);
}

/**
 * Fills the queue with connections of our own, and closes when only the last of them is left in it. Whoever came earlier
 * stood before them and is taken; nobody came later, because it was never less than full.
 */
async function closeFilled(server: WebServer, bound: AddressInfo): Promise<void> {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[bound.address] ?? bound.address;
  admit(server, FILLERS);
  const fillers = Array.from({ length: FILLERS }, () => connect({ host, port: bound.port }).on("error", () => {}));
  const [last, beforeLast] = fillers.toReversed() as [Socket, Socket];
  // They connect in this tick; from now on the queue is full as long as one of them is in it.
  process.nextTick(() => admit(server, 1));
  let idleTurns = 0;
  const onTaken = ({ remotePort }: Socket) => {
    idleTurns = 0;
    if (remotePort !== beforeLast.localPort) return;
    // Whoever slipped in between them took the place of the last, or is half connected for want of one.
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
  /** Its own. */
  readonly port: number;
  /** It was told that it is connected, and found the queue full when it came in. */
  readonly isHalfConnected: boolean;
}

/** Whom the system has taken and we have not; null where it does not say. */
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
/** Also established, and hung up by the other side; without an inode as long as nobody took them. */
const WAITS = new Set(["01", HALF_CONNECTED, "08"]);

/** How many may wait; Linux keeps one more than it is told. Node changes it only by this. */
function admit(server: WebServer, count: number): void {
  (server as unknown as { _handle: { listen(backlog: number): number } | null })._handle?.listen(count - 1);
}

/** A host owns a whole IPv6 /64, so that is what counts as one peer. */
export function peerOf(address: string): string {
  if (!isIPv6(address) || address.startsWith("::ffff:")) return address;
  return address.split("::")[0]!.split(":").slice(0, 4).join(":");
}
