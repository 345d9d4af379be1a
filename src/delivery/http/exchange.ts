import type { Outcome } from "../../domain/deliveries/attempt.ts";
import { Attempt, type SignedRequest } from "./attempt.ts";
import { Destination } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { Connections } from "./connections.ts";
import { KeptHeaders } from "./response.ts";

/** The way to one endpoint, and what is on it. How much there may be at once is for the caller to say. */
export class Exchange {
  readonly egress: Egress;
  readonly #connections: Connections;
  readonly #headers = new KeptHeaders();
  /** In no order; each knows its place. A Set that churns like this keeps its past members alive for the collector. */
  readonly #inFlight: Attempt[] = [];
  #onDrained: (() => void) | null = null;

  constructor(egress: Egress, url: string, tenant: string) {
    this.egress = egress;
    this.#connections = new Connections(egress, new Destination(new URL(url), tenant));
  }

  /** One attempt. Never rejects: what the receiver, the network or this host do wrong is the outcome. */
  post(request: SignedRequest): Promise<Outcome> {
    return new Promise((resolve) => {
      const attempt = new Attempt(this.egress, this.#connections, this.#headers, request, (outcome) => {
        this.#remove(attempt);
        resolve(outcome);
      });
      attempt.place = this.#inFlight.push(attempt) - 1;
      attempt.start();
    });
  }

  /** Ends everything on the wire now; what was not decided yet is `interrupted`. */
  abort(): void {
    for (const attempt of this.#inFlight.slice()) attempt.interrupt();
  }

  /** Lets what is on the wire end, and closes the connections. */
  async close(): Promise<void> {
    this.#connections.close();
    if (this.#inFlight.length > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }

  #remove(attempt: Attempt): void {
    const last = this.#inFlight.pop()!;
    if (last !== attempt) {
      this.#inFlight[attempt.place] = last;
      last.place = attempt.place;
    }
    if (this.#inFlight.length === 0) this.#onDrained?.();
  }
}
