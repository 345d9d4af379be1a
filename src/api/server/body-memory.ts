/**
 * The memory for request bodies. V8 counts it although it lies outside its heap. Whenever it has grown by about the
 * size of the heap, V8 runs a full collection, which blocks everyone. So long bodies are freed explicitly or reused.
 */
import type { Clock } from "../../clock.ts";

/** Shorter bodies are collected quickly. */
const LONG_BYTES = 16 * 1024;

/** Frees the memory of bytes that nobody will read again, unless others share it. */
export function giveBack(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength > LONG_BYTES && byteLength === buffer.byteLength) (buffer as ArrayBuffer).transfer(0);
}

/** Moves the chunks into `whole`, so that the last one ends at `end`. */
export function pour(chunks: Buffer[], end: number, whole: Buffer): Buffer {
  for (let last = chunks.pop(); last !== undefined; last = chunks.pop()) {
    whole.set(last, (end -= last.length));
    giveBack(last);
  }
  return whole;
}

/** Memory that is unused for this long is freed. */
const IDLE_MS = 5000;
/** The maximum amount of memory that is kept: as many bytes as may be in flight by default. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The free buffers of one size. */
interface Kept {
  readonly free: ArrayBuffer[];
  /** The number of buffers that were not used since the last check. */
  idle: number;
}

/** Keeps the memory of long bodies for the next ones, so that memory use does not rise and fall with each of them. */
export class BodyMemory {
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept>();
  /** The views that were handed out. Returning a view twice must not free memory that another body uses by then. */
  readonly #taken = new WeakSet<Uint8Array>();
  readonly #own = new WeakSet<ArrayBufferLike>();
  #bytes = 0;
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns memory that still contains earlier bytes. */
  take(bytes: number): Buffer {
    // Rounding up costs no memory, because unused pages are never touched.
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const kept = this.#kept.get(size);
    const known = kept?.free.pop();
    if (known !== undefined) {
      kept!.idle = Math.min(kept!.idle, kept!.free.length);
      this.#bytes -= size;
    }
    const memory = known ?? Buffer.allocUnsafeSlow(size).buffer;
    this.#own.add(memory);
    const body = Buffer.from(memory, 0, bytes);
    this.#taken.add(body);
    return body;
  }

  /** Takes back a body that nobody will read again. It may also come from elsewhere. */
  giveBack(body: Uint8Array): void {
    const memory = body.buffer as ArrayBuffer;
    if (!this.#own.has(memory)) return giveBack(body);
    if (!this.#taken.delete(body)) return;
    const size = memory.byteLength;
    if (this.#bytes + size > MOST_BYTES) return void memory.transfer(0);
    this.#bytes += size;
    const kept = this.#kept.get(size) ?? { free: [], idle: 0 };
    this.#kept.set(size, kept);
    kept.free.push(memory);
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#clock.after(IDLE_MS, () => {
      this.#isWatching = false;
      for (const [size, kept] of this.#kept) {
        // Buffers are taken from the end, so the idle ones are at the front.
        for (const memory of kept.free.splice(0, kept.idle)) memory.transfer(0);
        this.#bytes -= size * kept.idle;
        kept.idle = kept.free.length;
      }
      if (this.#bytes > 0) this.#watch();
    });
  }
}
