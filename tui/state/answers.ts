/** Puts the daemon's responses where they belong. */
import type {
  Attempt,
  Endpoint,
  EventSummary,
  EventType,
  Explanation,
  Failures,
  JobPlan,
  Page,
} from "../../src/client/operations.ts";
import type { Answered, Call, Problem } from "../model/call.ts";
import type { Known, Read } from "../model/known.ts";
import type { List } from "../model/list.ts";
import type { Place, State } from "../model/state.ts";
import { actAnswered, actFailed } from "./acts.ts";
import { tellJobs } from "./jobs.ts";
import { lose } from "./connection.ts";
import { patchRows, pin, takePage, type KeyOf } from "./lists/paged-list.ts";
import { planMade, planRefused } from "./dialogs/plan-answers.ts";
import { openFound } from "./lists/navigation.ts";
import { changePlaces, KEY_OF, onList, rowsKind } from "./lists/places.ts";
import { sorted } from "./lists/sorts.ts";
import { askKey } from "./questions.ts";

/** The time before a failed request is repeated. */
const REST_MS = 3000;
/** The maximum number of kept things that are opened one after another. */
const MAX_KEPT = 200;
/**
 * Things that an act may have changed since they were requested. An older response would undo on the screen what the
 * act did.
 */
const CHANGED_BY_ACTS: ReadonlySet<Call["operation"]> = new Set([
  "getStatus",
  "getEndpoint",
  "listEndpoints",
  "listJobs",
]);

export function takeAnswer(state: State, answered: Answered): State {
  const { call } = answered;
  const askedAt = state.asked.get(askKey(call))?.at ?? state.now;
  const tookMs = state.now - askedAt;
  const next = forget(state, call);
  // Drop the response, which will be requested again.
  if (CHANGED_BY_ACTS.has(call.operation) && askedAt < state.actedAt) return next;
  switch (call.about.for) {
    case "act":
      return actAnswered(next, call.about.key, answered);
    case "plan":
      return planMade(next, call.about.number, answered.answer as JobPlan);
    case "page":
      return takePageAnswer(next, answered, tookMs);
    case "row":
      return takeRow(next, answered);
    case "known":
      return tellJobs(next, {
        ...next,
        known: { ...next.known, ...learn(next.known, call.about.id, answered, next.now) },
      });
  }
}

export function takeFailure(state: State, call: Call, problem: Problem): State {
  const { about, operation } = call;
  if (about.for === "act") return actFailed(state, about.key, problem);
  if (problem.code === "unauthorized") return lose(state, problem);
  // Without a pause the request would fail again at once, and again.
  const resting = new Map([...state.resting, [askKey(call), state.now + REST_MS] as const]);
  const next = { ...forget(state, call), resting };
  if (about.for === "plan") {
    return problem.failure === "unreachable" ? next : planRefused(next, about.number, problem);
  }
  if (about.for === "page") {
    // The stream itself reports a daemon that does not respond at all.
    if (problem.failure === "unreachable") return next;
    const text = [problem.message, problem.hint].filter((part) => part !== "").join(". ");
    return changePlaces(next, (place) => onList(place, (list) => ({ ...list, problem: text })), about.place);
  }
  if (problem.failure === "not_allowed") {
    return { ...next, known: { ...next.known, forbidden: new Set([...next.known.forbidden, operation]) } };
  }
  if (problem.failure === "not_found") return takeAbsence(next, about.for === "known" ? about.id : (call.ask.id ?? ""));
  return next;
}

function forget(state: State, call: Call): State {
  if (!state.asked.has(askKey(call))) return state;
  const asked = new Map(state.asked);
  asked.delete(askKey(call));
  return { ...state, asked };
}

/** Records that an object was deleted, or pruned by retention. It is not requested again. */
function takeAbsence(state: State, id: string): State {
  const { known } = state;
  const next = changePlaces(state, (place) =>
    onList(place, (list) =>
      list.touched.has(id) ? { ...list, touched: new Set([...list.touched].filter((one) => one !== id)) } : list,
    ),
  );
  return { ...next, known: { ...known, gone: new Set([...known.gone, id]) } };
}

