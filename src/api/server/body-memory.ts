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

/** Without a long body for so long, what is kept for the next ones is freed. */
const KEPT_MS = 5000;

/** For long bodies, and kept for the next ones: it neither grows nor shrinks with each of them. */
export class BodyMemory {
  readonly #clock: Clock;
  readonly #kept = new Map<number, ArrayBuffer[]>();
  readonly #taken = new WeakSet<ArrayBufferLike>();
  #usedAt = 0;
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What was there before is still in it. */
  take(bytes: number): Buffer {
    this.#usedAt = this.#clock.monotonic();
    // The pages of what is not used are never touched.
    const size = 2 ** Math.ceil(Math.log2(bytes));
    const memory = this.#kept.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size).buffer;
    this.#taken.add(memory);
    return Buffer.from(memory, 0, bytes);
  }

  /** Of a body that nobody reads again, whether it was taken here or not. */
  giveBack(body: Uint8Array): void {
    const memory = body.buffer as ArrayBuffer;
    if (!this.#taken.delete(memory)) return giveBack(body);
    const kept = this.#kept.get(memory.byteLength);
    if (kept === undefined) this.#kept.set(memory.byteLength, [memory]);
    else kept.push(memory);
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#clock.after(KEPT_MS, () => {
      this.#isWatching = false;
      if (this.#clock.monotonic() - this.#usedAt < KEPT_MS) return this.#watch();
      for (const memory of [...this.#kept.values()].flat()) memory.transfer(0);
      this.#kept.clear();
    });
  }
}
