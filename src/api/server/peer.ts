/**
 * Who is at the other end of the unix socket. The kernel keeps the uid that a process had when it connected, and says it
 * to getsockopt(SO_PEERCRED), which Node cannot call: koffi does, on Linux, loaded when somebody first changes something
 * over the socket.
 */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { Log } from "../../log.ts";

export interface Peer {
  readonly uid: number;
  /** The login name in /etc/passwd: Node cannot ask the name service. Null where that file has none. */
  readonly user: string | null;
}

type GetSockOpt = (fd: number, level: number, option: number, value: Int32Array, length: number[]) => number;

/** As much of koffi as is used. */
interface Koffi {
  load(library: null): { func(declaration: string): GetSockOpt };
}

interface PeersParts {
  /** Throws where it cannot be had. */
  readonly loadKoffi: () => unknown;
  readonly log: Log;
  readonly platform: NodeJS.Platform;
}

const DECLARATION = "int getsockopt(int fd, int level, int option, _Out_ int32_t *value, _Inout_ uint32_t *length)";
/** As Linux numbers them on x64 and arm64. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;

export class Peers {
  readonly #parts: PeersParts;
  /** Undefined before the first caller; null where the kernel cannot be asked. */
  #getsockopt: GetSockOpt | null | undefined;
  #trouble: string | null = null;

  constructor(parts: PeersParts) {
    this.#parts = parts;
    if (parts.platform === "linux") return;
    this.#getsockopt = null;
    this.#trouble = `only the Linux kernel says who is calling, and this is ${parts.platform}`;
  }

  /** Why there is no uid; null when there is one, as far as is known. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Null where the kernel cannot be asked, and of a connection that is over. */
  of(socket: Socket): Peer | null {
    const fd = (socket as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
    if (this.#getsockopt === undefined) this.#getsockopt = this.#load();
    if (this.#getsockopt === null || fd < 0) return null;
    // struct ucred: pid, uid, gid.
    const credentials = new Int32Array(3);
    if (this.#getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, [credentials.byteLength]) !== 0) return null;
    const uid = credentials[1]! >>> 0;
    return { uid, user: userOf(uid) };
  }

  #load(): GetSockOpt | null {
    try {
      return (this.#parts.loadKoffi() as Koffi).load(null).func(DECLARATION);
    } catch (error) {
      // Of a module that is not found Node says more lines, about who asked for it.
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
