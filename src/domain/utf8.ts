/**
 * Decodes bytes from outside as text. Node's own decoding replaces invalid UTF-8 by U+FFFD, so that different bytes
 * become the same text. Then a wrong passphrase could open a backup, or a folder could be created beside the real one.
 */
import { isUtf8 } from "node:buffer";

/** The message continues the name of the input: `FILE:2: is not UTF-8`. */
export class NotUtf8 extends Error {
  override readonly name = "NotUtf8";
  /** Counts from 1. */
  readonly line: number;

  constructor(line: number) {
    super(`:${line}: is not UTF-8`);
    this.line = line;
  }
}

/** Throws NotUtf8. A byte-order mark stays, as U+FEFF. */
export function utf8Of(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new NotUtf8(wrongLine(bytes));
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

/**
 * True if Node may have replaced bytes of a text that it decoded before we could check it: arguments, variables, file
 * names.
 */
export function mayBeReplaced(text: string): boolean {
  return text.includes("\ufffd");
}

/** A multi-byte character never contains a line end, so each line can be checked alone. */
function wrongLine(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    if (end < 0 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
    line++;
  }
}
