/**
 * Derives from the state what the screen shows but has not been read yet, so that no other code has to remember to
 * request it.
 */
import type { Answers } from "../../src/client/operations.ts";
import { waitingOf } from "../model/dialog.ts";
import { layoutOf, overviewLayout } from "../layout.ts";
import type { About, Call } from "../model/call.ts";
import type { Read } from "../model/known.ts";
import type { List, RowsKind } from "../model/list.ts";
import type { Place, State } from "../model/state.ts";
import { hasRunningJob } from "./jobs.ts";
import { filterQuery, LIST_OPERATIONS } from "./lists/list-query.ts";
import { PAGE_ROWS, selectedRow, visibleRows, wantedPage } from "./lists/paged-list.ts";
import { here, rowsKind, type WithList } from "./lists/places.ts";
import { sortQuery } from "./lists/sorts.ts";
import { missedBy, nextEvents, wantedEvent } from "./lists/event-pane.ts";
import { plannedEndpoints, planQuestion } from "./dialogs/plan.ts";
import { refreshMs } from "./tick.ts";
import { worstEndpoints } from "./lists/worst-endpoints.ts";

/** The minimum time between two reads of the same thing, however often the stream says that it changed. */
const REST_MS = {
  status: 5000,
  roll: 2000,
  statistics: 5000,
  failures: 2000,
  endpoint: 5000,
  jobs: 5000,
  runningJobs: 1000,
  sparse: 2000,
  total: 5000,
  audit: 5000,
  event: 250,
};
/** The daemon spends at most a tenth of its time on a list on a screen. */
const SPARING = 10;
/** Windows of statistics move on even if nothing happens. */
const STATISTICS_AGE_MS = 60_000;
/** Health is read separately for each endpoint on the screen, this many at a time. */
const MAX_AT_ONCE = 4;
/** For this many endpoints, the dashboard reads whether they have succeeded since they failed. */
const MAX_JUDGED = 20;

export function askKey({ operation, about }: Call): string {
  return `${operation} ${JSON.stringify(about)}`;
}

/** Returns the requests that are needed and not made yet. */
export function questions(state: State): Call[] {
  if (state.link.kind !== "live") return [];
  const wanted = [...aboutDaemon(state), ...aboutPlace(state, here(state)), ...aboutPane(state), ...aboutDialog(state)];
  const { asked, resting, known, now } = state;
  return wanted.filter((call) => {
    const key = askKey(call);
    return !asked.has(key) && !known.forbidden.has(call.operation) && (resting.get(key) ?? 0) <= now;
  });
}

function* aboutDaemon({ known, now }: State): Generator<Call> {
  if (isDue(known.status, now, { rest: REST_MS.status, always: true })) yield ask("getStatus", known_(""));
  const statistics = { rest: REST_MS.statistics, most: STATISTICS_AGE_MS };
  if (isDue(known.day, now, statistics)) yield ask("getStatistics", known_("24h"), { query: { window: "24h" } });
  if (known.endpoints.size === 0 && isDue(known.roll, now, { rest: REST_MS.roll, always: true })) {
    yield ask("listEndpoints", known_(""), { query: { limit: PAGE_ROWS } });
  }
  if (isDue(known.hour, now, statistics)) yield ask("getStatistics", known_("1h"), { query: { window: "1h" } });
  yield* aboutJobs({ known, now }, { always: hasRunningJob(known) });
}

function* aboutJobs({ known, now }: Pick<State, "known" | "now">, { always }: { always: boolean }): Generator<Call> {
  const rest = hasRunningJob(known) ? REST_MS.runningJobs : REST_MS.jobs;
  if (isDue(known.jobs, now, { rest, always })) yield ask("listJobs", known_(""), { query: { limit: 20 } });
}

