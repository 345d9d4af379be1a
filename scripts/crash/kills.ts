/**
 * Chooses when the daemon is killed: one moment per round, drawn from the seed. Together they reach the crash points I1
 * to I5, D1 to D6, D8 to D10, R1, C1 and U1 of the reliability plan. D7 needs a power cut.
 */
import type { Random } from "../../test/sim/random.ts";

export type Moment =
  /** This many milliseconds after it started to listen. */
  | { readonly kind: "time"; readonly ms: number }
  /** When the driver sees the n-th 202 of the round. */
  | { readonly kind: "ack"; readonly nth: number }
  /** When the receivers have the complete n-th request of the round, or `ms` after they responded to it. */
  | { readonly kind: "request"; readonly nth: number; readonly when: "arrived" | "answered"; readonly ms: number }
  /** After a kill, at this part of the time that a start takes. */
  | { readonly kind: "start-up"; readonly part: number }
  /** After a kill, within the next 100 ms. */
  | { readonly kind: "storm"; readonly ms: number }
  /** This many milliseconds after SIGTERM, while it drains, checkpoints and closes. */
  | { readonly kind: "stop"; readonly ms: number };

const LONGEST_MS = 2000;

export function drawMoment(random: Random): Moment {
  const roll = random.next();
  if (roll < 0.2) return { kind: "time", ms: random.between(0, LONGEST_MS) };
  if (roll < 0.45) return { kind: "ack", nth: random.between(1, 40) };
  if (roll < 0.55) return { kind: "request", nth: random.between(1, 80), when: "arrived", ms: 0 };
  if (roll < 0.7) return { kind: "request", nth: random.between(1, 80), when: "answered", ms: random.between(0, 8) };
  if (roll < 0.82) return { kind: "start-up", part: 0.4 + 0.7 * random.next() };
  if (roll < 0.91) return { kind: "storm", ms: random.between(0, 95) };
  return { kind: "stop", ms: random.between(0, 30) };
}
