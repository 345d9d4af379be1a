/**
 * The order of the requests on each connection. While one of them waits for its turn, those behind it are not
 * looked at, and no more are read, so that a client cannot have more of them waiting than it has connections.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { peerOf } from "./connections.ts";
import { PlainAnswer } from "./plain-requests.ts";

/** As Node's HTTP keeps it: it reads no more while this is set, although a stream that is paused may go on at any time. */
type NodeSocket = Socket & { _paused?: boolean; parser?: { resume(): void } | null };

/** Those that Node reads, and that are held here. */
const held = new WeakSet<Socket>();

function hold({ socket }: IncomingMessage, answer: ServerResponse | PlainAnswer): void {
  if (answer instanceof PlainAnswer) return answer.hold();
  held.add(socket);
  (socket as NodeSocket)._paused = true;
  socket.pause();
}

/** Does nothing for a connection that is not held, or that ends with this answer. */
function release({ socket }: IncomingMessage, answer: ServerResponse | PlainAnswer): void {
  if (answer instanceof PlainAnswer) return answer.release();
  if (!held.has(socket) || !answer.shouldKeepAlive) return;
  held.delete(socket);
  const { parser } = Object.assign(socket as NodeSocket, { _paused: false });
  parser?.resume();
  socket.resume();
}

/**
 * Requests of one connection that are looked at before the first of them is answered; the others wait behind them. Only
 * one before a good key came on it: of a thousand that are sent ahead without one, all would be refused in one turn.
 */
const MOST_BEGUN = 64;
/** Requests that wait behind others: of one connection more than Node reads at once, 64 KiB; and of all together. */
const MOST_BEHIND = 2500;
const MOST_BEHIND_IN_ALL = 16 * 1024;
/** Connections of one peer that wait: a proxy must have some left for others. The rest is answered at once. */
const MOST_WAITING = 256;

type Turn = () => Promise<void> | null;

/** One connection. */
interface Line {
  /** So many may be begun at once. */
  most: number;
  /** Begun, and not answered. */
  begun: number;
  /** Those of them that wait for their turn, one after the other. */
  waiting: number;
  /** Resolves when the last of them has had its turn. */
  tail: Promise<void>;
  /** To be begun, as they came. */
  readonly behind: (() => void)[];
}

interface Asked {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export class Lines {
  readonly #lines = new WeakMap<Socket, Line>();
  /** By peer, how many of its connections wait. */
  readonly #waiting = new Map<string, number>();
  #behind = 0;

  /** Begins a request when it is its turn on its connection. `answered` must be called for each. */
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
    // Node itself goes on to read whenever something is answered.
    if (line.behind.length > 0 || line.waiting > 0) hold(req, res);
    else release(req, res);
  }

  /** A request that came on it has a good key. */
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

  /** Waits for the turn of a request that was begun, once those before it on its connection have had theirs. */
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

  /** For a connection that has no request: what came on it is none. */
  waitAlone(socket: Socket, turn: Turn): Promise<void> | null {
    return this.#turnOf(socket, turn);
  }

  /** Null where it need not wait, or where enough connections of its peer do. */
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
