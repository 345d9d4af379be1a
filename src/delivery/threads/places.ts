/** Tracks where the sends of each endpoint go: to this thread, or to the threads for sending. */
import type { Send } from "../../domain/deliveries/delivery.ts";
import type { Target } from "../../domain/endpoints/endpoint.ts";

/** All endpoints have moved after this long, however many there are. */
const MOVED_MS = 5000;

export const PLACES = ["here", "threads"] as const;
export type Place = (typeof PLACES)[number];

export const other = (place: Place): Place => (place === "here" ? "threads" : "here");

/** The place that one endpoint's sends go to, and the number of outstanding sends at each place. */
export interface Endpoint {
  target: Target;
  /** Null once the threads that it used have ended. */
  place: Place | null;
  /** Monotonic milliseconds. The endpoint does not move before then. */
  movesAt: number;
  readonly outstanding: Record<Place, number>;
  /** True if some of its sends belonged to a job, which has a pace. */
  isPaced: boolean;
  /** Null unless it is moving. */
  move: Move | null;
}

export interface Move {
  /** The sends that were waiting at the old place, and those that arrived since. */
  held: Send[];
  /** Resolves once the old place has given its sends back. */
  readonly taken: Promise<void>;
}

/**
 * Schedules the endpoints at the other place to move one after another. Returns how long that takes, in milliseconds.
 */
export function spreadMoves(endpoints: Iterable<Endpoint>, to: Place, now: number, perSecond: number): number {
  const leaving = [...endpoints].filter(({ place }) => place === other(to));
  const spread = Math.min(MOVED_MS, (leaving.length * 1000) / perSecond);
  for (const [at, endpoint] of leaving.entries()) endpoint.movesAt = now + (at * spread) / leaving.length;
  return spread;
}

/** Returns the endpoint's settings at a place, with its cap reduced by what is outstanding at the other one. */
export function limitedAt({ outstanding, target }: Endpoint, at: Place, endpointMaxInFlight: number): Target {
  const elsewhere = outstanding[other(at)];
  if (elsewhere === 0) return target;
  const most = Math.min(target.maxInFlight ?? endpointMaxInFlight, endpointMaxInFlight);
  return { ...target, maxInFlight: Math.max(0, most - elsewhere) };
}
