/** Decides which deliveries "many" means on a screen: the marked ones, or else all that the list matches. */
import type { FailureGroup } from "../../src/client/operations.ts";
import { parseDuration } from "../../src/config/units.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import type { JobSet } from "../model/dialog.ts";
import { countText, shortId } from "../draw/numbers.ts";
import { shortUrl } from "../draw/status.ts";
import type { State } from "../model/state.ts";
import { selectedRow } from "./lists/paged-list.ts";
import { here, type WithList } from "./lists/places.ts";
import { filterQuery } from "./lists/list-query.ts";
import { KEY } from "../keys/names.ts";

/** A job takes at most this many ids. */
const MAX_IDS = 1000;

export interface Many {
  /** Describes the set in a few words. It may contain outside text. */
  readonly about: string;
  readonly set: JobSet;
  /** As in `PlanDialog`. */
  readonly period: string | null;
}

type Action = JobSet["action"];

/** The statuses to which each action applies, and words for them. */
const APPLIES: {
  readonly [A in Action]: { readonly statuses: readonly string[]; all: string; only: string; done: string };
} = {
  replay: {
    statuses: ["failed"],
    all: "all that failed",
    only: "only failed rows can be replayed",
    done: "replayed",
  },
  attempt_now: {
    statuses: ["pending"],
    all: "all waiting for a retry",
    only: "only waiting rows can be tried",
    done: "tried",
  },
  cancel: {
    statuses: ["pending", "held"],
    all: "all that are waiting",
    only: "only open rows can be cancelled",
    done: "cancelled",
  },
};

/** Returns a message instead if there is nothing for the action. */
export function jobSetHere(state: State, action: Action): Many | string {
  const place = here(state);
  switch (place.kind) {
    case "overview":
    case "failures": {
      const group = selectedRow(place.list);
      return group === null ? "no group is selected" : ofGroup(state, group, action);
    }
    case "endpoints": {
      const row = selectedRow(place.list);
      return row === null ? "no endpoint is selected" : ofEndpoint(state, row.id, action);
    }
    case "events":
    case "deliveries":
    case "endpoint":
      if (place.list.rows.length === 0) return "nothing is listed";
      return place.list.marks.size > 0 ? ofMarks(state, place, action) : ofFilter(state, place, action);
    default:
      return `nothing can be ${APPLIES[action].done} here`;
  }
}

/** Selects everything that fails at one endpoint for one cause. */
function ofGroup(state: State, { endpoint, error, status_code: code }: FailureGroup, action: Action): Many {
  const filter = {
    ...statusOf(action),
    endpoint,
    error,
    ...(code !== null && { status_code: String(code) }),
    until: instantOf(state.now),
  };
  const about = `${causeText(error, code)} at ${nameOf(state, endpoint)}`;
  return { about, set: { action, filter, tenant: tenantOf(state) }, period: null };
}

function ofEndpoint(state: State, endpoint: string, action: Action): Many {
  const filter = { ...statusOf(action), endpoint, until: instantOf(state.now) };
  const about = `${APPLIES[action].all} at ${nameOf(state, endpoint)}`;
  return { about, set: { action, filter, tenant: tenantOf(state) }, period: null };
}

function ofFilter(state: State, place: WithList, action: Action): Many | string {
  const { tenant, event, test, tag, publisher_id: id, label, data, status, ...rest } = filterQuery(state, place);
  if (tag !== undefined || id !== undefined || label !== undefined)
    return "a job cannot select by tag or publisher_id; mark the events instead";
  if (data !== undefined) return "a job cannot select by event data; mark the events instead";
  const { statuses, only, all } = APPLIES[action];
  const named = status?.split(",") ?? [];
  if (named.some((one) => !statuses.includes(one)))
    return `${only}, but the filter says status:${status}; press ${KEY.failed} to change it`;
  const filter = {
    ...rest,
    ...(named.length === 1 ? { status: named[0]! } : statusOf(action)),
    ...(event !== undefined && { events: [event] }),
    ...(test !== undefined && { test: test === "true" }),
    // No plan that was shown included later deliveries.
    until: rest["until"] ?? instantOf(state.now),
  };
  const about = place.list.filter === "" ? all : `${all} matching ${place.list.filter}`;
  return {
    about: place.kind === "endpoint" ? `${about} to this endpoint` : about,
    set: { action, filter, tenant },
    period: null,
  };
}

