/**
 * Keeps the requests of each connection in order. While a request waits for its turn, the ones behind it are not
 * started and no more are read, so a client cannot have more requests waiting than it has connections.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { peerOf } from "./connections.ts";
import { PlainAnswer } from "./plain-requests.ts";

/**
 * Private fields of Node's HTTP. While `_paused` is set, Node reads no more; a paused stream alone could be resumed by
 * Node at any time.
 */
type NodeSocket = Socket & { _paused?: boolean; parser?: { resume(): void } | null };

/** The sockets read by Node that this file holds. */
const held = new WeakSet<Socket>();

function hold({ socket }: IncomingMessage, answer: ServerResponse | PlainAnswer): void {
  if (answer instanceof PlainAnswer) return answer.hold();
  held.add(socket);
  (socket as NodeSocket)._paused = true;
  socket.pause();
}

/** Does nothing if the connection is not held, or if it closes after this answer. */
function release({ socket }: IncomingMessage, answer: ServerResponse | PlainAnswer): void {
  if (answer instanceof PlainAnswer) return answer.release();
  if (!held.has(socket) || !answer.shouldKeepAlive) return;
  held.delete(socket);
  const { parser } = Object.assign(socket as NodeSocket, { _paused: false });
  parser?.resume();
  socket.resume();
}

/**
 * The maximum number of requests of a connection that are started before the first is answered. It is one until a valid
 * key has arrived on the connection: a thousand requests sent ahead without a key would all be refused in one turn.
 */
const MOST_BEGUN = 64;
/**
 * The maximum number of requests that wait behind others: per connection, more than fit into the 64 KiB that Node reads
 * at once, and in total.
 */
const MOST_BEHIND = 2500;
const MOST_BEHIND_IN_ALL = 16 * 1024;
/**
 * The maximum number of waiting connections per peer. A proxy needs the rest for its other clients, so further requests
 * are answered at once.
 */
const MOST_WAITING = 256;

type Turn = () => Promise<void> | null;

/** The requests of one connection. */
interface Line {
  /** The maximum number of requests in progress at a time. */
  most: number;
  /** Requests that were started and have not been answered. */
  begun: number;
  /** Started requests that are waiting for their turn, one after another. */
  waiting: number;
  /** Resolves when the last waiting request has had its turn. */
  tail: Promise<void>;
  /** Requests that have not been started yet, oldest first. */
  readonly behind: (() => void)[];
}

interface Asked {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export class Lines {
  readonly #lines = new WeakMap<Socket, Line>();
  /** The number of waiting connections, by peer. */
  readonly #waiting = new Map<string, number>();
  #behind = 0;

  /** Starts a request when its connection allows it. The caller must call `answered` for each. */
  enter({ req, res }: Asked, begin: () => void): void {
    const line = this.#lineOf(req.socket);
    if (line.waiting === 0 && line.begun < line.most && line.behind.length === 0) {
      line.begun++;
      return begin();
    }
    hold(req, res);
    if (line.behind.length >= MOST_BEHIND || this.#behind >= MOST_BEHIND_IN_ALL) return void req.socket.destroy();
    line.behind.push(begin);
    this.#behind++;
  }

  answered({ req, res }: Asked): void {
    const line = this.#lineOf(req.socket);
    line.begun--;
    this.#beginMore(line);
    // Node resumes reading whenever something is answered.
    if (line.behind.length > 0 || line.waiting > 0) hold(req, res);
    else release(req, res);
  }

  /** Called when a request with a valid key arrived on the connection. */
  trust(socket: Socket): void {
    const line = this.#lineOf(socket);
    if (line.most === MOST_BEGUN) return;
    line.most = MOST_BEGUN;
    this.#beginMore(line);
  }

  #beginMore(line: Line): void {
    while (line.behind.length > 0 && line.waiting === 0 && line.begun < line.most) {
      this.#behind--;
      line.begun++;
      line.behind.shift()!();
    }
  }

  #lineOf(socket: Socket): Line {
    let line = this.#lines.get(socket);
    if (line === undefined) {
      const created: Line = { most: 1, begun: 0, waiting: 0, tail: Promise.resolve(), behind: [] };
      this.#lines.set(socket, (line = created));
      socket.once("close", () => (this.#behind -= created.behind.splice(0).length));
    }
    return line;
  }

  /** Waits for the turn of a started request, after the waiting requests before it on its connection. */
  async wait({ req, res }: Asked, turn: Turn): Promise<void> {
    const { socket } = req;
    const line = this.#lineOf(socket);
    if (line.waiting > 0) {
      line.waiting++;
      line.tail = line.tail.then(() => (socket.destroyed ? undefined : (turn() ?? undefined)));
      await line.tail;
      line.waiting--;
      return;
    }
    const own = this.#turnOf(socket, turn);
    if (own === null) return;
    line.waiting++;
    hold(req, res);
    await (line.tail = own);
    line.waiting--;
  }

  /** Waits for a turn on a connection whose bytes do not form a request. */
  waitAlone(socket: Socket, turn: Turn): Promise<void> | null {
    return this.#turnOf(socket, turn);
  }

  /** Returns null if no wait is needed, or if too many connections of the peer are already waiting. */
  #turnOf({ remoteAddress }: Socket, turn: Turn): Promise<void> | null {
    const peer = peerOf(remoteAddress ?? "");
    const waiting = this.#waiting.get(peer) ?? 0;
    const own = waiting < MOST_WAITING ? turn() : null;
    if (own === null) return null;
    this.#waiting.set(peer, waiting + 1);
    return own.then(() => {
      const left = this.#waiting.get(peer)! - 1;
      if (left > 0) this.#waiting.set(peer, left);
      else this.#waiting.delete(peer);
    });
  }
}
