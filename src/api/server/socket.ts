/** The unix socket, which listhen cannot open. */
import { chmodSync, chownSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { createServer } from "node:http";
import { type NodeHandler, prepare, type Listener, type ListenerParts } from "./listener.ts";

interface SocketPlace {
  readonly path: string;
  /** 0600, or 0660 with a group. */
  readonly mode: number;
  /** A name, or a number; empty leaves the group as it is. */
  readonly group?: string;
}

/** What `sockaddr_un` holds on Linux, without the closing NUL; Node would cut a longer path without a word. */
const MAX_SOCKET_BYTES = 107;

/**
 * The caller holds the lock of the data directory, so a socket that is
 * already there is stale; and it runs with umask 077, so nobody connects before `mode` is set. A path that cannot be used
 * is a value, because the daemon can serve without it.
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

/** Node cannot ask the name service; a group that is not in this file must be given as a number. */
function groupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  const lines = readFileSync("/etc/group", "utf8").split("\n");
  const id = lines.find((line) => line.startsWith(`${group}:`))?.split(":")[2];
  if (id === undefined) throw new Error(`there is no group ${group} in /etc/group; give its number`);
  return Number(id);
}
