import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * A relay between clients and a daemon that restarts. Its port stays the same, and a crash can lose the last responses.
 */
export class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #to = 0;
  #isDumb = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (client) => {
      const daemon = connect(this.#to, "127.0.0.1");
      for (const [from, to] of [
        [client, daemon],
        [daemon, client],
      ] as const) {
        this.#sockets.add(from);
        from.on("data", (bytes) => (from === daemon && this.#isDumb ? undefined : to.write(bytes)));
        from.on("error", () => {});
        from.on("close", () => {
          this.#sockets.delete(from);
          to.destroy();
        });
      }
    });
  }

  static async start(): Promise<Wire> {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Wire(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sends new connections to this daemon. */
  leadTo(url: string): void {
    this.#to = Number(new URL(url).port);
    this.#isDumb = false;
  }

  /** Drops responses from now on, but passes requests on. */
  dropAnswers(): void {
    this.#isDumb = true;
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
