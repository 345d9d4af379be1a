/** A TCP socket that somebody else opened and keeps open: connections wait in it while one daemon follows another. */
import { createServer } from "node:http";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import { BlockList, isIPv4, Server as NetServer, type AddressInfo } from "node:net";
import { isAsAsked, ListenError, secure, text, type Place, type TcpListener, type TcpParts } from "./listen.ts";
import { type NodeHandler, prepare } from "./listener.ts";

/** Throws a `ListenError`, also when the socket is bound elsewhere than `[server] listen` says. */
export async function openInherited(
  handler: NodeHandler,
  { fd, host, port, ...parts }: { readonly fd: number } & Place & TcpParts,
): Promise<TcpListener> {
  const server = parts.certificate ? createTlsServer() : createServer();
  server.on("request", handler);
  const connections = prepare(server, parts);
  if (parts.certificate) secure(server as HttpsServer, parts.certificate);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      // Of a descriptor Node reads no `backlog` among the options.
      server.listen({ fd }, WAITING, resolve);
    });
  } catch (error) {
    throw new ListenError(`descriptor ${fd} was given as a socket, but is not one: ${(error as Error).message}`);
  }
  const address = server.address();
  if (address === null || typeof address === "string" || !isThere(address, { host, port })) {
    await connections.close(0);
    const found =
      address === null || typeof address === "string" ? "is not a TCP socket" : `listens on ${text(address)}`;
    const asked = text({ host, port });
    // Host names, proxies and TLS are checked for the address that is configured.
    throw new ListenError(
      `the socket given as descriptor ${fd} ${found}, and [server] listen says ${asked}: make them the same`,
    );
  }
  return {
    url: `${parts.certificate ? "https" : "http"}://${text(address)}`,
    server,
    close: (deadlineMs) => connections.close(deadlineMs),
    renew: (certificate) => secure(server as HttpsServer, certificate),
    leave() {
      // Who comes now waits for the next daemon.
      NetServer.prototype.close.call(server);
      return connections.leave();
    },
  };
}

/** Connections that may wait for the next daemon: to listen again sets it anew, and the kernel has a limit of its own. */
const WAITING = 4096;
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/** A name that means this machine alone must not stand for a socket that others reach. */
function isThere(address: AddressInfo, place: Place): boolean {
  if (!isAsAsked(address, place)) return false;
  return place.host !== "localhost" || LOOPBACK.check(address.address, isIPv4(address.address) ? "ipv4" : "ipv6");
}
