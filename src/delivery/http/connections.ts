import { isGlobal } from "../../domain/network/address-blocks.ts";
import type { Socket } from "node:net";
import { Client } from "undici";
import type { Clock } from "../../clock.ts";
import type { AddressPolicy } from "../../domain/network/address.ts";
import { type Destination, Opening } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { Fault, isOutOfTurn } from "./fault.ts";

/** A signed request, in the shape that undici's `dispatch` takes. undici adds host, connection and content-length. */
export interface SignedRequest {
  readonly method: "POST";
  readonly path: string;
  /** Names and values by turns, in the order and case of the wire. */
  readonly headers: string[];
  /** The signed bytes; content-length is taken from this same buffer. */
  readonly body: Uint8Array;
  /** A test's response is kept whole even when it succeeded. */
  readonly keepsAll: boolean;
}

/** A receiver that keeps sending what never becomes a header or a body is cut off here, counted per attempt. */
const READ_LIMIT = 1024 * 1024;
const IDLE_MS = 2000;
const LIFETIME_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;
const STRAYING_MS = 600_000;
/** So long after a shortage no connection rests: attempts need them. */
const SHORT_MS = 5000;

const CLOSED = new Fault("connection_closed", "the exchange was closed");

/**
 * One endpoint's connections, and which of them are kept between attempts: never shared with another endpoint, so that
 * no receiver can answer in another's name.
 */
export class Connections {
  readonly #egress: Egress;
  readonly #destination: Destination;
  /** Those that rest; the one used last goes first, so that the others may fall idle. */
  readonly #resting: Connection[] = [];
  readonly #silence: Silence;
  #closed = false;

  constructor(egress: Egress, destination: Destination) {
    this.#egress = egress;
    this.#destination = destination;
    this.#silence = new Silence(egress.clock, egress.restMs);
  }

  /** One for the next request. */
  take(): Connection {
    for (let connection = this.#resting.at(-1); connection !== undefined; connection = this.#resting.at(-1)) {
      const { restingSince, reusable } = connection;
      if (reusable && !this.#silence.allows(restingSince!)) break;
      this.#resting.pop();
      this.#egress.countResting(connection.address, -1);
      if (reusable) return connection;
      connection.close(CLOSED);
    }
    return this.open();
  }

  /** A new one. */
  open(): Connection {
    return new Connection(this.#egress, this.#destination, this.#onLost, this.#onStray);
  }

  /**
   * The whole response was read. After anything but a 2xx the connection is not used again: what answers an error and
   * then a success would deliver the next event with it.
   */
  release(connection: Connection, succeeded: boolean): void {
    connection.rest();
    const keeps = succeeded && !this.#closed && connection.reusable;
    if (!keeps || !this.#hasRoomAt(connection.address) || !this.#silence.keeps(this.#resting.length))
      return connection.close(CLOSED);
    this.#resting.push(connection);
    this.#egress.countResting(connection.address, 1);
  }

  /** From now on none is kept. */
  close(): void {
    this.#closed = true;
    this.#closeResting();
  }

  #hasRoomAt(address: string | null): boolean {
    const { clock, resting, restingAt, restRoom, restRoomAt, shortAt } = this.#egress;
    if (resting >= restRoom || (address !== null && (restingAt.get(address) ?? 0) >= restRoomAt)) return false;
    return shortAt === null || clock.monotonic() - shortAt >= SHORT_MS;
  }

  readonly #onLost = (connection: Connection): void => {
    const at = this.#resting.indexOf(connection);
    if (at === -1) return;
    this.#resting.splice(at, 1);
    this.#egress.countResting(connection.address, -1);
  };

  readonly #onStray = (): void => {
    this.#silence.broken();
    this.#closeResting();
  };

  #closeResting(): void {
    for (const connection of this.#resting.splice(0)) {
      this.#egress.countResting(connection.address, -1);
      connection.close(CLOSED);
    }
  }
}

/** One connection to one endpoint: one socket, opened once, that carries one request at a time. */
export class Connection {
  readonly client: Client;
  /** How the socket was opened, or is being opened. */
  opening: Opening | null = null;
  /** When it began to rest, on the monotonic clock; null while a request is out, or before the first one. */
  restingSince: number | null = null;
  #address: string | null | undefined;
  readonly #egress: Egress;
  readonly #policy: AddressPolicy;
  readonly #destination: Destination;
  readonly #onStray: () => void;
  #socket: Socket | null = null;
  #readBefore = 0;

