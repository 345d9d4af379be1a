/**
 * Back-pressure for publishes: how many requests, and how many bytes of them, may wait for their commit. What is over
 * is refused at once with 503, so that a burst costs the publisher a retry and not the daemon its memory.
 */
import { WebhookdError } from "../domain/errors.ts";

export class Intake {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  #requests = 0;
  #bytes = 0;

  constructor(maxRequests: number, maxBytes: number) {
    this.#maxRequests = maxRequests;
    this.#maxBytes = maxBytes;
  }

  /** Throws `overloaded`; else the ticket must be given back with `leave`. */
  enter(): Ticket {
    if (this.#requests >= this.#maxRequests) throw overloaded("too many publishes wait for their commit");
    this.#requests += 1;
    let held = 0;
    return {
      hold: (bytes) => {
        if (this.#bytes + bytes > this.#maxBytes) throw overloaded("too many published bytes wait for their commit");
        this.#bytes += bytes;
        held += bytes;
      },
      leave: () => {
        this.#requests -= 1;
        this.#bytes -= held;
        held = 0;
      },
    };
  }
}

export interface Ticket {
  /** Counts bytes that came in; throws `overloaded` when they do not fit. */
  hold(bytes: number): void;
  leave(): void;
}

function overloaded(detail: string): WebhookdError {
  return new WebhookdError("overloaded", detail, { retryAfterSeconds: 1 });
}
