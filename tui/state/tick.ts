/** Decides when to draw the screen again although no message came. A quiet screen costs nothing. */
import { layoutOf } from "../layout.ts";
import type { RowsKind } from "../model/list.ts";
import type { State } from "../model/state.ts";
import { hasRunningJob } from "./jobs.ts";
import { visibleRows } from "./lists/paged-list.ts";
import { paneEvent } from "./lists/event-pane.ts";
import { here, rowsKind } from "./lists/places.ts";

const SECOND = 1000;
const QUIET_MS = 5 * SECOND;
const YOUNG_MS = 60 * SECOND;
/** The cost of a frame grows with the number of its cells. */
const MANY_CELLS = 9000;
/** The period over which the header's rate is measured. */
export const PACE_MS = 10 * SECOND;

/** Returns the interval at which messages of the stream are drawn. */
export function refreshMs({ settings, size }: State): number {
  return size.columns * size.rows > MANY_CELLS ? Math.max(2 * settings.refreshMs, 500) : settings.refreshMs;
}

/** Returns the milliseconds to the next tick. */
export function tickMs(state: State): number {
  if (state.link.kind !== "live") return state.link.kind === "connecting" ? SECOND / 4 : SECOND;
  const place = here(state);
  if (place.kind !== "event" && place.list.stale) return refreshMs(state);
  const event = place.kind === "event" ? place.id : paneEvent(state);
  const { events, attempts } = state.known;
  if (event !== null && (events.get(event)?.stale || attempts.get(event)?.stale)) return refreshMs(state);
  const isMoving =
    state.toast !== null || state.known.pace.length > 0 || state.acts.length > 0 || hasRunningJob(state.known);
  return isMoving || hasYoungAge(state) ? SECOND : QUIET_MS;
}

/** True if an age on the screen changes each second. */
function hasYoungAge(state: State): boolean {
  const place = here(state);
  if (place.kind === "event") return true;
  const times = TIMES[rowsKind(place)] as (row: unknown) => string | null;
  return visibleRows<unknown>(place.list, layoutOf(state).list).some((row) => {
    const time = times(row);
    return time !== null && Math.abs(state.now - Date.parse(time)) < YOUNG_MS;
  });
}

const TIMES = {
  events: (row: { received_at: string }) => row.received_at,
  deliveries: (row: { received_at: string }) => row.received_at,
  endpoints: () => null,
  failures: (row: { last_at: string }) => row.last_at,
  activity: (row: { at?: string; created_at?: string }) => row.at ?? row.created_at ?? null,
} as const satisfies Record<RowsKind, (row: never) => string | null>;
