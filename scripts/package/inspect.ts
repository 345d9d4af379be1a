import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** The facts that are read from a file, for executables that cannot be run here. */
export interface Inspection {
  readonly platform: string;
  readonly arch: string;
  /** True if the Node inside will run the packed program instead of acting as Node. */
  readonly packed: boolean;
}

const ELF: Record<number, string> = { 0x3e: "x64", 0xb7: "arm64" };
const MACH: Record<number, string> = { 0x01000007: "x64", 0x0100000c: "arm64" };
const PE: Record<number, string> = { 0x8664: "x64", 0xaa64: "arm64" };
/** Node searches its own file for this text. The packer sets the digit at the end. */
const FUSE = ["NODE_SEA", "FUSE_fce680ab2cc467b6e072b8b5df1996b2:1"].join("_");

export function inspect(file: string): Inspection {
  const head = Buffer.alloc(4096);
  const fd = openSync(file, "r");
  readSync(fd, head);
  closeSync(fd);
  const packed = readFileSync(file).includes(FUSE);
  if (head.readUInt32BE(0) === 0x7f454c46)
    return { platform: "linux", arch: ELF[head.readUInt16LE(18)] ?? "?", packed };
  if (head.readUInt32LE(0) === 0xfeedfacf)
    return { platform: "darwin", arch: MACH[head.readUInt32LE(4)] ?? "?", packed };
  const header = head.readUInt32LE(60);
  if (head.toString("latin1", 0, 2) === "MZ" && header < head.length - 6) {
    return { platform: "win32", arch: PE[head.readUInt16LE(header + 4)] ?? "?", packed };
  }
  return { platform: "?", arch: "?", packed };
}
