/** Our own fault: this process or host ran out of something. Nothing starts until it had time to recover. */
import type { Clock } from "../clock.ts";
import type { Claim } from "../domain/delivery.ts";
import type { Log } from "../log.ts";
import type { Pauses } from "./pauses.ts";

const PAUSE_MS = 1000;

export interface ShortageParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly pauses: Pick<Pauses, "begin" | "end">;
  /** The delivery takes its turn again. */
  readonly again: (claim: Claim) => void;
}

export class Shortage {
  readonly #parts: ShortageParts;
  #cancelEnd: (() => void) | null = null;

  constructor(parts: ShortageParts) {
    this.#parts = parts;
  }

  /** Nothing of the receiver's: the delivery is sent again, without a rung. */
  wait(claim: Claim, detail: string): void {
    const { again, clock, log, pauses } = this.#parts;
    log.error({ event: claim.event, endpoint: claim.endpoint }, `no attempt can be made: ${detail}`);
    void pauses.begin("shortage");
    again(claim);
    this.#cancelEnd?.();
    this.#cancelEnd = clock.after(PAUSE_MS, () => pauses.end("shortage"));
  }
}
