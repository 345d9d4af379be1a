/** Counts the deliveries that a job would have, for each endpoint. */
import type { JobPlan, LeftAlone } from "../store.ts";

interface Tally {
  matched: number;
  timedOut: number;
  left: number;
  reason: LeftAlone["reason"] | null;
}

export class PlanTally {
  readonly #tallies = new Map<string, Tally>();

  /** `left` is the reason why the job would leave the delivery alone; null if it would not. */
  add(endpoint: string, left: LeftAlone["reason"] | null, timedOut: boolean): void {
    let tally = this.#tallies.get(endpoint);
    if (tally === undefined) this.#tallies.set(endpoint, (tally = { matched: 0, timedOut: 0, left: 0, reason: null }));
    if (left !== null) {
      tally.left++;
      tally.reason = left;
      return;
    }
    tally.matched++;
    if (timedOut) tally.timedOut++;
  }

  /** The endpoint with the most deliveries is first; of two with as many, the older one. */
  plan(): JobPlan {
    const all = [...this.#tallies].toSorted(
      ([one, a], [other, b]) => b.matched - a.matched || b.left - a.left || (one < other ? -1 : 1),
    );
    return {
      matched: all.reduce((sum, [, { matched }]) => sum + matched, 0),
      endpoints: all
        .filter(([, { matched }]) => matched > 0)
        .map(([endpoint, { matched, timedOut }]) => ({ endpoint, matched, timedOut })),
      left: all.flatMap(([endpoint, { left, reason }]) =>
        reason === null ? [] : [{ endpoint, deliveries: left, reason }],
      ),
    };
  }
}
