/** Why no attempt may start. Each reason comes and goes by itself, and sending goes on once none is left. */
import type { Halt, HaltReason } from "../../domain/deliveries/pause.ts";

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
