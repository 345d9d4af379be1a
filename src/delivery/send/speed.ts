/**
 * What an endpoint's answers say of how much more it could take at once.
 *
 * An answer that takes much longer than the quickest of late means that requests queue up somewhere, at the receiver or
 * here: more of them at once would be slower, not more. So a cap settles where the endpoint's throughput does, at 30 or
 * so on a fast network, and goes on to its ceiling for a receiver that needs 80 ms for each.
 */
import type { Outcome } from "../../domain/attempt.ts";

/**
 * What an attempt's end says about the receiver: it answered and could take more at once; it answered; no answer came
 * (refused, unreachable, out of time); nothing, because the fault was ours or nothing was sent.
 */
export type Speed = "fast" | "slow" | "silent" | "unknown";

/** No answer that takes longer asks for more. */
const FAST_MS = 1000;
/** Above twice the quickest answer: what a scheduler or a collector may take. */
const SLACK_MS = 2;
/** The quickest answer is forgotten after one to two of these: a receiver may have moved further away. */
const MEMORY_MS = 60_000;

export class Speedometer {
  #quickest = Number.POSITIVE_INFINITY;
  #quickestBefore = Number.POSITIVE_INFINITY;
  #since = Number.NEGATIVE_INFINITY;

  /** `now` is monotonic milliseconds. */
  speedOf(outcome: Outcome, now: number): Speed {
    // Whatever the receiver is: without a route, attempts fail in microseconds.
    if (outcome.evidence === "cut_off") return "silent";
    if (outcome.ours || outcome.error === "payload_corrupt") return "unknown";
    if (outcome.statusCode === null) return "silent";
    const took = outcome.durationMs;
    this.#note(took, now);
    // A refusal asks for nothing, however soon it comes.
    if (outcome.outcome !== "succeeded" || took >= FAST_MS) return "slow";
    return took <= 2 * Math.min(this.#quickest, this.#quickestBefore) + SLACK_MS ? "fast" : "slow";
  }

  #note(took: number, now: number): void {
    if (now - this.#since >= MEMORY_MS) {
      this.#quickestBefore = this.#quickest;
      this.#quickest = Number.POSITIVE_INFINITY;
      this.#since = now;
    }
    if (took < this.#quickest) this.#quickest = took;
  }
}
