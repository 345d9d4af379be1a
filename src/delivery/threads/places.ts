/** Where the sends of each endpoint go: to this thread, or to those that are there for sending. */
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";

/** However many endpoints there are, all have moved after so long. */
const MOVED_MS = 5000;

export const PLACES = ["here", "threads"] as const;
export type Place = (typeof PLACES)[number];

export const other = (place: Place): Place => (place === "here" ? "threads" : "here");

/** Where one endpoint's sends go, and what is out at each place. */
export interface Endpoint {
  target: Target;
  /** Null once the place is no more. */
  place: Place | null;
  /** Monotonic: not before then. */
  movesAt: number;
  readonly outstanding: Record<Place, number>;
  /** Some of what was sent belonged to a job, which has a pace. */
  isPaced: boolean;
  /** Null unless it moves. */
  move: Move | null;
}

export interface Move {
  /** What waited at the old place, and what came since. */
  held: Send[];
  /** Resolves once the old place has given it back. */
  readonly taken: Promise<void>;
}

/** Has those that are at the other place move one after the other; the answer is how long that takes, in milliseconds. */
export function spreadMoves(endpoints: Iterable<Endpoint>, to: Place, now: number, perSecond: number): number {
  const leaving = [...endpoints].filter(({ place }) => place === other(to));
  const spread = Math.min(MOVED_MS, (leaving.length * 1000) / perSecond);
  for (const [at, endpoint] of leaving.entries()) endpoint.movesAt = now + (at * spread) / leaving.length;
  return spread;
}

/** The endpoint's settings at a place: what is still out at the other one counts against its cap. */
export function limitedAt({ outstanding, target }: Endpoint, at: Place, endpointMaxInFlight: number): Target {
  const elsewhere = outstanding[other(at)];
  if (elsewhere === 0) return target;
  const most = Math.min(target.maxInFlight ?? endpointMaxInFlight, endpointMaxInFlight);
  return { ...target, maxInFlight: Math.max(0, most - elsewhere) };
}
