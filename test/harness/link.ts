/** The network between two processes, as a test needs it: a relay that can fall silent, as when all packets are dropped. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isSilent = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** To a port of this host, which may begin to listen later. */
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

  /** Connections stay open and new ones are taken, but no byte gets through. */
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