function takePageAnswer(state: State, { call, answer }: Answered, tookMs: number): State {
  const { about } = call;
  if (about.for !== "page") return state;
  const { place: number, generation, page } = about;
  const { data, next_cursor: next = null, ...counted } = answer as Page<unknown>;
  const taken = changePlaces(
    state,
    (place) => {
      if (place.kind === "event" || place.list.generation !== generation) return place;
      const kind = rowsKind(place);
      const stays = !place.list.follow && page === 0 && place.list.pages.length > 0;
      return onList(place, (before, keyOf) => {
        const list = withSearched(withTotal(before, counted, state.now), counted, page);
        const rows = sorted(kind, list, data, state.known);
        // On a list that does not follow, groups and endpoints keep their places and get their current values.
        if (stays && kind !== "events" && kind !== "deliveries") {
          const patched = patchRows(list, rows as never[], keyOf, { added: kind !== "activity" });
          return { ...patched, stale: false, problem: null, at: state.now, tookMs };
        }
        return { ...takePage(list, { page, rows: rows as never[], next, now: state.now }, keyOf), tookMs };
      });
    },
    number,
  );
  if (call.operation !== "listEndpoints") return taken;
  return openFound({ ...taken, known: { ...taken.known, ...named(taken.known, data as readonly Endpoint[]) } });
}

/** Keeps the total if the response has none. */
function withTotal<T>(list: List<T>, { total, total_is: is }: Partial<Page<unknown>>, now: number): List<T> {
  if (total === undefined) return list;
  return { ...list, total: { count: total, isExact: is !== "at_least", at: now } };
}

/** Adds up the searched events page by page. A page that is read again adds nothing. */
function withSearched<T>(list: List<T>, { searched }: Partial<Page<unknown>>, page: number): List<T> {
  if (searched === undefined || (page < list.pages.length && list.pages.length > 1)) return list;
  const before = page === 0 ? 0 : (list.searched?.events ?? 0);
  return { ...list, searched: { ...searched, events: before + searched.events } };
}

function named(known: Known, rows: readonly Endpoint[]): Pick<Known, "endpoints" | "switches"> {
  const switches = new Map(known.switches);
  for (const { id } of rows) switches.delete(id);
  return { endpoints: new Map([...known.endpoints, ...rows.map((row) => [row.id, row] as const)]), switches };
}

function takeRow(state: State, { call, answer }: Answered): State {
  const kind = call.operation === "getEvent" ? "events" : "deliveries";
  // A list does not need payloads.
  const row = call.operation === "getEvent" ? { ...(answer as EventSummary), data: null } : answer;
  return changePlaces(state, (place) => {
    if (place.kind === "event" || rowsKind(place) !== kind) return place;
    const list = patchRows(place.list as List<never>, [row as never], KEY_OF[kind] as KeyOf<never>);
    return { ...place, list } as unknown as Place;
  });
}

function learn(known: Known, id: string, { call, answer }: Answered, now: number): Partial<Known> {
  const read = <T>(value: T): Read<T> => ({ value, at: now, stale: false });
  switch (call.operation) {
    case "getStatus":
      return { status: read(answer as never) };
    case "getStatistics":
      if (id === "24h") return { day: read(answer as never), since: { delivered: 0, failed: 0 } };
      if (id === "1h") return { hour: read(answer as never) };
      return { endpointStats: kept(known.endpointStats, id, read(answer as never)) };
    case "listJobs":
      return { jobs: read((answer as Page<never>).data) };
    case "listEventTypes":
      return { types: (answer as Page<EventType>).data };
    case "listEndpoints": {
      const rows = (answer as Page<Endpoint>).data;
      return { roll: read(rows.length), ...named(known, rows) };
    }
    case "getEndpoint":
      return { health: kept(known.health, id, read(answer as never)), ...named(known, [answer as Endpoint]) };
    case "listFailures":
      return { causes: kept(known.causes, id, read((answer as Failures).data)) };
    case "getEvent":
      return { events: kept(known.events, id, read(answer as never)) };
    case "explainEvent":
      return { reasons: kept(known.reasons, id, (answer as Explanation).sentence) };
    case "listEventAttempts":
      return { attempts: kept(known.attempts, id, read((answer as Page<Attempt>).data.toReversed())) };
    case "listEndpointAttempts":
      return { lastAttempts: kept(known.lastAttempts, id, read((answer as Page<Attempt>).data)) };
    case "getAttempt":
      return { samples: kept(known.samples, id, answer as Attempt) };
    default:
      return {};
  }
}

function kept<T>(map: ReadonlyMap<string, T>, id: string, value: T): ReadonlyMap<string, T> {
  const next = new Map(map);
  next.delete(id);
  next.set(id, value);
  for (const oldest of next.keys()) {
    if (next.size <= MAX_KEPT) break;
    next.delete(oldest);
  }
  return next;
}

/** Pins open jobs, and the latest of the others, above the audit log. */
export function pinJobs(state: State): State {
  const jobs = state.known.jobs?.value ?? [];
  const open = jobs.filter(({ ended_at }) => ended_at === null);
  const ended = jobs.filter(({ ended_at }) => ended_at !== null).slice(0, 5);
  return changePlaces(state, (place) =>
    place.kind === "activity" ? { ...place, list: pin(place.list, [...open, ...ended], KEY_OF.activity) } : place,
  );
}
