/** A model of a thread. Its messages are cloned, take a while and keep their order. It can die at any time. */
import type { Clock } from "../../src/clock.ts";
import type { FromSender, ToSender } from "../../src/delivery/threads/messages.ts";
import type { ServedSenderParts, StartThread } from "../../src/delivery/threads/thread-port.ts";

type Listener = (message: never) => void;

export interface SimThreadParts {
  readonly clock: Clock;
  /** Returns the milliseconds that the next message takes. */
  readonly delay: () => number;
  readonly onExit: () => void;
}

export class SimThread {
  alive = true;
  /** The thread's end of the connection. */
  readonly port: ServedSenderParts["port"];
  readonly #parts: SimThreadParts;
  readonly #listeners = new Map<string, Listener[]>();
  readonly #inside: ((message: ToSender) => void)[] = [];
  #arrivesAt = { inside: 0, outside: 0 };

  constructor(parts: SimThreadParts) {
    this.#parts = parts;
    this.port = {
      postMessage: (message: FromSender) => this.alive && this.#send("outside", message),
      on: (_event: string, listener: (message: ToSender) => void) => void this.#inside.push(listener),
      close: () => this.die(),
    } as unknown as ServedSenderParts["port"];
  }

  /** Returns the main thread's end of the connection. */
  asThread(): ReturnType<StartThread> {
    return {
      postMessage: (message: ToSender) => this.#send("inside", message),
      on: (event: string, listener: Listener) => {
        this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
      },
      terminate: async () => this.die(),
    } as unknown as ReturnType<StartThread>;
  }

  /** Messages that the thread has already sent arrive before its exit. */
  die(): void {
    if (!this.alive) return;
    this.alive = false;
    this.#parts.onExit();
    this.#after("outside", () => this.#emit("exit"));
  }

  #send(side: "inside" | "outside", message: ToSender | FromSender): void {
    const clone = structuredClone(message);
    this.#after(side, () => {
      if (side === "outside") this.#emit("message", clone as FromSender);
      else if (this.alive) for (const listener of this.#inside) listener(clone as ToSender);
    });
  }

  #after(side: "inside" | "outside", run: () => void): void {
    const { clock, delay } = this.#parts;
    const now = clock.monotonic();
    this.#arrivesAt[side] = Math.max(this.#arrivesAt[side], now + delay());
    clock.after(this.#arrivesAt[side] - now, run);
  }

  #emit(event: string, message?: FromSender): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(message as never);
  }
}
