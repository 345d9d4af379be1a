import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";
import type { AddressPolicy } from "../../domain/network/address.ts";
import { isGlobal } from "../../domain/network/address.ts";
import { type Answer, AnswerReader, LatestAnswer } from "./answer.ts";
import { type Destination, Opening } from "./egress-guard.ts";
import { type Egress, Timed } from "./egress.ts";
import { Fault } from "./fault.ts";

const LIFETIME_MS = 60_000;
const STRAYING_MS = 600_000;

const CLOSED = new Fault("connection_closed", "the exchange was closed");
const CLOSED_BY_RECEIVER = new Fault("connection_closed", "the receiver closed the connection");

/**
 * The connections of one endpoint, and which of them are kept between attempts. They are never shared with another
 * endpoint, so that no receiver can answer in another's name.
 */
export class Connections {
  readonly egress: Egress;
  readonly destination: Destination;
  readonly latest = new LatestAnswer();
  /** The idle connections. The one used last is taken first, so that the others can time out. */
  readonly #resting: Connection[] = [];
  readonly #silence: Silence;
  #closed = false;

  constructor(egress: Egress, destination: Destination) {
    this.egress = egress;
    this.destination = destination;
    this.#silence = new Silence(egress.clock, egress.restMs);
  }

  /** Returns a connection for the next request. */
  take(now: number): Connection {
    for (let connection = this.#resting.at(-1); connection !== undefined; connection = this.#resting.at(-1)) {
      const isReusable = connection.isReusable(now);
      if (isReusable && !this.#silence.allows(connection.restingSince!, now)) break;
      this.#resting.pop();
      this.#left(connection);
      if (isReusable) return connection;
      connection.close(CLOSED);
    }
    return new Connection(this);
  }

  /**
   * The whole response was read. After anything but a clean 2xx the connection is closed, because if a receiver sent a
   * success after its error, the next event would count as delivered.
   */
  release(connection: Connection, isClean: boolean, now: number): void {
    const keeps = isClean && !this.#closed && connection.isReusable(now);
    if (!keeps || !this.egress.hasCapacityAt(connection.address) || !this.#silence.keeps(this.#resting.length))
      return connection.close(CLOSED);
    this.#resting.push(connection);
    this.egress.countResting(connection.address, 1);
    this.egress.idle.add(connection, now);
  }

  /** The connection has closed. */
  lost(connection: Connection): void {
    const at = this.#resting.indexOf(connection);
    if (at === -1) return;
    this.#resting.splice(at, 1);
    this.#left(connection);
  }

  /** Bytes arrived from this receiver while it had no request. */
  strayed(): void {
    this.#silence.broken();
    this.#closeResting();
  }

  /** Keeps no connection from now on. */
  close(): void {
    this.#closed = true;
    this.#closeResting();
  }

  #left(connection: Connection): void {
    this.egress.countResting(connection.address, -1);
    this.egress.idle.remove(connection);
  }

  #closeResting(): void {
    for (const connection of this.#resting.splice(0)) {
      this.#left(connection);
      connection.close(CLOSED);
    }
  }
}

/**
 * The read buffer of all sockets of a thread. Only one socket reads at a time, and a new buffer for each read would
 * cost more than the read.
 */
const landing = Buffer.allocUnsafeSlow(64 * 1024);

/** The request that a connection carries. */
export interface Carried {
  readonly keepsAll: boolean;
  write(socket: Socket, to: Destination): void;
  /** Called when more of the response was read, which may now be complete. */
  onProgress(answer: Answer, now: number): void;
  /**
   * Called when all of it was read. `isClean` is true if it was a 2xx, nothing followed it, and its connection may be
   * used again.
   */
  onComplete(isClean: boolean, now: number): void;
  /** Called when the connection could not be opened, or ended before the response did. */
  onLost(error: Error): void;
}

/** One connection to one endpoint: one socket, opened once, that carries one request at a time. */
export class Connection extends Timed {
  /** The opening of the socket, whether in progress or done. */
  opening: Opening | null = null;
  /**
   * The time at which it became idle, on the monotonic clock. Null while it carries a request, and before the first
   * one.
   */
  restingSince: number | null = null;
  #address: string | null | undefined;
  readonly #connections: Connections;
  readonly #policy: AddressPolicy;
  #socket: Socket | null = null;
  #carried: Carried | null = null;
  /** Reads a response that arrives in pieces, or that differs from the one before. */
  #reader: AnswerReader | null = null;
  /** Milliseconds for which it may stay idle, according to the receiver. */
  #restMs = 0;
  #error: Error | null = null;

  constructor(connections: Connections) {
    super();
    this.#connections = connections;
    this.#policy = connections.egress.policy;
  }

