/** Reads the log that recorder.c writes: the disk operations of a process, in order. */
import { readFileSync } from "node:fs";

export type Operation =
  | { readonly kind: "create" | "mkdir"; readonly inode: bigint; readonly path: string }
  | { readonly kind: "write"; readonly inode: bigint; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly inode: bigint; readonly bytes: number }
  | { readonly kind: "sync"; readonly inode: bigint }
  | { readonly kind: "rename" | "link"; readonly path: string; readonly to: string }
  | { readonly kind: "unlink"; readonly path: string };

/** An operation, and the length of the log after it. */
export type Recorded = Operation & { readonly end: number };

/** The numbers in recorder.c. */
const KINDS = [null, "create", "write", "truncate", "sync", "rename", "unlink", "mkdir", "link"] as const;
const HEADER_BYTES = 32;

/** @throws {Error} if the log is truncated or is not a log */
export function readRecording(file: string): Recorded[] {
  const log = readFileSync(file);
  const operations: Recorded[] = [];
  let at = 0;
  while (at < log.length) {
    const kind = KINDS[log.readUInt32LE(at)];
    const pathBytes = log.readUInt32LE(at + 4);
    const inode = log.readBigUInt64LE(at + 8);
    const offset = Number(log.readBigUInt64LE(at + 16));
    const secondBytes = log.readUInt32LE(at + 24);
    const dataBytes = log.readUInt32LE(at + 28);
    const pathAt = at + HEADER_BYTES;
    const dataAt = pathAt + pathBytes + secondBytes;
    const end = dataAt + dataBytes;
    if (kind === undefined || kind === null || end > log.length)
      throw new Error(`the recording is damaged at byte ${at}`);
    const path = log.toString("utf8", pathAt, pathAt + pathBytes);
    const to = log.toString("utf8", pathAt + pathBytes, dataAt);
    if (kind === "write") operations.push({ kind, inode, offset, data: log.subarray(dataAt, end), end });
    else if (kind === "truncate") operations.push({ kind, inode, bytes: offset, end });
    else if (kind === "sync") operations.push({ kind, inode, end });
    else if (kind === "create" || kind === "mkdir") operations.push({ kind, inode, path, end });
    else if (kind === "unlink") operations.push({ kind, path, end });
    else operations.push({ kind, path, to, end });
    at = end;
  }
  return operations;
}