function* aboutPlace(state: State, place: Place): Generator<Call> {
  if (place.kind === "event") {
    yield* aboutEvent(state, place.id);
    yield* aboutMissed(state, place.id);
    return;
  }
  yield* pagesOf(state, place);
  yield* touchedRows(state, place);
  yield* names(state, place);
  if (place.kind === "endpoint" || place.kind === "endpoints") yield* aboutTypes(state);
  if (place.kind === "endpoint") {
    yield* aboutEndpoint(state, place.id);
    yield* lastAttempts(state, place.id);
    for (const { sample_attempt: sample } of state.known.causes.get(place.id)?.value ?? [])
      yield* aboutSample(state, sample);
  }
  if (place.kind === "activity") yield* aboutJobs(state, { always: true });
  const shown = visibleRows<unknown>(place.list, layoutOf(state).list);
  if (place.kind === "endpoints") {
    const due = (shown as { id: string }[]).flatMap(({ id }) => [...aboutEndpoint(state, id)]);
    const busy = inFlight(state, ({ operation }) => operation === "getEndpoint");
    yield* due.slice(0, Math.max(0, MAX_AT_ONCE - busy));
  }
  if (place.kind === "overview") {
    const { worst } = overviewLayout(layoutOf(state).body);
    const judged = worstEndpoints(place.list.rows, Math.max(worst, MAX_JUDGED)).map(({ endpoint }) => endpoint);
    const due = judged.flatMap((id, index) => [...(index < worst ? aboutEndpoint : aboutHealth)(state, id)]);
    const busy = inFlight(state, ({ operation }) => operation === "getEndpoint");
    yield* due.slice(0, Math.max(0, MAX_AT_ONCE - busy));
  }
  if (place.kind === "failures" || place.kind === "overview") {
    const group = selectedRow(place.list);
    if (group === null) return;
    yield* aboutSample(state, group.sample_attempt);
    yield* aboutEndpoint(state, group.endpoint);
  }
}

function* pagesOf(state: State, place: WithList): Generator<Call> {
  const { list, number } = place;
  const kind = rowsKind(place);
  const { list: height } = layoutOf(state);
  const isOurs = ({ about }: Call) =>
    about.for === "page" && about.place === number && about.generation === list.generation;
  const isBusy = inFlight(state, isOurs) > 0;
  if (isBusy) return;
  const wanted = wantedPage<unknown>(list, height);
  const isLive = kind === "events" || kind === "deliveries";
  const isSparse = list.pages.length > 1;
  // The stream reports neither the audit log nor new endpoints.
  const isStale = list.stale || kind === "activity" || kind === "endpoints";
  const isShown = list.follow || (!isLive && !isSparse);
  const isRefresh =
    isStale && isShown && state.now - list.at >= Math.max(restOf(state, kind, isSparse), SPARING * list.tookMs);
  const page = wanted ?? (isRefresh ? 0 : null);
  if (page === null) return;
  const about: About = { for: "page", place: number, generation: list.generation, page };
  const limit = page === 0 && list.follow && isLive ? Math.min(PAGE_ROWS, height) : PAGE_ROWS;
  const cursor = list.pages[page]?.cursor ?? (page === list.pages.length ? list.next : null) ?? undefined;
  // Counting costs the daemon more than the page itself.
  const filter = filterQuery(state, place);
  const isCounted =
    page === 0 &&
    kind !== "failures" &&
    filter["data"] === undefined &&
    state.now - (list.total?.at ?? 0) >= REST_MS.total;
  const query = {
    ...filter,
    ...(kind !== "failures" && { limit, ...sortQuery(kind, list), cursor }),
    ...(isCounted && { total: true }),
  };
  yield ask(LIST_OPERATIONS[kind], about, { query: kind === "events" ? { ...query, include: "deliveries" } : query });
}

function restOf(state: State, kind: RowsKind, isSparse: boolean): number {
  if (kind === "failures") return REST_MS.failures;
  if (kind !== "events" && kind !== "deliveries") return REST_MS.audit;
  // With few matching rows, the daemon looks at thousands for each page.
  return isSparse ? REST_MS.sparse : refreshMs(state);
}

/** Reads the endpoints of the rows, because rows only have their ids. */
function* names(state: State, { list }: WithList): Generator<Call> {
  const shown = visibleRows<unknown>(list, layoutOf(state).list) as {
    readonly endpoint?: string;
    /** In the audit log, this may be the id of any kind of object. */
    readonly object?: string | null;
    readonly deliveries?: readonly { readonly endpoint: string }[];
  }[];
  const ids = new Set(
    shown.flatMap(({ endpoint, object, deliveries = [] }) => [
      ...(endpoint === undefined ? [] : [endpoint]),
      ...(object?.startsWith("ep_") ? [object] : []),
      ...deliveries.slice(0, 3).map((delivery) => delivery.endpoint),
    ]),
  );
  const unknown = [...ids].filter((id) => !state.known.endpoints.has(id) && !state.known.gone.has(id));
  const busy = inFlight(state, ({ operation }) => operation === "getEndpoint");
  for (const id of unknown.slice(0, Math.max(0, MAX_AT_ONCE - busy))) yield ask("getEndpoint", known_(id), { id });
}

/** Reads the rows that changed on a list that does not follow. */
function* touchedRows(state: State, place: WithList): Generator<Call> {
  const kind = rowsKind(place);
  if (kind !== "events" && kind !== "deliveries") return;
  const list = place.list as List<{ readonly id: string }>;
  if (list.follow) return;
  const operation = kind === "events" ? "getEvent" : "getDelivery";
  const shown = visibleRows(list, layoutOf(state).list).filter(({ id }) => list.touched.has(id));
  for (const { id } of shown.slice(0, MAX_AT_ONCE)) yield ask(operation, { for: "row", id }, { id });
}

