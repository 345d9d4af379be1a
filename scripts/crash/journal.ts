/** Lines of JSON that are on the disk before whoever wrote them goes on; lines that come meanwhile share the next fsync. */
import { createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { createInterface } from "node:readline";

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
      if (!this.#writing) void this.#write();
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

/** Line by line: a hundred rounds write more than a string can hold. */
export async function readJournal<T>(file: string): Promise<T[]> {
  const entries: T[] = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (line !== "") entries.push(JSON.parse(line) as T);
  }
  return entries;
}

/** Milliseconds of the system's monotonic clock, which all processes of a host share. */
export function monotonic(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
