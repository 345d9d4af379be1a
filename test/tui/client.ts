import { ClientError, type Client } from "../../src/client/client.ts";
import type { StreamMessage, StreamOptions } from "../../src/client/stream.ts";
import type { Call } from "../../tui/model/call.ts";
import { FakeDaemon, type Holds } from "./daemon.ts";

/** A client with a fake daemon. The test sends the stream's messages and breaks the connection. */
export class FakeClient implements Client {
  readonly target = "/run/webhookd/webhookd.sock";
  readonly daemon: FakeDaemon;
  isUp = true;
  /** Awaited before each response. */
  wait: () => Promise<void> = () => Promise.resolve();
  /** The last event id with which each connection began. */
  readonly connectedWith: (string | undefined)[] = [];
  /** The number of open streams. */
  listening = 0;
  #told: StreamMessage[] = [];
  #wake: () => void = () => {};

  constructor(holds: Holds = {}) {
    this.daemon = new FakeDaemon(holds);
  }

  call = (async (operation: string, ask: object = {}) => {
    await this.wait();
    if (!this.isUp) throw gone();
    return this.daemon.answer({ operation, ask, about: { for: "known", id: "" } } as Call);
  }) as Client["call"];

  callWithEtag = () => Promise.reject(new Error("the dashboard reads no ETag"));
  text = () => Promise.reject(new Error("the dashboard reads no text"));
  every = () => {
    throw new Error("the dashboard never reads a list to its end");
  };

  tell(...messages: StreamMessage[]): void {
    this.#told.push(...messages);
    this.#wake();
  }

  goAway(): void {
    this.isUp = false;
    this.#wake();
  }

  async *changes({ signal, lastEventId }: StreamOptions): AsyncGenerator<StreamMessage, void, undefined> {
    this.connectedWith.push(lastEventId);
    if (!this.isUp) throw gone();
    this.listening++;
    try {
      yield { kind: "ready", data: {} };
      signal.addEventListener("abort", () => this.#wake());
      while (this.isUp && !signal.aborted) {
        yield* this.#told.splice(0);
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.listening--;
    }
    if (!this.isUp) throw gone();
  }
}

function gone(): ClientError {
  return new ClientError("unreachable", "unreachable", "cannot reach the daemon (nothing is listening there)");
}
