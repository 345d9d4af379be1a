/**
 * Listens for TCP connections. Only this file uses listhen, and works around its flaws: it turns port 0 and the ports
 * that browsers refuse into 3000, hides why a port failed, looks for a free port before it binds one, takes no options
 * for the server it creates, and does not catch a failed bind.
 */
import diagnostics from "node:diagnostics_channel";
import { createServer, Server as HttpServer } from "node:http";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import {
  type AddressInfo,
  BlockList,
  createServer as createProbe,
  isIP,
  isIPv4,
  isIPv6,
  Server as NetServer,
} from "node:net";
import { listen } from "listhen";
import type { Certificate } from "./certificate.ts";
import { speaksTls, type Connections, type WebServer } from "./connections.ts";
import { type Listener, type ListenerParts, type NodeHandler, prepare } from "./listener.ts";

export interface TcpListener extends Listener {
  /**
   * Uses the certificate for new handshakes, and keeps open connections. Only for a listener that was opened with a
   * certificate.
   */
  renew(certificate: Certificate): void;
}

export interface TcpParts extends ListenerParts {
  /** Null for plain HTTP. */
  readonly certificate?: Certificate | null;
}

/** The message says which address could not be bound, why, and what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

export interface Place {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
}

const RACES = 5;
const ADVICE: Record<string, string> = {
  EADDRINUSE: "another program listens there; stop it, or choose another port with --listen or [server] listen",
  EACCES: "this user may not bind that port; choose one above 1023 with --listen or [server] listen",
  EADDRNOTAVAIL: "this host does not have that address; see --listen or [server] listen",
  ENOTFOUND: "that name does not resolve; see --listen or [server] listen",
};

/** Throws a `ListenError`. */
export async function openListener(
  handler: NodeHandler,
  { host, port, ...parts }: Place & TcpParts,
): Promise<TcpListener> {
  for (let race = 1; ; race++) {
    try {
      const { server, connections } = await startListhen(handler, { host, port }, parts);
      const address = server.address() as AddressInfo;
      const scheme = parts.certificate ? "https" : "http";
      const close = (deadlineMs: number) => connections.close(deadlineMs);
      const renew = (certificate: Certificate) => secure(server as HttpsServer, certificate);
      const leave = () => connections.leave();
      const url = `${scheme}://${text(address)}`;
      if (isAsAsked(address, { host, port })) return { url, server, leave, close, renew };
      await close(0);
      throw new ListenError(`cannot listen on ${text({ host, port })}: the HTTP server does not accept this address`);
    } catch (error) {
      // With port 0, another process may take the free port between its selection and our bind.
      if (port === 0 && race < RACES && codeOf(error) === "EADDRINUSE") continue;
      throw error instanceof ListenError ? error : await explained(error, { host, port });
    }
  }
}

interface Started {
  readonly server: WebServer;
  readonly connections: Connections;
}

/**
 * Starts listhen, but gets hold of the server earlier through Node's diagnostics channel. There are three reasons:
 * listhen's promise never settles if the bind fails, it passes on no TLS options except the two PEM texts, and Node
 * reads the interval of its timeout checks when the server begins to listen.
 */
async function startListhen(handler: NodeHandler, { host, port }: Place, parts: TcpParts): Promise<Started> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let started: Started;
  // A separate function object, which identifies the server if several start at the same time.
  const own: NodeHandler = handler.bind(undefined);
  const onListen = (message: unknown) => {
    const { server } = message as { server: object };
    if (!(server instanceof HttpServer || speaksTls(server))) return;
    if (!server.listeners("request").includes(own)) return;
    server.once("error", reject);
    started = { server, connections: prepare(server, parts) };
    if (parts.certificate) secure(server as HttpsServer, parts.certificate);
  };
  diagnostics.subscribe("tracing:net.server.listen:asyncStart", onListen);
  try {
    const options = { hostname: host, showURL: false, autoClose: false, isProd: true, isTest: true };
    const https = parts.certificate ? { cert: parts.certificate.cert, key: parts.certificate.key } : false;
    await Promise.race([listen(own, { ...options, https, port: port === 0 ? { random: true } : port }), failed]);
    return started!;
  } finally {
    diagnostics.unsubscribe("tracing:net.server.listen:asyncStart", onListen);
  }
}

/** Sets the minimum to TLS 1.2 explicitly, because NODE_OPTIONS could change the default. */
function secure(server: HttpsServer, { cert, key }: Certificate): void {
  server.setSecureContext({ cert, key, minVersion: "TLSv1.2" });
}

function isAsAsked(address: AddressInfo, { host, port }: Place): boolean {
  if (port !== 0 && address.port !== port) return false;
  if (isIP(host) === 0) return true;
  return new URL(`http://${text(address)}`).hostname === new URL(`http://${text({ host, port: 0 })}`).hostname;
}

/**
 * Throws the same `ListenError` as `openListener`, but serves nobody. For callers that must know before they create
 * anything.
 */
export async function requireFree(place: Place): Promise<void> {
  const code = await probe(place);
  if (code !== null) throw refusal(place, code);
}

/** Finds the reason that listhen left out, by trying to bind. */
async function explained(cause: unknown, place: Place): Promise<ListenError> {
  return refusal(place, codeOf(cause) ?? (await probe(place)), cause);
}

function refusal(place: Place, code: string | null, cause?: unknown): ListenError {
  const reason = code === null ? "the HTTP server does not accept this port; choose another" : (ADVICE[code] ?? code);
  return new ListenError(`cannot listen on ${text(place)}: ${reason}`, { cause });
}

function probe(place: Place): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createProbe();
    server.once("error", (error) => resolve(codeOf(error) ?? error.message));
    server.listen(place, () => server.close(() => resolve(null)));
  });
}

function codeOf(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" ? code : null;
}

function text(place: Place | AddressInfo): string {
  const host = "host" in place ? place.host : place.address;
  return `${isIPv6(host) ? `[${host}]` : host}:${place.port}`;
}

/**
 * Serves on a TCP socket that another process opened and keeps open, so that connections wait in it during a restart.
 * Throws a `ListenError`, also if the socket is bound to an address other than `[server] listen`.
 */
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
      // Node ignores the option `backlog` for a descriptor.
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
    // Host names, proxies and TLS are checked against the configured address.
    throw new ListenError(
      `the socket given as descriptor ${fd} ${found}, but [server] listen says ${asked}: make them the same`,
    );
  }
  return {
    url: `${parts.certificate ? "https" : "http"}://${text(address)}`,
    server,
    close: (deadlineMs) => connections.close(deadlineMs),
    renew: (certificate) => secure(server as HttpsServer, certificate),
    leave() {
      // Newcomers wait in the socket for the next daemon.
      NetServer.prototype.close.call(server);
      return connections.leave();
    },
  };
}

/**
 * The number of connections that may wait for the next daemon. Listening again resets it, and the kernel has its own
 * maximum.
 */
const WAITING = 4096;
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/** `localhost` means this machine only, so a socket that others can reach does not match it. */
function isThere(address: AddressInfo, place: Place): boolean {
  if (!isAsAsked(address, place)) return false;
  return place.host !== "localhost" || LOOPBACK.check(address.address, isIPv4(address.address) ? "ipv4" : "ipv6");
}
