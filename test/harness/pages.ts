/** Pages of a database that nobody has open, to be overwritten as a bad disk would. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import Database from "better-sqlite3";

export interface PageOf {
  /** The table or index. */
  readonly tree: string;
  readonly page: number;
  readonly kind: "leaf" | "internal" | "overflow";
}

const PAGE_BYTES = 8192;

/** What is in the write-ahead log is moved into the file first: only there can it be overwritten for good. */
export function pagesOf(file: string): PageOf[] {
  const db = new Database(file);
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
    return db.prepare<[], PageOf>("SELECT name AS tree, pageno AS page, pagetype AS kind FROM dbstat").all();
  } finally {
    db.close();
  }
}

/** Bytes that no page begins with. */
export function overwrite(file: string, page: number): void {
  const bytes = Buffer.alloc(PAGE_BYTES, 0xa7);
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, bytes, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(descriptor);
}

/** One bit, in the middle of the page. */
export function flipBit(file: string, page: number): void {
  const byte = Buffer.alloc(1);
  const at = (page - 1) * PAGE_BYTES + PAGE_BYTES / 2;
  const descriptor = openSync(file, "r+");
  readSync(descriptor, byte, 0, 1, at);
  byte[0]! ^= 1;
  writeSync(descriptor, byte, 0, 1, at);
  closeSync(descriptor);
}