function* aboutPane(state: State): Generator<Call> {
  // Request the next event only after this one has arrived, so that moving fast makes few requests.
  if (inFlight(state, ({ operation, about }) => operation === "getEvent" && about.for === "known") > 0) return;
  for (const id of [wantedEvent(state), ...nextEvents(state)]) {
    const due = id === null ? [] : [...aboutEvent(state, id)];
    yield* due;
    if (due.length > 0) return;
  }
}

/** The catalogue says what a pattern matches, and which types are on their way out. */
function* aboutTypes({ known }: State): Generator<Call> {
  if (known.types === null) yield ask("listEventTypes", known_(""));
}

function* aboutDialog(state: State): Generator<Call> {
  const mode = state.modes.at(-1);
  if (mode?.kind !== "dialog") return;
  const { dialog } = mode;
  const question = planQuestion(dialog);
  if (question !== null) yield question;
  const { known, now } = state;
  if (dialog.kind === "form" && known.types === null) yield ask("listEventTypes", known_(""));
  const waiting = waitingOf(dialog);
  for (const id of waiting === null ? plannedEndpoints(dialog) : [waiting.endpoint]) {
    if (isDue(known.health.get(id), now, { rest: REST_MS.endpoint })) yield ask("getEndpoint", known_(id), { id });
  }
}

function* aboutEvent({ known, now }: State, id: string): Generator<Call> {
  const rest = { rest: REST_MS.event };
  if (isDue(known.events.get(id), now, rest)) yield ask("getEvent", known_(id), { id });
  if (isDue(known.attempts.get(id), now, rest)) {
    yield ask("listEventAttempts", known_(id), { id, query: { limit: PAGE_ROWS, order: "newest" } });
  }
}

/** Asks why the event did not reach some endpoints. */
function* aboutMissed({ known }: State, id: string): Generator<Call> {
  for (const endpoint of missedBy(known, id)) {
    const pair = `${id} ${endpoint}`;
    if (known.reasons.has(pair) || known.gone.has(pair)) continue;
    yield ask("explainEvent", known_(pair), { id, query: { endpoint } });
  }
}

function* aboutHealth({ known, now }: State, id: string): Generator<Call> {
  if (known.gone.has(id) || !isDue(known.health.get(id), now, { rest: REST_MS.endpoint })) return;
  yield ask("getEndpoint", known_(id), { id });
}

function* aboutEndpoint(state: State, id: string): Generator<Call> {
  const { known, now } = state;
  if (known.gone.has(id)) return;
  yield* aboutHealth(state, id);
  const rest = { rest: REST_MS.endpoint };
  const health = known.health.get(id)?.value.health;
  if (
    health !== undefined &&
    health.consecutive_failures + health.failed > 0 &&
    isDue(known.causes.get(id), now, rest)
  ) {
    yield ask("listFailures", known_(id), { query: { endpoint: id } });
  }
  if (isDue(known.endpointStats.get(id), now, rest)) {
    yield ask("getStatistics", known_(id), { query: { window: "24h", endpoint: id } });
  }
}

function* lastAttempts({ known, now }: State, id: string): Generator<Call> {
  if (known.gone.has(id) || !isDue(known.lastAttempts.get(id), now, { rest: REST_MS.endpoint })) return;
  yield ask("listEndpointAttempts", known_(id), { id, query: { limit: PAGE_ROWS } });
}

function* aboutSample({ known }: State, id: string): Generator<Call> {
  if (!known.samples.has(id)) yield ask("getAttempt", known_(id), { id });
}

interface Due {
  /** The minimum time between two reads. */
  readonly rest: number;
  /** True to read again even if nothing is known to have changed. */
  readonly always?: boolean;
  readonly most?: number;
}

function isDue(read: Read<unknown> | null | undefined, now: number, { rest, always, most }: Due): boolean {
  if (read === null || read === undefined) return true;
  const old = now - read.at;
  return old >= rest && (read.stale || always === true || (most !== undefined && old >= most));
}

function known_(id: string): About {
  return { for: "known", id };
}

function ask<O extends keyof Answers>(operation: O, about: About, ask: Call["ask"] = {}): Call {
  return { operation, ask, about } as Call;
}

function inFlight({ asked }: State, matches: (call: Call) => boolean): number {
  return [...asked.values()].filter(({ call }) => matches(call)).length;
}
