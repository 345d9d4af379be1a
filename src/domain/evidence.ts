/** What the end of an attempt says of this host's own way out, beside what it says of the receiver. */
import type { AttemptError } from "./attempt.ts";

/**
 * - `answer`: somebody out there said something, if only no, so the way out works.
 * - `silence`: nobody said anything. The receiver's fault, unless nobody else says anything either.
 * - `no_look_up`: no DNS said anything of the name. The receiver's fault, unless this host's resolvers say nothing at all.
 * - `cut_off`: this host itself knows no way out. Our fault, even where there is one receiver.
 * - `shortage`: this process or host ran out of something. Our fault.
 * - `none`: nobody was asked.
 */
export type Evidence = "answer" | "silence" | "no_look_up" | "cut_off" | "shortage" | "none";

/** Where an attempt's error is all that is known. What a system's or a resolver's code says in particular goes before. */
const OF_ERROR: Partial<Readonly<Record<AttemptError, Evidence>>> = {
  timeout: "silence",
  unreachable: "silence",
  address_not_public: "none",
  address_metadata: "none",
  address_denied: "none",
  address_self: "none",
  payload_corrupt: "none",
  held_expired: "none",
  interrupted: "none",
};

export function evidenceOf(error: AttemptError | null): Evidence {
  return (error === null ? undefined : OF_ERROR[error]) ?? "answer";
}

/** Whether an attempt that ended so may be no fault of its receiver's. */
export function isUnheard(evidence: Evidence): boolean {
  return evidence === "silence" || evidence === "no_look_up" || evidence === "cut_off";
}