  /** Where it leads, once it is open; null if that is not public: what the operator allowed has no cap. */
  get address(): string | null {
    if (this.#address !== undefined) return this.#address;
    const remote = this.opening?.remoteAddress ?? null;
    return (this.#address = remote !== null && isGlobal(remote) ? remote : null);
  }

  /** @param onStray bytes came while no request was out */
  constructor(egress: Egress, destination: Destination, onLost: (connection: Connection) => void, onStray: () => void) {
    this.#egress = egress;
    this.#policy = egress.policy;
    this.#destination = destination;
    this.#onStray = onStray;
    this.client = new Client(destination.origin, {
      connect: (_options, callback) => this.#open(callback),
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    this.client.on("disconnect", (_origin, _targets, error) => {
      // The parser met it in the segment that held the end of the answer.
      if (this.restingSince !== null && isOutOfTurn(error)) onStray();
      onLost(this);
    });
  }

  /** Whether another request may go out on this socket. */
  get reusable(): boolean {
    const socket = this.#socket;
    const since = this.opening?.connectedAt ?? null;
    if (socket === null || socket.destroyed || since === null || this.#policy !== this.#egress.policy) return false;
    // An answer that came before its request was written leaves half a request on the wire.
    return socket.writableLength === 0 && this.#egress.clock.monotonic() - since < LIFETIME_MS;
  }

  /** Called when a request is about to be written. */
  serve(): void {
    this.restingSince = null;
    this.#readBefore = this.#socket?.bytesRead ?? 0;
  }

  /** Called when the whole of an answer was read: from now on, whatever comes was not asked for. */
  rest(): void {
    this.restingSince = this.#egress.clock.monotonic();
  }

  /** Ends the connection in whatever state it is. */
  close(fault: Fault): void {
    if (this.#socket === null) this.opening?.cancel(fault);
    else this.#socket.destroy();
  }

  #open(callback: (...args: [null, Socket] | [Error, null]) => void): void {
    // undici would connect again, without end, for a request that waits while its socket is lost.
    if (this.opening !== null) {
      callback(new Fault("connection_closed", "the connection was lost before the request was written"), null);
      return;
    }
    this.opening = new Opening(this.#egress, this.#destination, (result) => {
      if (result instanceof Fault) callback(result, null);
      else {
        this.#socket = result.on("readable", this.#onReadable);
        callback(null, result);
      }
    });
    this.opening.start();
  }

  /** Comes before undici reads, and before what it read is an answer to a request that was written meanwhile. */
  readonly #onReadable = (): void => {
    if (this.restingSince !== null && this.#socket!.readableLength > 0) {
      this.#onStray();
      this.#socket!.destroy();
      return;
    }
    if (this.#socket!.bytesRead - this.#readBefore > READ_LIMIT) {
      this.#socket!.destroy(new Fault("bad_response", "the receiver sent more than 1 MiB"));
    }
  };
}

/**
 * Whether an endpoint's connections may carry more than one request. A response to no request cannot be told
 * from an answer once the next request is out, so the receiver must first have been seen to keep silent: one connection
 * rests after a 2xx and is watched, and until it has rested long enough each of the others carries a single request.
 * Bytes that come while no request is out prove the opposite, and that counts for a while.
 *
 *   unknown ──a connection rested in silence──► silent
 *      └──────── a stray byte ────────┬─────────────┘
 *                                     ▼
 *                                  straying ──ten minutes──► unknown
 */
class Silence {
  readonly #clock: Clock;
  readonly #restMs: number;
  #silent: boolean;
  /** In monotonic milliseconds. */
  #straysUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, restMs: number) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#silent = restMs === 0;
  }

  /** Whether a connection is worth keeping beside `others` that rest already. */
  keeps(others: number): boolean {
    return this.#silent || (others === 0 && this.#clock.monotonic() >= this.#straysUntil);
  }

  /** Whether a connection that has been silent since then may carry the next request. */
  allows(restingSince: number): boolean {
    if (!this.#silent && this.#clock.monotonic() - restingSince >= this.#restMs) this.#confirm();
    return this.#silent;
  }

  broken(): void {
    this.#silent = false;
    this.#straysUntil = this.#clock.monotonic() + STRAYING_MS;
  }

  /** What came while this process stood still is yet to be read: in the second turn all of it was. */
  #confirm(): void {
    const before = this.#straysUntil;
    const { nextTurn } = this.#clock;
    nextTurn(() => nextTurn(() => (this.#silent ||= this.#straysUntil === before)));
  }
}
