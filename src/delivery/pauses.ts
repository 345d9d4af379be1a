/** Why nothing may start. Each reason comes and goes by itself, and sending goes on once none is left. */
import type { Clock } from "../clock.ts";
import type { Halt, HaltReason } from "../domain/pause.ts";
import type { Sending } from "./send/sending.ts";

export class Pauses {
  readonly #sending: Pick<Sending, "pause" | "resume">;
  readonly #clock: Pick<Clock, "now">;
  readonly #reasons = new Map<HaltReason, Halt>();

  constructor(sending: Pick<Sending, "pause" | "resume">, clock: Pick<Clock, "now">) {
    this.#sending = sending;
    this.#clock = clock;
  }

  has(reason: HaltReason): boolean {
    return this.#reasons.has(reason);
  }

  isOnly(reason: HaltReason): boolean {
    return this.#reasons.size === 1 && this.#reasons.has(reason);
  }

  get all(): readonly Halt[] {
    return [...this.#reasons.values()];
  }

  /** Resolves once nothing starts any more: a probe may have been on its way though all else was paused before. */
  begin(reason: HaltReason, detail: string): Promise<void> {
    const since = this.#reasons.get(reason)?.since ?? this.#clock.now();
    this.#reasons.set(reason, { reason, since, detail });
    return this.#sending.pause();
  }

  end(reason: HaltReason): void {
    if (this.#reasons.delete(reason) && this.#reasons.size === 0) this.#sending.resume();
  }
}