  /**
   * The remote address once the connection is open. Null if it is not a public one. Addresses that the operator allowed
   * have no limit.
   */
  get address(): string | null {
    if (this.#address !== undefined) return this.#address;
    const remote = this.opening?.remoteAddress ?? null;
    return (this.#address = remote !== null && isGlobal(remote) ? remote : null);
  }

  /** Returns true if another request may go out on this socket. */
  isReusable(now: number): boolean {
    const socket = this.#socket;
    const since = this.opening?.connectedAt ?? null;
    if (socket === null || socket.destroyed || since === null) return false;
    if (this.#policy !== this.#connections.egress.policy || now - this.restingSince! >= this.#restMs) return false;
    // If a response arrived before its request was fully written, half a request is still on the wire.
    return socket.writableLength === 0 && now - since < LIFETIME_MS;
  }

  /** Carries a request, once the connection is open. */
  carry(carried: Carried): void {
    this.#carried = carried;
    const { egress, destination } = this.#connections;
    if (this.opening !== null) return egress.writeSoon(this);
    const callback = (length: number) => {
      this.#onBytes(landing, length);
      return true;
    };
    this.opening = new Opening(egress, destination, this.#onOpen, { buffer: landing, callback });
    this.opening.start();
  }

  write(): void {
    const socket = this.#socket!;
    if (this.#carried === null || socket.destroyed) return;
    // The egress rules changed since the connection was taken.
    if (this.restingSince !== null && this.#policy !== this.#connections.egress.policy) return void socket.destroy();
    this.restingSince = null;
    this.#carried.write(socket, this.#connections.destination);
  }

  /** Closes the connection in whatever state it is. */
  close(fault: Fault): void {
    if (this.#socket === null) this.opening?.cancel(fault);
    else this.#socket.destroy();
  }

  /** The connection was idle for too long. */
  override expire(): void {
    this.close(CLOSED);
  }

  readonly #onOpen = (result: Socket | Fault): void => {
    if (result instanceof Fault) return this.#end(result);
    this.#socket = result;
    result.on("data", (chunk: Buffer) => this.#onBytes(chunk, chunk.length));
    result.on("end", this.#onEnd).on("error", (error) => (this.#error = error));
    result.on("close", () => this.#end(this.#error ?? CLOSED_BY_RECEIVER));
    if (result.readableLength === 0) this.write();
    else result.destroy(new Fault("connection_closed", "the receiver sent data before the request was written"));
  };

  /** `bytes` is overwritten as soon as this returns. */
  readonly #onBytes = (bytes: Buffer, length: number): void => {
    const socket = this.#socket!;
    if (socket.destroyed) return;
    if (this.restingSince !== null) {
      this.#connections.strayed();
      socket.destroy();
      return;
    }
    const { egress, latest } = this.#connections;
    const { keepsAll } = this.#carried!;
    const now = egress.clock.monotonic();
    const mayRepeat = this.#reader === null && !keepsAll;
    const repeated = mayRepeat ? latest.of(bytes, length) : null;
    if (repeated !== null) return this.#go(repeated, false, now);
    const reader = (this.#reader ??= new AnswerReader(keepsAll));
    const own = reader.read(bytes, length);
    if (mayRepeat && reader.answer.isComplete && own === length) latest.set(bytes, length, reader.answer);
    this.#go(reader.answer, own < length, now);
    if (reader.fault !== null) socket.destroy(reader.fault);
  };

  /** The end of the stream may also be the end of a response. */
  readonly #onEnd = (): void => {
    const reader = this.#reader;
    if (reader !== null) {
      reader.finish();
      this.#go(reader.answer, true, this.#connections.egress.clock.monotonic());
    }
    this.#socket!.destroy();
  };

  /** Reports how much of the response is known. `more` is true if the bytes were not exactly one response. */
  #go(answer: Answer, more: boolean, now: number): void {
    const carried = this.#carried!;
    carried.onProgress(answer, now);
    if (!answer.isComplete || this.#socket!.destroyed) return;
    this.#carried = null;
    this.#closeReader();
    this.restingSince = now;
    this.#restMs = answer.restMs;
    const isClean = answer.succeeded && answer.restMs > 0;
    if (isClean && more) this.#connections.strayed();
    carried.onComplete(isClean && !more, now);
  }

  #end(error: Error): void {
    this.#connections.lost(this);
    this.#closeReader();
    const carried = this.#carried;
    this.#carried = null;
    carried?.onLost(error);
  }

  #closeReader(): void {
    this.#reader?.close();
    this.#reader = null;
  }
}

/**
 * Decides whether an endpoint's connections may carry more than one request. Once the next request is out, stray bytes
 * cannot be told apart from its response. So the receiver must first prove that it stays silent: one connection stays
 * idle after a 2xx and is watched, and until it has been idle for long enough each of the others carries a single
 * request. Bytes that arrive while no request is out prove that the receiver strays, which counts against it for ten
 * minutes.
 *
 *   unknown ──a connection stayed silent while idle──► silent
 *      └──────── a stray byte ────────┬────────────────────┘
 *                                     ▼
 *                                  straying ──ten minutes──► unknown
 */
class Silence {
  readonly #clock: Clock;
  readonly #restMs: number;
  #silent: boolean;
  /** Monotonic milliseconds. */
  #straysUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, restMs: number) {
    this.#clock = clock;
    this.#restMs = restMs;
    this.#silent = restMs === 0;
  }

  /** Returns true if a connection is worth keeping in addition to `others` that are already idle. */
  keeps(others: number): boolean {
    return this.#silent || (others === 0 && this.#clock.monotonic() >= this.#straysUntil);
  }

  /** Returns true if a connection that has been silent since then may carry the next request. */
  allows(restingSince: number, now: number): boolean {
    if (!this.#silent && now - restingSince >= this.#restMs) this.#confirm();
    return this.#silent;
  }

  broken(): void {
    this.#silent = false;
    this.#straysUntil = this.#clock.monotonic() + STRAYING_MS;
  }

  /**
   * If this process stood still, stray bytes may not have been read yet. After two turns of the event loop they have.
   */
  #confirm(): void {
    const before = this.#straysUntil;
    const { nextTurn } = this.#clock;
    nextTurn(() => nextTurn(() => (this.#silent ||= this.#straysUntil === before)));
  }
}
