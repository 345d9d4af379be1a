/** Finds and overwrites pages of a closed database, as a bad disk would. */
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import Database from "better-sqlite3";

export interface PageOf {
  /** The name of the table or index. */
  readonly tree: string;
  readonly page: number;
  readonly kind: "leaf" | "internal" | "overflow";
}

const PAGE_BYTES = 8192;

/**
 * Returns the pages of each table and index. It first moves the write-ahead log into the file: a page that is still in
 * the log would hide the damage.
 */
export function pagesOf(file: string): PageOf[] {
  const db = new Database(file);
  try {
    db.pragma("wal_checkpoint(TRUNCATE)");
    return db.prepare<[], PageOf>("SELECT name AS tree, pageno AS page, pagetype AS kind FROM dbstat").all();
  } finally {
    db.close();
  }
}

/** Writes bytes with which no valid page begins. */
export function overwrite(file: string, page: number): void {
  const bytes = Buffer.alloc(PAGE_BYTES, 0xa7);
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, bytes, 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  closeSync(descriptor);
}

/** Flips one bit in the middle of the page. */
export function flipBit(file: string, page: number): void {
  const byte = Buffer.alloc(1);
  const at = (page - 1) * PAGE_BYTES + PAGE_BYTES / 2;
  const descriptor = openSync(file, "r+");
  readSync(descriptor, byte, 0, 1, at);
  byte[0]! ^= 1;
  writeSync(descriptor, byte, 0, 1, at);
  closeSync(descriptor);
}
