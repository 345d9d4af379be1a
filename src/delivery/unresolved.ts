/**
 * Attempts that ended because no DNS said anything of the receiver's name. Whose fault that was is found out by asking
 * this host's resolvers for something that any of them knows: if they answer nothing, the fault is ours.
 */
import type { Clock } from "../clock.ts";
import { noResponse } from "../domain/attempt.ts";
import type { AskResolvers } from "./http/this-host.ts";
import type { EndedClaim } from "./recorder.ts";

/** However many resolvers there are, and however patient the one who asks. */
const PATIENCE_MS = 3000;

export interface UnresolvedParts {
  readonly clock: Clock;
  readonly ask: AskResolvers;
  /** Their outcomes say now whose fault they were. */
  readonly onKnown: (ended: readonly EndedClaim[]) => void;
  /** They said something after they had not. */
  readonly onAnswered: () => void;
}

export class Unresolved {
  #wasInVain = false;
  readonly #parts: UnresolvedParts;
  #kept: EndedClaim[] = [];
  #cancelAsking: (() => void) | null = null;

  constructor(parts: UnresolvedParts) {
    this.#parts = parts;
  }

  /** Whether it is one of them; it is kept until it is known whose fault it was. */
  keeps(each: EndedClaim, now: number): boolean {
    if (each.ended.outcome.evidence !== "no_look_up") return false;
    this.#kept.push({ ...each, endedAt: each.endedAt ?? now });
    this.ask();
    return true;
  }

  ask(): void {
    if (this.#cancelAsking !== null) return;
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const late = () => resolve(`this host's DNS resolvers answer nothing within ${PATIENCE_MS / 1000} s`);
    this.#cancelAsking = this.#parts.clock.after(PATIENCE_MS, late);
    void this.#parts.ask().then(resolve, () => resolve(null));
    void promise.then((why) => {
      this.#cancelAsking?.();
      this.#cancelAsking = null;
      this.#hear(why);
    });
  }

  /** Whether the last question got no answer. */
  get wasInVain(): boolean {
    return this.#wasInVain;
  }

  /** Others were reached: what was found out before says nothing any more. */
  forget(): void {
    this.#wasInVain = false;
  }

  /** What is kept, of which nothing will be found out. */
  giveUp(): EndedClaim[] {
    this.#cancelAsking?.();
    return this.#kept.splice(0);
  }

  #hear(why: string | null): void {
    const wasInVain = this.#wasInVain;
    this.#wasInVain = why !== null;
    const kept = this.#kept.splice(0);
    if (kept.length > 0) this.#parts.onKnown(kept.map((each) => judged(each, why)));
    if (wasInVain && why === null) this.#parts.onAnswered();
  }
}

function judged(each: EndedClaim, why: string | null): EndedClaim {
  const { outcome } = each.ended;
  if (why === null) return { ...each, ended: { ...each.ended, outcome: { ...outcome, evidence: "silence" } } };
  const { durationMs, phases } = outcome;
  const ours = noResponse("interrupted", why, durationMs, { phases, evidence: "cut_off" });
  return { ...each, ended: { ...each.ended, outcome: ours } };
}
