import type { Outcome } from "../../domain/attempt.ts";
import { Attempt } from "./attempt.ts";
import { Connection } from "./connection.ts";
import { Destination } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { Fault } from "./fault.ts";
import { KeptHeaders, type Headers } from "./kept-headers.ts";
import type { SignedRequest } from "../send/signed-request.ts";
import { Silence } from "./silence.ts";

const CLOSED = new Fault("connection_closed", "the exchange was closed");

/**
 * The way to one endpoint, and its connections: never shared with another endpoint, so that no receiver can answer in
 * another's name. How many there are at once is for the caller to say.
 */
export class Exchange {
  readonly egress: Egress;
  readonly #destination: Destination;
  /** Kept connections; the one used last goes first, so that the others may fall idle. */
  readonly #free: Connection[] = [];
  readonly #silence: Silence;
  readonly #headers = new KeptHeaders();
  /** In no order; each knows its place. A Set that churns like this keeps its past members alive for the collector. */
  readonly #inFlight: Attempt[] = [];
  #onDrained: (() => void) | null = null;
  #closed = false;

  constructor(egress: Egress, url: string, tenant: string) {
    this.egress = egress;
    this.#silence = new Silence(egress.clock, egress.restMs);
    this.#destination = new Destination(new URL(url), tenant);
  }

  /** One attempt. Never rejects: what the receiver, the network or this host do wrong is the outcome. */
  post(request: SignedRequest): Promise<Outcome> {
    return new Promise((resolve) => {
      const attempt = new Attempt(this, request, this.#take(), resolve);
      attempt.place = this.#inFlight.push(attempt) - 1;
      this.egress.attempts.add(attempt);
      attempt.connection.client.dispatch(request, attempt);
    });
  }

  /** Ends everything on the wire now; what was not decided yet is `interrupted`. */
  abort(): void {
    for (const attempt of this.#inFlight.slice()) attempt.interrupt();
  }

  /** Lets what is on the wire end, and closes the connections. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#closeFree();
    if (this.#inFlight.length > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }

  /** For an attempt: a connection that nobody has used. */
  connect(): Connection {
    return new Connection(this.egress, this.#destination, this);
  }

  /**
   * For an attempt: the whole response was read. After anything but a 2xx the connection is not used again: what answers
   * an error and then a success would deliver the next event with it.
   */
  release(connection: Connection, succeeded: boolean): void {
    connection.rest();
    const keeps = succeeded && !this.#closed && connection.reusable;
    if (!keeps || !this.egress.mayRest || !this.#silence.keeps(this.#free.length)) return connection.close(CLOSED);
    this.#free.push(connection);
    this.egress.resting++;
  }

  /** For an attempt: what is kept of an answer's headers. */
  keptHeaders(headers: Headers): Outcome["responseHeaders"] {
    return this.#headers.of(headers);
  }

  /** For an attempt: it has its outcome. */
  ended(attempt: Attempt): void {
    const last = this.#inFlight.pop()!;
    if (last !== attempt) {
      this.#inFlight[attempt.place] = last;
      last.place = attempt.place;
    }
    if (this.#inFlight.length === 0) this.#onDrained?.();
  }

  /** For a connection. */
  readonly onLost = (connection: Connection): void => {
    const at = this.#free.indexOf(connection);
    if (at === -1) return;
    this.#free.splice(at, 1);
    this.egress.resting--;
  };

  /** For a connection. */
  readonly onStray = (): void => {
    this.#silence.broken();
    this.#closeFree();
  };

  #closeFree(): void {
    this.egress.resting -= this.#free.length;
    for (const connection of this.#free.splice(0)) connection.close(CLOSED);
  }

  #take(): Connection {
    for (let connection = this.#free.at(-1); connection !== undefined; connection = this.#free.at(-1)) {
      const { restingSince, reusable } = connection;
      if (reusable && !this.#silence.allows(restingSince!)) break;
      this.#free.pop();
      this.egress.resting--;
      if (reusable) return connection;
      connection.close(CLOSED);
    }
    return this.connect();
  }
}
