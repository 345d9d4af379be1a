/** V9: the deliveries in memory stay within their limit. Nothing shows that from outside, so this looks inside. */
import { Executor } from "../../src/delivery/executor.ts";
import type { Memory } from "../../src/delivery/memory/memory.ts";
import type { Kinds } from "./kinds.ts";

/** While memory is full, no endpoint may keep this many deliveries, except until they are given back. */
const FEW = 32;
const GIVEN_BACK_MS = 2000;

export class MemoryWatch {
  readonly #kinds: Kinds;
  readonly #monotonic: () => number;
  readonly #violations: string[];
  #last: Memory | null = null;
  #overSince: number | null = null;

  constructor(kinds: Kinds, monotonic: () => number, violations: string[]) {
    this.#kinds = kinds;
    this.#monotonic = monotonic;
    this.#violations = violations;
  }

  /** Looks at memory after each transition, until the returned function is called. */
  begin(): () => void {
    const real = Executor.prototype.do;
    const saw = (memory: Memory) => this.#saw(memory);
    Executor.prototype.do = function (this: Executor, effects) {
      real.call(this, effects);
      saw(this.memory);
    };
    return () => void (Executor.prototype.do = real);
  }

  /** Checks the end of a run, when no delivery may be left in memory. */
  check(): void {
    const { loaded, bytes } = this.#last!.windows;
    if (loaded !== 0 || bytes !== 0) this.#violations.push(`V9: ${loaded} are loaded at the end, ${bytes} bytes`);
  }

  #saw(memory: Memory): void {
    if (memory !== this.#last) this.#overSince = null;
    this.#last = memory;
    const { commits, crashAtAwait, disk, outages, shortages } = this.#kinds;
    // Deliveries that cannot be given back, or that wait for a verdict, stay in memory.
    if (commits || crashAtAwait || disk || outages || shortages) return;
    const { windows } = memory;
    const isOver = windows.isFull && [...windows.endpoints()].some((each) => windows.of(each).loaded.size >= FEW);
    const now = this.#monotonic();
    this.#overSince = isOver ? (this.#overSince ?? now) : null;
    if (this.#overSince === null || now - this.#overSince < GIVEN_BACK_MS) return;
    this.#violations.push(`V9: ${windows.bytes} bytes have been loaded for ${GIVEN_BACK_MS} ms`);
    this.#overSince = null;
  }
}
