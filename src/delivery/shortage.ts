/**
 * Our own faults, an attempt at a time: this process or host ran out of something. The attempt is made again in a
 * second, without a rung; the sender starts fewer at once until then.
 */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Halt } from "../domain/pause.ts";
import type { Log } from "../log.ts";
import { Alarm } from "../alarm.ts";

const AGAIN_MS = 1000;
/** It is over when it was not heard of for so long, which is longer than an attempt waits to be made again. */
const QUIET_MS = 3000;

export interface ShortageParts {
  readonly clock: Clock;
  readonly log: Log;
  /** The delivery takes its turn again. */
  readonly again: (claim: Claim) => void;
}

export class Shortage {
  readonly #parts: ShortageParts;
  readonly #alarm: Alarm;
  #halt: Halt | null = null;
  #waiting: Claim[] = [];
  #cancelEnd: (() => void) | null = null;
  #cancelAgain: (() => void) | null = null;

  constructor(parts: ShortageParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(parts.clock, parts.log);
  }

  /** While it goes on. */
  get halt(): Halt | null {
    return this.#halt;
  }

  /** Nothing of the receiver's: the delivery is sent again. */
  wait(claim: Claim, detail: string): void {
    const { clock } = this.#parts;
    this.#halt = { reason: "shortage", since: this.#halt?.since ?? clock.now(), detail };
    const message = `attempts cannot be made: ${detail}; they are made again, fewer at once, and no delivery loses one`;
    this.#alarm.raise(message, { reason: "shortage" });
    this.#cancelAgain ??= clock.after(AGAIN_MS, () => this.#again());
    this.#waiting.push(claim);
    this.#cancelEnd?.();
    this.#cancelEnd = clock.after(QUIET_MS, () => this.#end());
  }

  /** What waits is on the disk, too. */
  stop(): void {
    this.#cancelEnd?.();
    this.#cancelAgain?.();
  }

  #again(): void {
    this.#cancelAgain = null;
    for (const claim of this.#waiting.splice(0)) this.#parts.again(claim);
  }

  #end(): void {
    this.#halt = null;
    this.#alarm.clear("there is enough again of what attempts had run out of");
  }
}
