/**
 * Rotation with an overlap, both of an endpoint's signing secret and of a tenant's private key. A store reads what its
 * row holds, calls these functions, and writes what they return.
 */
import type { NextSecret, SigningSecrets } from "./endpoint.ts";

/** The secrets in a row. Null stands for a secret that cannot be read. */
export interface HeldSecrets {
  readonly current: string | null;
  /** Null unless a rotation is in progress. */
  readonly next: { readonly secret: string | null; readonly switchesAt: number } | null;
}

export type RotationRefusal = "rotation_in_progress" | "not_rotating" | "damaged";

/** Returns the secrets, or "damaged" if one of them cannot be read. */
export function readable({ current, next }: HeldSecrets): SigningSecrets | "damaged" {
  if (current === null) return "damaged";
  if (next === null) return { current, next };
  const { secret, switchesAt } = next;
  return secret === null ? "damaged" : { current, next: { secret, switchesAt } };
}

/** Adds the next secret to the current one. If it is due by `now`, it takes over at once. */
export function begun(held: HeldSecrets, next: NextSecret, now: number): SigningSecrets | RotationRefusal {
  const before = readable(held);
  if (before !== "damaged" && before.next !== null) return "rotation_in_progress";
  if (next.switchesAt <= now) return { current: next.secret, next: null };
  // An unreadable secret could not sign during an overlap, so it can only be replaced at once.
  return before === "damaged" ? before : { current: before.current, next };
}

export function completed({ next }: HeldSecrets): SigningSecrets | RotationRefusal {
  if (next === null) return "not_rotating";
  return next.secret === null ? "damaged" : { current: next.secret, next: null };
}

export function abandoned({ current, next }: HeldSecrets): SigningSecrets | RotationRefusal {
  if (next === null) return "not_rotating";
  return current === null ? "damaged" : { current, next: null };
}
