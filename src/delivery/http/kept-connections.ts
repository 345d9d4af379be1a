import type { Clock } from "../../clock.ts";
import { Connection } from "./connection.ts";
import type { Destination } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { Fault } from "./fault.ts";

const STRAYING_MS = 600_000;
/** So long after a shortage no connection rests: attempts need them. */
const SHORT_MS = 5000;

const CLOSED = new Fault("connection_closed", "the exchange was closed");

/**
 * One endpoint's connections, and which of them are kept between attempts: never shared with another endpoint, so that
 * no receiver can answer in another's name.
 */
export class KeptConnections {
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
      this.#egress.resting--;
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
    if (!keeps || !this.#hasRoom || !this.#silence.keeps(this.#resting.length)) return connection.close(CLOSED);
    this.#resting.push(connection);
    this.#egress.resting++;
  }

  /** From now on none is kept. */
  close(): void {
    this.#closed = true;
    this.#closeResting();
  }

  get #hasRoom(): boolean {
    const { clock, resting, restRoom, shortAt } = this.#egress;
    if (resting >= restRoom) return false;
    return shortAt === null || clock.monotonic() - shortAt >= SHORT_MS;
  }

  readonly #onLost = (connection: Connection): void => {
    const at = this.#resting.indexOf(connection);
    if (at === -1) return;
    this.#resting.splice(at, 1);
    this.#egress.resting--;
  };

  readonly #onStray = (): void => {
    this.#silence.broken();
    this.#closeResting();
  };

  #closeResting(): void {
    this.#egress.resting -= this.#resting.length;
    for (const connection of this.#resting.splice(0)) connection.close(CLOSED);
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
