/**
 * Who is at the other end of the unix socket. The kernel keeps the uid that a process had when it connected, and says it
 * to getsockopt(SO_PEERCRED), which Node cannot call: a foreign function interface does, on Linux, loaded when somebody
 * first changes something over the socket.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";

export interface Peer {
  readonly uid: number;
  /** The login name in /etc/passwd: Node cannot ask the name service. Null where that file has none. */
  readonly user: string | null;
}

type GetSockOpt = (fd: number, level: number, option: number, value: Int32Array, length: number[]) => number;

const PACKAGE = `@koromix/koffi-${process.platform}-${process.arch}`;
const DECLARATION = "int getsockopt(int fd, int level, int option, _Out_ int32_t *value, _Inout_ uint32_t *length)";
/** As Linux numbers them on x64 and arm64. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** Null where it cannot be had: another system, or the executable, which carries no such addon. */
let getsockopt: GetSockOpt | null | undefined;

/** Null where the kernel cannot be asked, and of a connection that is over. */
export function peerOf(socket: Socket): Peer | null {
  const fd = (socket as { _handle?: { fd?: number } | null })._handle?.fd ?? -1;
  if (getsockopt === undefined) getsockopt = load();
  if (getsockopt === null || fd < 0) return null;
  // struct ucred: pid, uid, gid.
  const credentials = new Int32Array(3);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, [credentials.byteLength]) !== 0) return null;
  const uid = credentials[1]! >>> 0;
  return { uid, user: userOf(uid) };
}

function load(): GetSockOpt | null {
  if (process.platform !== "linux") return null;
  try {
    const koffi = createRequire(import.meta.url)(PACKAGE);
    return koffi.load(null).func(DECLARATION);
  } catch {
    return null;
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
