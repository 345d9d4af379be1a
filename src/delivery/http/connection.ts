import type { Socket } from "node:net";
import { Client } from "undici";
import type { AddressPolicy } from "../../domain/address.ts";
import { type Destination, Opening } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { Fault, isOutOfTurn } from "./fault.ts";

/** A receiver that keeps sending what never becomes a header or a body is cut off here, counted per attempt. */
const READ_LIMIT = 1024 * 1024;
const IDLE_MS = 2000;
const LIFETIME_MS = 60_000;
const MAX_HEADER_BYTES = 16 * 1024;

/** One connection to one endpoint: one socket, opened once, that carries one request at a time. */
export class Connection {
  readonly client: Client;
  /** How the socket was opened, or is being opened. */
  opening: Opening | null = null;
  /** When it began to rest, on the monotonic clock; null while a request is out, or before the first one. */
  restingSince: number | null = null;
  readonly #egress: Egress;
  readonly #policy: AddressPolicy;
  readonly #destination: Destination;
  readonly #onStray: () => void;
  #socket: Socket | null = null;
  #readBefore = 0;

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
