/**
 * Searches a write-ahead log, before anything opens it, for committed transactions that SQLite will ignore. SQLite
 * reads up to the first frame with a wrong checksum, and says nothing about the frames after it, which the next commit
 * overwrites. https://www.sqlite.org/fileformat2.html#walformat
 *
 * An incomplete tail is not damage. A crash or a power cut may leave part of the last transaction, with its pages in
 * any order, and nobody was told that it was committed. After the end there are also frames of earlier rounds, with
 * other salts, and pages of transactions that were undone, which have no commit among them.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/** The transactions after the damage, all of which are lost. */
export interface LostLog {
  /** The number of commits of the present round. Each is one transaction: a group of requests. */
  readonly transactions: number;
  /** The number of pages that they wrote. */
  readonly pages: number;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
/** The page size if the header does not give it. */
const PAGE_BYTES = 8192;
/** SQLite rewrites a page of a transaction in place only if the transaction does not fit into its cache. */
const SMALL_PAGES = 256;

/**
 * Returns null if no committed transaction can be lost. `sameBoot` is true if the kernel to which the last process
 * wrote is still running, so that the file has everything in the order in which it was written.
 */
export function lookForLostLog(file: string, { sameBoot }: { readonly sameBoot: boolean }): LostLog | null {
  const log = readLog(file);
  if (log === null) return null;
  try {
    const { transactions, pages, first } = behindDamage(log);
    // The first transaction was durable before the second one began, and may have been acknowledged.
    if (transactions >= 2) return { transactions, pages };
    // The last transaction may never have been durable. Without a power cut it was written whole, or has no commit yet.
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
  /** The salts of the round, which are in each of its frames. Null if the header is damaged. */
  readonly salts: Sums | null;
  readonly sums: Sums;
}

/** Returns null if there is no log, or none that was ever begun. */
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

/** `first` is the number of pages of the first incomplete transaction, up to its commit. */
function behindDamage({ fd, frames, pageBytes, bigEndian, ...header }: Log) {
  const frame = Buffer.from(new ArrayBuffer(FRAME_HEADER_BYTES + pageBytes));
  let salts = header.salts;
  let sums: Sums | null = salts === null ? null : header.sums;
  let whole = 0;
  const found = { transactions: 0, pages: 0, first: 0 };
  for (let at = 0; at < frames; at++) {
    readSync(fd, frame, 0, frame.length, HEADER_BYTES + at * frame.length);
    // Without a header, the first frame must show which round this is.
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
