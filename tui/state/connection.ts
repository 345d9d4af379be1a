/** Handles the connection: what is shown while it is lost, and what has to be read again afterwards. */
import type { Problem } from "../model/call.ts";
import type { Link, State, Step } from "../model/state.ts";
import { visibleRows } from "./lists/paged-list.ts";
import { resendActs } from "./acts.ts";
import { changePlaces, onList } from "./lists/places.ts";

/** Milliseconds between tries. The last value repeats. */
const BACKOFF = [500, 1000, 2000, 4000, 8000];

export function lose(state: State, { failure, message, hint }: Problem): State {
  const { link, now } = state;
  if (failure === "not_allowed") return { ...state, link: { kind: "refused", why: message, hint }, asked: new Map() };
  const tries = link.kind === "lost" ? link.tries + 1 : 1;
  const retryAt = now + BACKOFF[Math.min(tries, BACKOFF.length) - 1]!;
  const at = link.kind === "lost" ? link.at : now;
  const looked = link.kind === "lost" && link.looked;
  // Requests in flight will get no response. Acts wait separately.
  return { ...state, link: { kind: "lost", at, tries, retryAt, why: message, looked }, asked: new Map() };
}

/** True if the box about the connection covers the screen. */
export function isBoxed(link: Link): boolean {
  return link.kind === "refused" || (link.kind === "lost" && !link.looked);
}

/** Connects again when it is time to. */
export function retry(state: State, { atOnce = false } = {}): Step {
  const { link, now, known } = state;
  const isDue = (link.kind === "lost" && (atOnce || now >= link.retryAt)) || (link.kind === "refused" && atOnce);
  if (!isDue) return { state, effects: [] };
  // No other try may start until this one fails or succeeds.
  const waiting =
    link.kind === "lost" ? { ...link, retryAt: Number.POSITIVE_INFINITY } : ({ kind: "connecting" } as const);
  return { state: { ...state, link: waiting }, effects: [{ do: "connect", lastEventId: known.lastEventId }] };
}

/** Records that the daemon responds. */
export function goLive(state: State): Step {
  const tended = resendActs(state);
  if (state.link.kind === "live") return tended;
  return { ...tended, state: markStale({ ...tended.state, link: { kind: "live" }, resting: new Map() }) };
}

/** Marks everything as stale, because the stream did not report what happened in the meantime. */
export function markStale(state: State): State {
  const old = <T>(reads: ReadonlyMap<string, { readonly stale: boolean } & T>) =>
    new Map([...reads].map(([id, read]) => [id, { ...read, stale: true }]));
  const { known } = state;
  const places = changePlaces(state, (place) =>
    onList(place, (list, keyOf) =>
      list.follow
        ? { ...list, stale: true }
        : { ...list, stale: true, touched: new Set(visibleRows(list, 200).map(keyOf)) },
    ),
  );
  return {
    ...places,
    known: {
      ...known,
      day: known.day && { ...known.day, stale: true },
      hour: known.hour && { ...known.hour, stale: true },
      jobs: known.jobs && { ...known.jobs, stale: true },
      health: old(known.health),
      causes: old(known.causes),
      endpointStats: old(known.endpointStats),
      lastAttempts: old(known.lastAttempts),
      events: old(known.events),
      attempts: old(known.attempts),
    },
  };
}
