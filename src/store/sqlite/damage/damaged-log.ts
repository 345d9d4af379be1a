/**
 * Looks through a write-ahead log that nothing has opened yet, for committed transactions that SQLite will not take. It
 * reads up to the first frame whose checksum is wrong, and says nothing of what stands behind, which the next commit
 * overwrites. https://www.sqlite.org/fileformat2.html#walformat
 *
 * A tail that is not whole is no damage. A process that dies, or the power cut, may leave a part of the last
 * transaction, in any order of its pages: nobody was told that it was committed. And behind the end stand frames of the
 * rounds before, with other salts, and pages of transactions that were undone, which have no commit among them.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** What stands behind the damage, all of it lost. */
export interface LostLog {
  /** Commits of the present round. Each is of one transaction: a group of requests. */
  readonly transactions: number;
  /** Pages that they wrote. */
  readonly pages: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
/** Of a log whose header does not say it. */
const PAGE_BYTES = 8192;
/** SQLite writes a page of a transaction again in place only if the transaction does not fit into its cache. */
const SMALL_PAGES = 256;

/**
 * Null where nothing that was committed can have been lost. `sameBoot`: the kernel that the last process wrote to is
 * still the one that runs, so that what was written is there in the order in which it was written.
 */
export function lookForLostLog(file: string, { sameBoot }: { readonly sameBoot: boolean }): LostLog | null {
  const log = readLog(file);
  if (log === null) return null;
  try {
    const { transactions, pages, first } = behindDamage(log);
    // Before the second transaction began, the first one was durable, and may have been acknowledged.
    if (transactions >= 2) return { transactions, pages };
    // The last one may never have been durable. Without a power cut it was written whole, or has no commit yet.
    return transactions === 1 && sameBoot && first <= SMALL_PAGES ? { transactions, pages } : null;
  } finally {
    closeSync(log.fd);
  }
}

type Sums = readonly [number, number];

interface Log {
  readonly fd: number;
  readonly frames: number;
  readonly pageBytes: number;
  readonly bigEndian: boolean;
  /** The round's, in every frame of it; null where the header is damaged. */
  readonly salts: Sums | null;
  readonly sums: Sums;
}

/** Null where there is none, or none that was ever begun. */
function readLog(file: string): Log | null {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const { size } = fstatSync(fd);
  const header = Buffer.alloc(HEADER_BYTES);
  // The reserve that a start on a full disk puts in its place is all zeros.
  if (
    size <= HEADER_BYTES ||
    readSync(fd, header, 0, HEADER_BYTES, 0) < HEADER_BYTES ||
    header.every((one) => one === 0)
  ) {
    closeSync(fd);
    return null;
  }
  const said = header.readUInt32BE(8);
  const isSize = said >= 512 && said <= 65_536 && (said & (said - 1)) === 0;
  const pageBytes = isSize ? said : PAGE_BYTES;
  const bigEndian = (header.readUInt32BE(0) & 1) === 1;
  const sums = summed(header.subarray(0, 24), [0, 0], bigEndian);
  const isWhole = (header.readUInt32BE(0) & ~1) === MAGIC && isSize && isEqual(sums, pairAt(header, 24));
  const frames = Math.floor((size - HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes));
  return { fd, frames, pageBytes, bigEndian, salts: isWhole ? pairAt(header, 16) : null, sums };
}

/** `first`: the pages of the first transaction that is not whole, up to its commit. */
function behindDamage({ fd, frames, pageBytes, bigEndian, ...header }: Log) {
  const frame = Buffer.from(new ArrayBuffer(FRAME_HEADER_BYTES + pageBytes));
  let salts = header.salts;
  let sums: Sums | null = salts === null ? null : header.sums;
  let whole = 0;
  const found = { transactions: 0, pages: 0, first: 0 };
  for (let at = 0; at < frames; at++) {
    readSync(fd, frame, 0, frame.length, HEADER_BYTES + at * frame.length);
    // Without a header the first frame must say which round this is.
    salts ??= pairAt(frame, 8);
    const isOfRound = isEqual(pairAt(frame, 8), salts);
    const isCommit = isOfRound && frame.readUInt32BE(4) > 0;
    if (sums !== null) {
      const next = summed(frame.subarray(FRAME_HEADER_BYTES), summed(frame.subarray(0, 8), sums, bigEndian), bigEndian);
      sums = isOfRound && isEqual(next, pairAt(frame, 16)) ? next : null;
      whole++;
      if (sums !== null) {
        if (isCommit) whole = 0;
        continue;
      }
      // Pages before the bad one belong to a transaction that is lost with it.
      found.pages = whole - 1;
    }
    if (isOfRound) found.pages++;
    if (found.transactions === 0) found.first = found.pages;
    if (isCommit) found.transactions++;
  }
  return found;
}

function pairAt(bytes: Buffer, at: number): Sums {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

function isEqual([one, other]: Sums, [first, second]: Sums): boolean {
  return one === first && other === second;
}

function summed(bytes: Buffer, [one, other]: Sums, bigEndian: boolean): Sums {
  let [first, second] = [one, other];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + second) >>> 0;
    second = (second + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + first) >>> 0;
  }
  return [first, second];
}
