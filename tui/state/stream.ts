/** Applies the messages of the stream, once for each refresh. */
import type { AttemptChange, CountedChanges, StreamMessage } from "../../src/client/stream.ts";
import type { Known, Read } from "../model/known.ts";
import type { List } from "../model/list.ts";
import type { Effect, Place, State, Step } from "../model/state.ts";
import { actsSeen } from "./acts.ts";
import { goLive, markStale } from "./connection.ts";
import { changePlaces, onList, rowsKind } from "./lists/places.ts";
import { PACE_MS } from "./tick.ts";

/** Sums up the messages of one refresh. */
interface StreamChanges {
  readonly events: Set<string>;
  readonly deliveries: Set<string>;
  readonly endpoints: Set<string>;
  readonly changedEndpoints: Set<string>;
  readonly fresh: Set<string>;
  readonly attempts: AttemptChange[];
  made: number;
  delivered: number;
  failed: number;
  /** True if some changes were only counted and not named. */
  counted: boolean;
  latest: string | null;
  lastEventId: string | null;
}

export function takeStream(state: State, messages: readonly StreamMessage[]): Step {
  let next = state;
  const effects: Effect[] = [];
  if (messages.some(({ kind }) => kind === "ready" || kind === "reload")) {
    const live = goLive(next);
    next = live.state;
    effects.push(...live.effects);
  }
  if (messages.some(({ kind }) => kind === "reload")) next = markStale(next);
  const changes = changesOf(messages);
  if (changes.lastEventId !== null) next = { ...next, known: { ...next.known, lastEventId: changes.lastEventId } };
  if (changes.latest === null && !changes.counted) return { state: next, effects };
  next = { ...next, known: learn(next.known, changes, next.now) };
  next = changePlaces(next, (place) => touch(place, changes));
  return { state: actsSeen(next, changes.attempts), effects };
}

function changesOf(messages: readonly StreamMessage[]): StreamChanges {
  const changes: StreamChanges = {
    events: new Set(),
    deliveries: new Set(),
    endpoints: new Set(),
    changedEndpoints: new Set(),
    fresh: new Set(),
    attempts: [],
    made: 0,
    delivered: 0,
    failed: 0,
    counted: false,
    latest: null,
    lastEventId: null,
  };
  for (const message of messages) take(changes, message);
  return changes;
}

function take(changes: StreamChanges, message: StreamMessage): void {
  switch (message.kind) {
    case "attempt":
    case "delivery": {
      const { at, event, delivery, endpoint, status } = message.data;
      changes.latest = at;
      changes.events.add(event);
      changes.deliveries.add(delivery);
      changes.endpoints.add(endpoint);
      if (status === "delivered") changes.delivered++;
      if (status === "failed") changes.failed++;
      if (message.kind === "attempt") {
        changes.made++;
        changes.attempts.push(message.data);
      } else if (status === "pending") changes.fresh.add(event);
      return;
    }
    case "endpoint":
      changes.latest = message.data.at;
      changes.endpoints.add(message.data.endpoint);
      changes.changedEndpoints.add(message.data.endpoint);
      return;
    case "counts":
      for (const counted of message.data.data) takeCounted(changes, counted);
      return;
    case "id":
      changes.lastEventId = message.id;
  }
}

function takeCounted(changes: StreamChanges, { kind, endpoint, status, count }: CountedChanges): void {
  changes.counted = true;
  changes.endpoints.add(endpoint);
  if (kind === "endpoint") changes.changedEndpoints.add(endpoint);
  if (kind === "attempt") changes.made += count;
  if (status === "delivered") changes.delivered += count;
  if (status === "failed") changes.failed += count;
}

function learn(known: Known, changes: StreamChanges, now: number): Known {
  let { leastDelay, lagMs } = known;
  if (changes.latest !== null) {
    const delay = now - Date.parse(changes.latest);
    leastDelay = Math.min(leastDelay ?? delay, delay);
    // The clocks of two hosts differ, so only an increase of the delay is lag.
    lagMs = delay - leastDelay;
  }
  const pace = [...known.pace, { at: now, attempts: changes.made }].filter(({ at }) => at > now - PACE_MS);
  const endpoints = new Map(known.endpoints);
  for (const id of changes.changedEndpoints) endpoints.delete(id);
  return {
    ...known,
    endpoints,
    day: known.day && { ...known.day, stale: true },
    hour: known.hour && { ...known.hour, stale: true },
    health: staleOf(known.health, changes.endpoints),
    causes: staleOf(known.causes, changes.endpoints),
    endpointStats: staleOf(known.endpointStats, changes.endpoints),
    lastAttempts: staleOf(known.lastAttempts, changes.endpoints),
    events: staleOf(known.events, changes.events),
    attempts: staleOf(known.attempts, changes.events),
    since: { delivered: known.since.delivered + changes.delivered, failed: known.since.failed + changes.failed },
    pace,
    leastDelay,
    lagMs,
    lastNews: now,
  };
}

function staleOf<T>(reads: ReadonlyMap<string, Read<T>>, ids: ReadonlySet<string>): ReadonlyMap<string, Read<T>> {
  const hit = [...ids].filter((id) => reads.get(id)?.stale === false);
  if (hit.length === 0) return reads;
  const next = new Map(reads);
  for (const id of hit) next.set(id, { ...next.get(id)!, stale: true });
  return next;
}

/**
 * Marks a list that follows to be read again. Any other list keeps its rows, and those that changed are read one by
 * one.
 */
function touch(place: Place, changes: StreamChanges): Place {
  if (place.kind === "event") return place;
  const kind = rowsKind(place);
  if (kind === "endpoints") {
    return changes.changedEndpoints.size === 0 ? place : onList(place, (list) => ({ ...list, stale: true }));
  }
  if (kind === "failures" || kind === "activity") return onList(place, (list) => ({ ...list, stale: true }));
  const ids = kind === "events" ? changes.events : changes.deliveries;
  return onList(place, (list, keyOf) => {
    if (list.follow) return { ...list, stale: true };
    const hit = list.rows.map(keyOf).filter((id) => ids.has(id));
    const isOpen = (row: unknown) => (row as { readonly status: string }).status === "pending";
    const counted = changes.counted ? list.rows.filter(isOpen).map(keyOf) : [];
    return countNewer({ ...list, touched: new Set([...list.touched, ...hit, ...counted]) }, changes);
  });
}

/** Counts new rows by their ids, which grow with time. */
function countNewer<T>(list: List<T>, { fresh }: StreamChanges): List<T> {
  // In another order, new rows may be anywhere.
  if (list.edge !== "first" || list.sort !== null) return list;
  const first = list.rows[0] as { readonly id: string; readonly event?: string } | undefined;
  let newest = list.newest || (first?.event ?? first?.id ?? "");
  let newer = list.newer;
  for (const id of [...fresh].sort()) {
    if (id <= newest) continue;
    newest = id;
    newer++;
  }
  return { ...list, newer, newest };
}
