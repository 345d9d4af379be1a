/** A relay between two processes. A test can silence it, as if the network dropped all packets. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts a relay to a port of this host. The port may begin to listen later. */
  static async to(port: number): Promise<Link> {
    const server = createServer({ pauseOnConnect: true, noDelay: true });
    const link = new Link(server);
    server.on("connection", (from) => link.#relay(from, connect({ port, host: "127.0.0.1", noDelay: true })));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Keeps connections open and accepts new ones, but passes no bytes on. */
  silence(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  resume(): void {
    this.#isSilent = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #relay(from: Socket, to: Socket): void {
    const cut = () => {
      for (const socket of [from, to]) {
        this.#sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", cut).on("close", cut);
      one.on("data", (bytes) => void other.write(bytes));
      if (this.#isSilent) one.pause();
      else one.resume();
    }
  }
}
