/** Why no attempt may start, or fewer than could. */
import type { Claim } from "../../domain/deliveries/delivery.ts";
import type { Halt, HaltReason } from "../../domain/deliveries/pause.ts";
import type { Now } from "./clock.ts";

/** Why no attempt may start. Each reason comes and goes by itself, and sending goes on once none is left. */
export class Halts {
  /** While deliveries that may have killed the process go alone, nothing else is handed to the sender. */
  onTrial = false;
  readonly #reasons = new Map<HaltReason, Halt>();

  has(reason: HaltReason): boolean {
    return this.#reasons.has(reason);
  }

  isOnly(reason: HaltReason): boolean {
    return this.#reasons.size === 1 && this.#reasons.has(reason);
  }

  get all(): readonly Halt[] {
    return [...this.#reasons.values()];
  }

  get stopping(): boolean {
    return this.has("stopping");
  }

  /** `now` is of the wall clock. */
  begin(reason: HaltReason, detail: string, now: number): void {
    const since = this.#reasons.get(reason)?.since ?? now;
    this.#reasons.set(reason, { reason, since, detail });
  }

  /** Whether sending goes on by this. */
  end(reason: HaltReason): boolean {
    return this.#reasons.delete(reason) && this.#reasons.size === 0;
  }
}

const AGAIN_MS = 1000;
/** It is over when it was not heard of for so long, which is longer than an attempt waits to be made again. */
const QUIET_MS = 3000;

/**
 * Our own faults, an attempt at a time: this process or host ran out of something. The attempt is made again in a
 * second and uses no rung; the sender starts fewer at once until then.
 */
export class Shortage {
  /** While it goes on. */
  halt: Halt | null = null;
  #waiting: Claim[] = [];
  /** When `timePassed` has something to do, in monotonic milliseconds; Infinity when nothing waits and it is over. */
  wakeAt = Number.POSITIVE_INFINITY;
  #againAt = Number.POSITIVE_INFINITY;
  #overAt = Number.POSITIVE_INFINITY;

  /** The attempt was not the receiver's fault: the delivery waits to be sent again. */
  wait(claim: Claim, detail: string, now: Now): void {
    this.halt = { reason: "shortage", since: this.halt?.since ?? now.wall, detail };
    this.#againAt = Math.min(this.#againAt, now.monotonic + AGAIN_MS);
    this.#overAt = now.monotonic + QUIET_MS;
    this.wakeAt = this.#againAt;
    this.#waiting.push(claim);
  }

  /** The answer is what takes its turn again, and whether the shortage is over. */
  timePassed(now: number): { readonly again: readonly Claim[]; readonly isOver: boolean } {
    const again = now >= this.#againAt ? this.#waiting.splice(0) : [];
    if (now >= this.#againAt) this.#againAt = Number.POSITIVE_INFINITY;
    const isOver = now >= this.#overAt;
    if (isOver) {
      this.#overAt = Number.POSITIVE_INFINITY;
      this.halt = null;
    }
    this.wakeAt = Math.min(this.#againAt, this.#overAt);
    return { again, isOver };
  }

  /** What waits is on the disk, too. */
  stop(): void {
    this.wakeAt = this.#againAt = this.#overAt = Number.POSITIVE_INFINITY;
  }
}
