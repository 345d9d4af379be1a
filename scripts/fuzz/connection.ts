/** Plays the plan of one connection, over TCP, TLS or a unix socket. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Plan } from "./requests.ts";

export interface Place {
  readonly port?: number;
  readonly path?: string;
  readonly secure?: boolean;
}

export interface Played {
  /** One character per byte. */
  readonly text: string;
  /** The number of requests that were written. */
  readonly sent: number;
  /** True if we hung up, or the connection was reset. The last response may then be cut short. */
  readonly isCut: boolean;
}

/** The longest time to wait for anything, such as the end of a stream. */
const LONGEST_MS = 10_000;
const SHORTEST_IDLE_MS = 200;

/**
 * Decides how long a silence must be to mean that no response will come, because the server waits for the rest of a
 * request.
 */
export class Patience {
  /** The recent average time from a written piece to a response. On a busy machine it is a hundred times as long. */
  #usualMs = 500;

  received(afterMs: number): void {
    this.#usualMs += (afterMs - this.#usualMs) / 20;
  }

  /** Called when it gave up, perhaps too soon, since nobody knows what would have come. */
  gaveUp(): void {
    this.#usualMs = Math.min(LONGEST_MS, this.#usualMs * 1.1 + 1);
  }

  get ms(): number {
    return Math.min(LONGEST_MS, SHORTEST_IDLE_MS + 10 * this.#usualMs);
  }
}

export function play(place: Place, plan: Plan, patience: Patience): Promise<Played> {
  return new Promise((resolve) => {
    const isSecure = place.secure === true && !plan.isClear;
    const socket = open({ ...place, secure: isSecure }, plan.address);
    let [text, sent, isCut] = ["", 0, false];
    const { requests } = plan;
    const waiting = plan.inTurn ? [...requests] : piecesOf(Buffer.concat(requests), plan.pieces);
    const hangUp = () => {
      isCut = true;
      socket.destroy();
    };
    const giveUp = () => {
      patience.gaveUp();
      hangUp();
    };
    const longest = setTimeout(hangUp, LONGEST_MS);
    let idle: NodeJS.Timeout | undefined;
    let receivedAt = 0;
    const wait = () => {
      clearTimeout(idle);
      idle = setTimeout(giveUp, patience.ms);
      receivedAt = performance.now();
    };
    const writeNext = () => {
      const bytes = waiting.shift();
      if (bytes === undefined || socket.destroyed) return;
      socket.write(bytes);
      wait();
      sent = requests.length - (plan.inTurn ? waiting.length : 0);
      if (waiting.length > 0) {
        if (!plan.inTurn) setImmediate(writeNext);
      } else if (plan.end === "half") socket.end();
      else if (plan.end === "reset") setImmediate(reset);
    };
    const reset = () => {
      isCut = true;
      // Only a TCP socket can be reset.
      if (!socket.destroyed && !isSecure && place.path === undefined) socket.resetAndDestroy();
      else socket.destroy();
    };
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("latin1");
      patience.received(performance.now() - receivedAt);
      wait();
      if (plan.inTurn) writeNext();
    });
    socket.on("error", () => (isCut = true));
    socket.on("close", () => {
      clearTimeout(idle);
      clearTimeout(longest);
      resolve({ text, sent, isCut: isCut || plan.end === "half" });
    });
    socket.once(isSecure ? "secureConnect" : "connect", writeNext);
  });
}

function open({ port, path, secure }: Place, localAddress: string): Socket {
  if (path !== undefined) return connectTcp({ path });
  const there = { host: "127.0.0.1", port: port!, localAddress };
  const socket = secure
    ? connectTls({ ...there, rejectUnauthorized: false, servername: "localhost" })
    : connectTcp(there);
  return socket.setNoDelay(true);
}

function piecesOf(bytes: Buffer, count: number): Buffer[] {
  const size = Math.max(1, Math.ceil(bytes.length / count));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}
