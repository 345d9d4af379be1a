/**
 * Bytes from outside as text. Node's own decoding puts U+FFFD in the place of what is not UTF-8, so that different bytes
 * become the same text: a wrong passphrase would open a backup, and a folder beside the real one would be made.
 */
import { isUtf8 } from "node:buffer";

/** The message goes on after the name of what was read: `FILE:2: is not UTF-8`. */
export class NotUtf8 extends Error {
  override readonly name = "NotUtf8";
  /** From 1. */
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

/** Whether Node may have replaced bytes in a text that it decoded before we could see them: words, variables, names. */
export function mayBeReplaced(text: string): boolean {
  return text.includes("\ufffd");
}

/** No character of several bytes contains a line end, so each line can be judged alone. */
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
