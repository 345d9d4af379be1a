import { connect, isIPv6, Socket, SocketAddress } from "node:net";
import type { Dial } from "../../src/delivery/http/dial.ts";

/**
 * The target of a dialled address: a port of this host, an address that never responds, or a port that refuses
 * connections.
 */
export type Route = number | "blackhole" | "refused";

/** tcpmux is obsolete, so nothing listens on its port. */
const CLOSED = 1;

/** Redirects connections to public addresses to listeners on this host, and records the addresses. */
export class DialSpy {
  readonly dialled: string[] = [];
  readonly sockets: Socket[] = [];
  readonly #route: (ip: string, port: number) => Route;

  constructor(route: Route | ((ip: string, port: number) => Route)) {
    this.#route = typeof route === "function" ? route : () => route;
  }

  readonly dial: Dial = (ip, port) => {
    this.dialled.push(ip);
    const route = this.#route(ip, port);
    const socket = route === "blackhole" ? new Socket() : connect(route === "refused" ? CLOSED : route, "127.0.0.1");
    // Spelled as the kernel does.
    const { address } = new SocketAddress({ address: ip, family: isIPv6(ip) ? "ipv6" : "ipv4" });
    Object.defineProperty(socket, "remoteAddress", { get: () => address });
    this.sockets.push(socket);
    return socket;
  };
}
