/** The unix socket, which listhen cannot open, and the identity of its callers. */
import { chmodSync, chownSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { createServer } from "node:http";
import { type NodeHandler, prepare, type Listener, type ListenerParts } from "./listener.ts";
import type { Socket } from "node:net";
import type { Log } from "../../log.ts";
import type { Koffi } from "../../native.ts";

interface SocketPlace {
  readonly path: string;
  /** 0600, or 0660 with a group. */
  readonly mode: number;
  /** A name or a number. Empty leaves the group as it is. */
  readonly group?: string;
}

/** The size of `sockaddr_un` on Linux without the closing NUL. Node would silently cut a longer path. */
const MAX_SOCKET_BYTES = 107;

/**
 * The caller holds the lock of the data directory, so an existing socket is stale. The process runs with umask 077, so
 * nobody can connect before `mode` is set. For an unusable path this returns the reason, because the daemon can serve
 * without the socket.
 */
export async function openSocket(
  handler: NodeHandler,
  { path, mode, group = "", ...parts }: SocketPlace & ListenerParts,
): Promise<Listener | { readonly refused: string }> {
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES) {
    return { refused: `the path is longer than ${MAX_SOCKET_BYTES} bytes: ${path}` };
  }
  const server = createServer(handler);
  const connections = prepare(server, parts);
  try {
    removeStale(path);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    if (group !== "") chownSync(path, -1, groupId(group));
    chmodSync(path, mode);
  } catch (error) {
    await connections.close(0);
    return { refused: error instanceof Error ? error.message : String(error) };
  }
  const leave = () => connections.leave();
  const close = (deadlineMs: number) => connections.close(deadlineMs);
  return { url: `unix:${path}`, server, leave, close };
}

function removeStale(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`there is a file at ${path} that is not a socket`);
  unlinkSync(path);
}

/** Node cannot ask the name service, so a group that is not in this file must be given as a number. */
function groupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  // Compare bytes, because two names that are not UTF-8 would decode to the same text.
  const lines = readFileSync("/etc/group", "latin1").split("\n");
  const bytes = Buffer.from(group).toString("latin1");
  const id = lines.find((line) => line.startsWith(`${bytes}:`))?.split(":")[2];
  if (id === undefined) throw new Error(`there is no group ${group} in /etc/group; give its number`);
  return Number(id);
}

export interface Peer {
  readonly uid: number;
  /** The login name from /etc/passwd, because Node cannot ask the name service. Null if the file does not list it. */
  readonly user: string | null;
}

type GetSockOpt = (fd: number, level: number, option: number, value: Int32Array, length: number[]) => number;

interface PeersParts {
  /** Throws if koffi cannot be loaded. */
  readonly loadKoffi: () => Koffi;
  readonly log: Log;
  readonly platform: NodeJS.Platform;
}

const DECLARATION = "int getsockopt(int fd, int level, int option, _Out_ int32_t *value, _Inout_ uint32_t *length)";
/** These values are for Linux on x64 and arm64. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

/**
 * Identifies callers on the unix socket. The kernel keeps the uid that a process had when it connected, and
 * getsockopt(SO_PEERCRED) returns it. Node cannot call that, but on Linux koffi can. It is loaded when somebody first
 * changes something over the socket.
 */
export class Peers {
  readonly #parts: PeersParts;
  /** Undefined before the first caller. Null if the kernel cannot be asked. */
  #getsockopt: GetSockOpt | null | undefined;
  #trouble: string | null = null;

  constructor(parts: PeersParts) {
    this.#parts = parts;
    if (parts.platform === "linux") return;
    this.#getsockopt = null;
    this.#trouble = `only the Linux kernel says who is calling, and this is ${parts.platform}`;
  }

  /** Describes why there is no uid. Null if none is known to be missing. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Returns null if the kernel cannot be asked, or the connection is closed. */
  of(socket: Socket): Peer | null {
    const fd = (socket as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
    if (this.#getsockopt === undefined) this.#getsockopt = this.#load();
    if (this.#getsockopt === null || fd < 0) return null;
    // The C struct ucred: pid, uid, gid.
    const credentials = new Int32Array(3);
    if (this.#getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, [credentials.byteLength]) !== 0) return null;
    const uid = credentials[1]! >>> 0;
    return { uid, user: userOf(uid) };
  }

  #load(): GetSockOpt | null {
    try {
      return this.#parts.loadKoffi().load(null).func(DECLARATION) as GetSockOpt;
    } catch (error) {
      // For a missing module, Node adds lines about the modules that required it.
      this.#trouble = (error instanceof Error ? error.message : String(error)).split("\n", 1)[0]!;
      this.#parts.log.warn({ err: error }, "the audit log cannot record the uid of callers over the unix socket");
      return null;
    }
  }
}

function userOf(uid: number): string | null {
  try {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    return lines.map((line) => line.split(":")).find(([, , id]) => id === String(uid))?.[0] ?? null;
  } catch {
    return null;
  }
}
