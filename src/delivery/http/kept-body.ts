/** The beginning of a response body: what may be kept of it, and how much of it there was. */
export class KeptBody {
  seen = 0;
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.seen += chunk.length;
    if (this.#kept === this.#limit) return;
    // A copy: the chunk is a window into the socket's buffer of 64 KiB and would keep all of it (a Buffer's own `slice` is one too).
    const part = Uint8Array.prototype.slice.call(chunk, 0, this.#limit - this.#kept);
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  get truncated(): boolean {
    return this.seen > this.#kept;
  }

  bytes(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }
}
