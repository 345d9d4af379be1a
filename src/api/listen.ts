/**
 * Where requests come in. The only file that knows listhen, and its traps: it turns port 0 and the ports that browsers
 * refuse into 3000, hides why a port failed, looks for a free port before it binds one, takes no options for the server
 * it makes, and leaves a failed bind to the process.
 */
import diagnostics from "node:diagnostics_channel";
import { chmodSync, chownSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { createServer, Server } from "node:http";
import { createServer as createProbe, isIP, isIPv6, type AddressInfo } from "node:net";
import { listen, type Listener as Listhen } from "listhen";
import type { Log } from "../log.ts";
import type { NodeHandler } from "./app.ts";
import { bound, endWithin } from "./bounds.ts";

export interface Listener {
  /** With the port that was really bound, without a slash at the end; `unix:` and the path for a socket. */
  readonly url: string;
  readonly server: Server;
  /** Takes no more connections, waits for running requests, and cuts what is left at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/** Its message says which address could not be bound, why, and what to do. */
export class ListenError extends Error {
  override readonly name = "ListenError";
}

interface Place {
  readonly host: string;
  /** 0 means any free one. */
  readonly port: number;
}

interface SocketPlace {
  readonly path: string;
  /** 0600, or 0660 with a group. */
  readonly mode: number;
  /** A name, or a number; empty leaves the group as it is. */
  readonly group?: string;
}

const RACES = 5;
/** What `sockaddr_un` holds on Linux, without the closing NUL; Node would cut a longer path without a word. */
const MAX_SOCKET_BYTES = 107;
const ADVICE: Record<string, string> = {
  EADDRINUSE: "another program listens there; stop it, or choose another port with --listen or [server] listen",
  EACCES: "this user may not bind that port; choose one above 1023 with --listen or [server] listen",
  EADDRNOTAVAIL: "this host does not have that address; see --listen or [server] listen",
  ENOTFOUND: "that name does not resolve; see --listen or [server] listen",
};

/** Throws a `ListenError`. */
export async function openListener(handler: NodeHandler, { host, port, log }: Place & { log: Log }): Promise<Listener> {
  for (let race = 1; ; race++) {
    try {
      const listener = await startListhen(handler, { host, port }, log);
      const server = listener.server as Server;
      const address = server.address() as AddressInfo;
      const close = (deadlineMs: number) => endWithin(deadlineMs, server, () => listener.close());
      if (isAsAsked(address, { host, port })) return { url: urlOf(address), server, close };
      await close(0);
      throw new ListenError(`cannot listen on ${text({ host, port })}: the HTTP server does not take this address`);
    } catch (error) {
      // With port 0 somebody else took the free port between its choice and our bind.
      if (port === 0 && race < RACES && codeOf(error) === "EADDRINUSE") continue;
      throw error instanceof ListenError ? error : await explained(error, { host, port });
    }
  }
}

/**
 * The unix socket, which listhen cannot open. The caller holds the lock of the data directory, so a socket that is
 * already there is stale; and it runs with umask 077, so nobody connects before `mode` is set. A path that cannot be used
 * is a value, because the daemon can serve without it.
 */
export async function openSocket(
  handler: NodeHandler,
  { path, mode, group = "", log }: SocketPlace & { log: Log },
): Promise<Listener | { readonly refused: string }> {
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES) {
    return { refused: `the path is longer than ${MAX_SOCKET_BYTES} bytes: ${path}` };
  }
  const server = createServer(handler);
  bound(server, log);
  const end = () => new Promise<void>((resolve) => server.close(() => resolve()));
  try {
    removeStale(path);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    if (group !== "") chownSync(path, -1, groupId(group));
    chmodSync(path, mode);
  } catch (error) {
    await end();
    return { refused: error instanceof Error ? error.message : String(error) };
  }
  return { url: `unix:${path}`, server, close: (deadlineMs) => endWithin(deadlineMs, server, end) };
}

/**
 * listhen's promise never settles when the bind fails, and Node reads the interval of its time-limit checks when the
 * server begins to listen: both need the server before listhen hands it out, which Node's own channel does.
 */
async function startListhen(handler: NodeHandler, { host, port }: Place, log: Log): Promise<Listhen> {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Of its own, so that its server is known among others that start at the same time.
  const own: NodeHandler = (req, res) => handler(req, res);
  const onListen = (message: unknown) => {
    const { server } = message as { server: unknown };
    if (!(server instanceof Server) || !server.listeners("request").includes(own)) return;
    server.once("error", reject);
    bound(server, log);
  };
  diagnostics.subscribe("tracing:net.server.listen:asyncStart", onListen);
  try {
    const options = { hostname: host, showURL: false, autoClose: false, isProd: true, isTest: true };
    return await Promise.race([listen(own, { ...options, port: port === 0 ? { random: true } : port }), failed]);
  } finally {
    diagnostics.unsubscribe("tracing:net.server.listen:asyncStart", onListen);
  }
}

function isAsAsked(address: AddressInfo, { host, port }: Place): boolean {
  if (port !== 0 && address.port !== port) return false;
  if (isIP(host) === 0) return true;
  return new URL(urlOf(address)).hostname === new URL(urlOf({ ...address, address: host })).hostname;
}

/** Asks the system for the reason that listhen left out. */
async function explained(cause: unknown, place: Place): Promise<ListenError> {
  const code = codeOf(cause) ?? (await probe(place));
  const reason = code === null ? "the HTTP server does not take this port; choose another" : (ADVICE[code] ?? code);
  return new ListenError(`cannot listen on ${text(place)}: ${reason}`, { cause });
}

function probe(place: Place): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createProbe();
    server.once("error", (error) => resolve(codeOf(error) ?? error.message));
    server.listen(place, () => server.close(() => resolve(null)));
  });
}

function removeStale(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`there is a file at ${path} that is no socket`);
  unlinkSync(path);
}

/** Node cannot ask the name service; a group that is not in this file must be given as a number. */
function groupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const lines = readFileSync("/etc/group", "utf8").split("\n");
  const id = lines.find((line) => line.startsWith(`${group}:`))?.split(":")[2];
  if (id === undefined) throw new Error(`there is no group ${group} in /etc/group; give its number`);
  return Number(id);
}

function codeOf(error: unknown): string | null {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" ? code : null;
}

function urlOf({ address, port }: AddressInfo): string {
  return `http://${text({ host: address, port })}`;
}

function text({ host, port }: Place): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
