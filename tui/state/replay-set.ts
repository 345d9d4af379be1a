/** Which deliveries are meant by "many" on a screen: what is marked, or else all that it lists. */
import type { FailureGroup } from "../../src/client/operations.ts";
import { causeText } from "../../src/domain/deliveries/attempt.ts";
import type { ReplaySet } from "../model/dialog.ts";
import { countText, shortId } from "../draw/numbers.ts";
import { shortUrl } from "../draw/status.ts";
import type { State } from "../model/state.ts";
import { selectedRow } from "./lists/paged-list.ts";
import { here, type WithList } from "./lists/places.ts";
import { filterQuery } from "./lists/list-query.ts";

/** What one job takes by id. */
const MAX_IDS = 1000;

export interface Many {
  /** In a few words; outside text. */
  readonly about: string;
  readonly set: ReplaySet;
}

/** Words where there are none to be replayed. */
export function replaySetHere(state: State): Many | string {
  const place = here(state);
  switch (place.kind) {
    case "overview":
    case "failures": {
      const group = selectedRow(place.list);
      return group === null ? "no group is selected" : ofGroup(state, group);
    }
    case "events":
    case "deliveries":
    case "endpoint":
      if (place.list.rows.length === 0) return "nothing is listed";
      return place.list.marks.size > 0 ? ofMarks(state, place) : ofFilter(state, place);
    default:
      return "nothing can be replayed here";
  }
}

/** All that fails at one endpoint for one reason. */
function ofGroup(state: State, { endpoint, error, status_code: code }: FailureGroup): Many {
  const url = state.known.endpoints.get(endpoint)?.url;
  const filter = {
    status: "failed",
    endpoint,
    error,
    ...(code !== null && { status_code: String(code) }),
    until: new Date(state.now).toISOString(),
  };
  const name = url === undefined ? shortId(endpoint) : shortUrl(url);
  return { about: `${causeText(error, code)} at ${name}`, set: { filter, tenant: tenantOf(state) } };
}

function ofFilter(state: State, place: WithList): Many | string {
  const { tenant, event, test, tag, publisher_id: id, status = "failed", ...rest } = filterQuery(state, place);
  if (tag !== undefined || id !== undefined)
    return "a job cannot select by tag or publisher_id; mark the events instead";
  if (status !== "failed")
    return `only what failed can be replayed, but the filter says status:${status}; press f to change it`;
  const filter = {
    ...rest,
    status,
    ...(event !== undefined && { events: [event] }),
    ...(test !== undefined && { test: test === "true" }),
    // What fails later was in no plan that was shown.
    until: rest.until ?? new Date(state.now).toISOString(),
  };
  const about = place.list.filter === "" ? "all that failed" : `all that failed of ${place.list.filter}`;
  return { about: place.kind === "endpoint" ? `${about} to this endpoint` : about, set: { filter, tenant } };
}

/** By the ids of the events: a job takes no deliveries by theirs. */
function ofMarks(state: State, place: WithList): Many | string {
  const { marks } = place.list;
  if (marks.size > MAX_IDS)
    return `${countText(marks.size)} are marked, but one job takes at most ${MAX_IDS}; use a filter`;
  const about = `${countText(marks.size)} marked`;
  if (place.kind === "events") return { about, set: { filter: { events: [...marks] }, tenant: tenantOf(state) } };
  const rows = (place.list.rows as readonly { id: string; event: string; endpoint: string }[]).filter(({ id }) =>
    marks.has(id),
  );
  if (rows.length < marks.size) return "some marked rows are no longer loaded; scroll to them, or use a filter";
  const [first, ...others] = new Set(rows.map(({ endpoint }) => endpoint));
  if (others.length > 0) return "the marked deliveries go to several endpoints; mark those of one, or mark events";
  const filter = { events: rows.map(({ event }) => event), endpoint: first! };
  return { about, set: { filter, tenant: tenantOf(state) } };
}

function tenantOf(state: State): string | undefined {
  const place = here(state);
  return place.kind === "event" ? undefined : filterQuery(state, place).tenant;
}
