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
 * One endpoint's connections, and which of them are kept between attempts: never shared with another endpoint, so that
 * no receiver can answer in another's name.
 */
export class Connections {
  readonly egress: Egress;
  readonly destination: Destination;
  readonly latest = new LatestAnswer();
  /** Those that rest; the one used last goes first, so that the others may fall idle. */
  readonly #resting: Connection[] = [];
  readonly #silence: Silence;
  #closed = false;

  constructor(egress: Egress, destination: Destination) {
    this.egress = egress;
    this.destination = destination;
    this.#silence = new Silence(egress.clock, egress.restMs);
  }

  /** One for the next request. */
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
   * The whole response was read. After anything but a clean 2xx the connection is not used again: what answers an error
   * and then a success would deliver the next event with it.
   */
  release(connection: Connection, isClean: boolean, now: number): void {
    const keeps = isClean && !this.#closed && connection.isReusable(now);
    if (!keeps || !this.egress.hasRoomAt(connection.address) || !this.#silence.keeps(this.#resting.length))
      return connection.close(CLOSED);
    this.#resting.push(connection);
    this.egress.countResting(connection.address, 1);
    this.egress.idle.add(connection, now);
  }

  /** It is no more. */
  lost(connection: Connection): void {
    const at = this.#resting.indexOf(connection);
    if (at === -1) return;
    this.#resting.splice(at, 1);
    this.#left(connection);
  }

  /** Bytes came from this receiver while no request was out. */
  strayed(): void {
    this.#silence.broken();
    this.#closeResting();
  }

  /** From now on none is kept. */
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

/** Where all sockets of a thread read: one at a time, and a buffer for each read would cost more than the read. */
const landing = Buffer.allocUnsafeSlow(64 * 1024);

/** Whose request a connection carries. */
export interface Carried {
  readonly keepsAll: boolean;
  write(socket: Socket, to: Destination): void;
  /** More of the answer was read; it may be complete. */
  onProgress(answer: Answer, now: number): void;
  /** All of it was, and nothing else came. `isClean`: it was a 2xx whose connection may be used again. */
  onComplete(isClean: boolean, now: number): void;
  /** The connection could not be opened, or ended before the answer did. */
  onLost(error: Error): void;
}

/** One connection to one endpoint: one socket, opened once, that carries one request at a time. */
export class Connection extends Timed {
  /** How the socket was opened, or is being opened. */
  opening: Opening | null = null;
  /** When it began to rest, on the monotonic clock; null while a request is out, or before the first one. */
  restingSince: number | null = null;
  #address: string | null | undefined;
  readonly #connections: Connections;
  readonly #policy: AddressPolicy;
  #socket: Socket | null = null;
  #carried: Carried | null = null;
  /** Of an answer that came in pieces, or that is not the same as the one before. */
  #reader: AnswerReader | null = null;
  /** How long it may rest, as its receiver sees it. */
  #restMs = 0;
  #error: Error | null = null;

  constructor(connections: Connections) {
    super();
    this.#connections = connections;
    this.#policy = connections.egress.policy;
  }

  /** Where it leads, once it is open; null if that is not public: what the operator allowed has no cap. */
  get address(): string | null {
    if (this.#address !== undefined) return this.#address;
    const remote = this.opening?.remoteAddress ?? null;
    return (this.#address = remote !== null && isGlobal(remote) ? remote : null);
  }

  /** Whether another request may go out on this socket. */
  isReusable(now: number): boolean {
    const socket = this.#socket;
    const since = this.opening?.connectedAt ?? null;
    if (socket === null || socket.destroyed || since === null) return false;
    if (this.#policy !== this.#connections.egress.policy || now - this.restingSince! >= this.#restMs) return false;
    // An answer that came before its request was written leaves half a request on the wire.
    return socket.writableLength === 0 && now - since < LIFETIME_MS;
  }

  /** Carries a request, once it is open. */
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

  /** Writes the request that it carries. */
  write(): void {
    const socket = this.#socket!;
    if (this.#carried === null || socket.destroyed) return;
    // The rules changed since it was taken.
    if (this.restingSince !== null && this.#policy !== this.#connections.egress.policy) return void socket.destroy();
    this.restingSince = null;
    this.#carried.write(socket, this.#connections.destination);
  }

  /** Ends the connection in whatever state it is. */
  close(fault: Fault): void {
    if (this.#socket === null) this.opening?.cancel(fault);
    else this.#socket.destroy();
  }

  /** It has rested for too long. */
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

  /** `bytes` are another's as soon as this returns. */
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

  /** The end of the stream may be the end of an answer. */
  readonly #onEnd = (): void => {
    const reader = this.#reader;
    if (reader !== null) {
      reader.finish();
      this.#go(reader.answer, true, this.#connections.egress.clock.monotonic());
    }
    this.#socket!.destroy();
  };

  /** So much of the answer is known now; with `more`, what came is not all of one answer and nothing else. */
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
  allows(restingSince: number, now: number): boolean {
    if (!this.#silent && now - restingSince >= this.#restMs) this.#confirm();
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
