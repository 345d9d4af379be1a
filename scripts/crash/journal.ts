/**
 * Writes lines of JSON, each durable before its writer goes on. Lines that arrive in the meantime share the next fsync.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { unawaited } from "../../src/domain/unawaited.ts";

const CHUNK_BYTES = 1 << 20;
const LINE_END = 0x0a;

interface Waiting {
  readonly text: string;
  resolve(): void;
  reject(error: unknown): void;
}

export class Journal {
  readonly #handle: FileHandle;
  #waiting: Waiting[] = [];
  #writing = false;

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  static async open(file: string): Promise<Journal> {
    return new Journal(await open(file, "a"));
  }

  /** Resolves once all of the entries are durable. */
  append(...entries: readonly object[]): Promise<void> {
    const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      if (!this.#writing) unawaited(this.#write());
    });
  }

  async close(): Promise<void> {
    await this.append();
    await this.#handle.close();
  }

  async #write(): Promise<void> {
    this.#writing = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await this.#handle.appendFile(batch.map(({ text }) => text).join(""));
        await this.#handle.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = false;
  }
}

/** Yields the entries one by one, because the millions of entries of a hundred rounds do not fit into a heap. */
export function* readJournal<T>(file: string): Generator<T, void, undefined> {
  const handle = openSync(file, "r");
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = Buffer.alloc(0);
    for (let length: number; (length = readSync(handle, chunk)) > 0;) {
      const text = Buffer.concat([rest, chunk.subarray(0, length)]);
      const end = text.lastIndexOf(LINE_END) + 1;
      rest = text.subarray(end);
      for (const line of text.toString("utf8", 0, end).split("\n")) if (line !== "") yield JSON.parse(line) as T;
    }
  } finally {
    closeSync(handle);
  }
}

/** Milliseconds of the system's monotonic clock, which all processes of a host share. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
