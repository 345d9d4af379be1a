/** Why nothing may start. Each reason comes and goes by itself, and sending goes on once none is left. */
import type { Sending } from "./sending.ts";

/**
 * - `operator`: the brake is on.
 * - `unrecorded`: what ended cannot be written down.
 * - `unreachable`: nothing can be reached, so only probes are made.
 * - `shortage`: this process or host ran out of something.
 * - `stopping`: for good.
 */
export type PauseReason = "operator" | "unrecorded" | "unreachable" | "shortage" | "stopping";

export class Pauses {
  readonly #sending: Pick<Sending, "pause" | "resume">;
  readonly #reasons = new Set<PauseReason>();

  constructor(sending: Pick<Sending, "pause" | "resume">) {
    this.#sending = sending;
  }

  has(reason: PauseReason): boolean {
    return this.#reasons.has(reason);
  }

  isOnly(reason: PauseReason): boolean {
    return this.#reasons.size === 1 && this.#reasons.has(reason);
  }

  /** Resolves once nothing starts any more: a probe may have been on its way though all else was paused before. */
  begin(reason: PauseReason): Promise<void> {
    this.#reasons.add(reason);
    return this.#sending.pause();
  }

  end(reason: PauseReason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#sending.resume();
  }
}
