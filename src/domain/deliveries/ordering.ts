/**
 * Order by key. The deliveries of one endpoint and one ordering key stand in a line, in the order of their numbers, and
 * only the first of them is due. A store reads the facts about the line inside its transaction, asks here, and writes
 * the result. Deliveries without a key, and endpoints without order, are in no line.
 */
import type { StoredStatus } from "./delivery.ts";

export const ORDERINGS = ["none", "by_key"] as const;
export type Ordering = (typeof ORDERINGS)[number];
export const AFTER_FAILURE = ["continue", "hold"] as const;
export type AfterFailure = (typeof AFTER_FAILURE)[number];

/** The settings of an endpoint that decide about order. */
export interface OrderRules {
  readonly ordering: Ordering;
  /** Decides what a failed delivery does to those behind it: they go on, or its key is held. */
  readonly afterFailure: AfterFailure;
}

/** A place in a line. Deliveries with the same number stand in the order of their events. */
export interface Place {
  readonly sequence: number;
  readonly event: number;
}

export interface OpenPlace extends Place {
  /** True if it waits behind another delivery, so that it is not due. */
  readonly isBehind: boolean;
  /** True if it counts as cancelled, although its row does not say so yet. */
  readonly isBeingCancelled: boolean;
}

/** The delivery that another one waits behind: the first of its line, or the failed one that holds the key. */
export interface Blocker {
  /** The id of its event. */
  readonly event: string;
  readonly attempts: number;
  /** Null if it holds the key. */
  readonly nextAttemptAt: number | null;
  readonly holdsKey: boolean;
}

/** The keys of an endpoint that are held now. */
export interface HeldKeys {
  /** Stops at `heldKeysLimit`. */
  readonly count: number;
  /** When the one that has been held for longest failed. */
  readonly since: number;
  /** That key, and the id of the event that holds it. */
  readonly orderingKey: string;
  readonly event: string;
}

export interface EndpointHeldKeys extends HeldKeys {
  readonly endpoint: string;
}

/** Counting further would take longer than a request may. */
export const HELD_KEYS_LIMIT = 10_000;
const HELD_KEYS_OF_ALL = 100_000;

/** Returns how far the keys of each endpoint are counted, if those of so many are counted together. */
export function heldKeysLimit(endpoints: number): number {
  return Math.max(1, Math.min(HELD_KEYS_LIMIT, Math.floor(HELD_KEYS_OF_ALL / endpoints)));
}

/** The facts about a line. */
export interface Line {
  /** Its first open delivery. Null if none is open. */
  readonly first: OpenPlace | null;
  /** The first failed delivery that holds the key. Null if the key is not held. */
  readonly holder: Place | null;
}

/** True if deliveries of this event to the endpoint stand in a line. A test does not: it has no key. */
export function isInOrder({ ordering }: Pick<OrderRules, "ordering">, key: string | null | undefined): key is string {
  return ordering === "by_key" && key !== null && key !== undefined;
}

export function isAhead(one: Place, other: Place): boolean {
  return one.sequence < other.sequence || (one.sequence === other.sequence && one.event < other.event);
}

/**
 * Decides where a delivery that was opened stands: a new one, one that was replayed, or one that a job added. It goes
 * before those that wait for their turn and have a later place, even if the first of them was due. That one is then
 * overtaken: it waits behind, and keeps its rung.
 */
export function enter(
  { first, holder }: Line,
  place: Place,
): { readonly isBehind: boolean; readonly overtakes: Place | null } {
  if (holder !== null && isAhead(holder, place)) return { isBehind: true, overtakes: null };
  if (first === null) return { isBehind: false, overtakes: null };
  if (isAhead(first, place)) return { isBehind: true, overtakes: null };
  return { isBehind: false, overtakes: first.isBehind ? null : first };
}

/** Decides the same for several deliveries of a line that are opened together, in the order of their places. */
export function enterTogether(
  line: Line,
  places: readonly Place[],
): { readonly behind: ReadonlySet<Place>; readonly overtakes: Place | null } {
  const behind = new Set<Place>();
  let [now, overtaken]: [Line, Place | null] = [line, null];
  for (const place of places.toSorted((one, other) => (isAhead(one, other) ? -1 : 1))) {
    const { isBehind, overtakes } = enter(now, place);
    if (isBehind) behind.add(place);
    else now = { ...now, first: { ...place, isBehind, isBeingCancelled: false } };
    overtaken ??= overtakes;
  }
  return { behind, overtakes: overtaken };
}

/** Returns the delivery whose turn has come, after one of the line was settled. Null if there is none. */
export function nextInLine({ first, holder }: Line): OpenPlace | null {
  if (first === null || !first.isBehind || first.isBeingCancelled) return null;
  return holder !== null && isAhead(holder, first) ? null : first;
}

/**
 * Returns when a delivery is due whose turn has come. `notBefore` is its own due time: of its rung if it was overtaken,
 * or of its publish. While its endpoint is disabled it keeps that time, so that it expires like one without order.
 */
export function releasedAt({ enabled }: { readonly enabled: boolean }, notBefore: number, now: number): number {
  return enabled ? Math.max(notBefore, now) : notBefore;
}

/** True if a delivery that was open and now has this status holds its key. Nobody could free that of a deleted endpoint. */
export function holdsKey(
  { ordering, afterFailure, deleted }: OrderRules & { readonly deleted: boolean },
  status: StoredStatus,
): boolean {
  return status === "failed" && ordering === "by_key" && afterFailure === "hold" && !deleted;
}

/** An ordering key has at most this many bytes in UTF-8. */
export const MAX_KEY_BYTES = 256;
// oxlint-disable-next-line no-control-regex -- these are what is refused
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Returns what is wrong with an ordering key. Null if nothing is. */
export function orderingKeyFault(key: string): "too_few" | "too_long" | "forbidden_char" | null {
  if (key === "") return "too_few";
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return "too_long";
  return CONTROL.test(key) || !key.isWellFormed() ? "forbidden_char" : null;
}
