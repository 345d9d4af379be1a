/**
 * The memory that bodies come in. V8 counts it although it is outside its heap, and collects all of its garbage each time
 * that this has grown by about as much as the heap, while everybody waits. So what is long is not left to be collected.
 */
import type { Clock } from "../../clock.ts";

/** Less than that is quickly collected. */
const LONG_BYTES = 16 * 1024;

/** Gives the memory of bytes that nobody reads again back at once, if it is theirs alone. */
export function giveBack(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength > LONG_BYTES && byteLength === buffer.byteLength) (buffer as ArrayBuffer).transfer(0);
}

/** Moves what came into `whole`, where it ends at `end`. */
export function pour(chunks: Buffer[], end: number, whole: Buffer): Buffer {
  for (let last = chunks.pop(); last !== undefined; last = chunks.pop()) {
    whole.set(last, (end -= last.length));
    giveBack(last);
  }
  return whole;
}

/** What nobody needed for so long is freed. */
const IDLE_MS = 5000;
/** Never more than this is kept, as many bytes as may be in flight by default. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Of one size. */
interface Kept {
  readonly free: ArrayBuffer[];
  /** How many of them nobody needed since the last look. */
  idle: number;
}

/** For long bodies, and kept for the next ones: it neither grows nor shrinks with each of them. */
export class BodyMemory {
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept>();
  /** By the very view that was handed out, so that one that is given back twice is not taken for the next one's. */
  readonly #taken = new WeakSet<Uint8Array>();
  readonly #own = new WeakSet<ArrayBufferLike>();
  #bytes = 0;
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What was there before is still in it. */
  take(bytes: number): Buffer {
    // The pages of what is not used are never touched.
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

  /** Of a body that nobody reads again, whether it was taken here or not. */
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
        // The last ones are taken first.
        for (const memory of kept.free.splice(0, kept.idle)) memory.transfer(0);
        this.#bytes -= size * kept.idle;
        kept.idle = kept.free.length;
      }
      if (this.#bytes > 0) this.#watch();
    });
  }
}
