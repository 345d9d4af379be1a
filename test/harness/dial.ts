import { connect, isIPv6, Socket, SocketAddress } from "node:net";
import type { Dial } from "../../src/delivery/http/dial.ts";

/** Where a dialled address really leads: a port of this host, nowhere, or to somebody who does not take the call. */
export type Route = number | "blackhole" | "refused";

/** Nobody listens on tcpmux any more. */
const CLOSED = 1;

/** Leads public addresses to listeners on this host, and writes down who was dialled. */
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
    // As the kernel spells it.
    const { address } = new SocketAddress({ address: ip, family: isIPv6(ip) ? "ipv6" : "ipv4" });
    Object.defineProperty(socket, "remoteAddress", { get: () => address });
    this.sockets.push(socket);
    return socket;
  };
}
