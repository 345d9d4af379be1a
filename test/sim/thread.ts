/** A thread as a model: its messages are cloned, take a while, and keep their order; it can die at any time. */
import type { Clock } from "../../src/clock.ts";
import type { FromSender, ToSender } from "../../src/delivery/threads/messages.ts";
import type { ServedSenderParts, StartThread } from "../../src/delivery/threads/thread-port.ts";

type Listener = (message: never) => void;

export interface SimThreadParts {
  readonly clock: Clock;
  /** How long a message takes, in milliseconds. */
  readonly delay: () => number;
  readonly onExit: () => void;
}

export class SimThread {
  alive = true;
  /** What the thread's own code sees of it. */
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

  /** What the main thread sees of it. */
  asThread(): ReturnType<StartThread> {
    return {
      postMessage: (message: ToSender) => this.#send("inside", message),
      on: (event: string, listener: Listener) => {
        this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
      },
      terminate: async () => this.die(),
    } as unknown as ReturnType<StartThread>;
  }

  /** What it has said arrives before its exit does. */
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