/** Selects by the ids of events, because a job does not take ids of deliveries. */
function ofMarks(state: State, place: WithList, action: Action): Many | string {
  const { marks } = place.list;
  if (marks.size > MAX_IDS)
    return `${countText(marks.size)} are marked, but one job takes at most ${MAX_IDS}; use a filter`;
  const about = `${countText(marks.size)} marked`;
  const [tenant, period] = [tenantOf(state), null];
  if (place.kind === "events") return { about, set: { action, filter: { events: [...marks] }, tenant }, period };
  const rows = (place.list.rows as readonly { id: string; event: string; endpoint: string }[]).filter(({ id }) =>
    marks.has(id),
  );
  if (rows.length < marks.size) return "some marked rows are no longer loaded; scroll to them, or use a filter";
  const [first, ...others] = new Set(rows.map(({ endpoint }) => endpoint));
  if (others.length > 0) return "the marked deliveries go to several endpoints; mark those of one, or mark events";
  const filter = { events: rows.map(({ event }) => event), endpoint: first! };
  return { about, set: { action, filter, tenant }, period };
}

/** The periods of a back-fill. The last one covers everything that is kept. */
export const PERIODS = ["1h", "24h", "7d", "30d", "all"] as const;
const FIRST_PERIOD = "24h";

/**
 * Selects events that the endpoint chose but has no delivery for: published before it was added, or while it was
 * disabled with skip.
 */
export function missingSetHere(state: State): Many | string {
  const place = here(state);
  const endpoint =
    place.kind === "endpoint" ? place.id : place.kind === "endpoints" ? selectedRow(place.list)?.id : undefined;
  if (endpoint === undefined || place.kind === "event") return "no endpoint is selected";
  if (state.known.gone.has(endpoint)) return "it is deleted";
  // On a list of endpoints, the filter is about endpoints and not about events.
  const {
    type,
    since,
    until = instantOf(state.now),
  } = place.kind === "endpoint" ? filterQuery(state, place) : ({} as Record<string, string | undefined>);
  const period = since === undefined ? FIRST_PERIOD : null;
  const filter = {
    missing: true,
    endpoint,
    ...(type !== undefined && { type }),
    since: since ?? sinceOf(FIRST_PERIOD, state.now)!,
    until,
  };
  const about = `events that ${nameOf(state, endpoint)} never got`;
  return { about, set: { action: "replay", filter, tenant: tenantOf(state) }, period };
}

/** Returns the next period of a back-fill. */
export function withNextPeriod({ set, period }: Many, now: number): Pick<Many, "set" | "period"> {
  const next = PERIODS[(PERIODS.indexOf(period as (typeof PERIODS)[number]) + 1) % PERIODS.length]!;
  const { since: _, ...filter } = set.filter;
  const since = sinceOf(next, now);
  return { period: next, set: { ...set, filter: { ...filter, ...(since !== null && { since }) } } };
}

function sinceOf(period: string, now: number): string | null {
  const ago = parseDuration(period);
  return ago === null ? null : instantOf(now - ago);
}

/** If the filter names no status, an action for several statuses applies to all of them. */
function statusOf(action: Action): { status?: string } {
  const [status, ...others] = APPLIES[action].statuses;
  return others.length > 0 ? {} : { status: status! };
}

function nameOf({ known }: State, endpoint: string): string {
  const url = known.endpoints.get(endpoint)?.url;
  return url === undefined ? shortId(endpoint) : shortUrl(url);
}

function instantOf(ms: number): string {
  return new Date(ms).toISOString();
}

function tenantOf(state: State): string | undefined {
  const place = here(state);
  return place.kind === "event" ? undefined : filterQuery(state, place).tenant;
}
