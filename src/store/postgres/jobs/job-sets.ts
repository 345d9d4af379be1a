/** Finds the deliveries of a job's set, a page at a time. */
import type { KeyTimes } from "../../rows/key-times.ts";
import { statusesOf } from "../../../domain/deliveries/job.ts";
import { isMeant } from "../../../domain/deliveries/job-step.ts";
import { leftBecause } from "../../../domain/deliveries/withdrawal.ts";
import { dataOf } from "../../../domain/events/event.ts";
import { CompiledFilters } from "../../../domain/events/filter/compiled.ts";
import { matches as takes } from "../../../domain/events/filter/evaluate.ts";
import type { Filter } from "../../../domain/events/filter/filter.ts";
import { subjectOf } from "../../../domain/events/filter/subject.ts";
import { chooses, chosenOf, isPattern } from "../../../domain/events/pattern.ts";
import type { JobPlan, JobSet, LeftAlone } from "../../store.ts";
import { DELIVERY, FROM_DELIVERY, lastAttempts, nameOf, type DeliveryRow } from "../reads/attempts.ts";
import { receivingOf } from "../endpoints/endpoint-rows.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";
import { Values } from "../engine/page.ts";
import { labelsOf } from "../reads/summaries.ts";
import { ofDelivery, ofEvent } from "../reads/filters.ts";
import { matches, seeksResult } from "../../lists/filters.ts";
import { eventId, parseEventId } from "../../rows/codes.ts";
import { jobDeliveryOf } from "../../rows/shown-status.ts";
import { PlanTally } from "../../rows/job-row.ts";

export interface Selected {
  readonly event: number;
  readonly endpoint: number;
  readonly id: string;
  /** The reason why it cannot be sent. Null if the job includes it. */
  readonly left: LeftAlone["reason"] | null;
  readonly timedOut: boolean;
}

type Row = DeliveryRow & { readonly erased: boolean };

interface OfEndpoint {
  readonly number: number;
  readonly enabled: number;
  readonly deleted: boolean;
  readonly cancel_to: number | null;
  readonly filter: string | null;
}

/** Reads each page only when it is requested. */
export async function* select(
  database: Queries,
  set: JobSet,
  times: KeyTimes,
): AsyncGenerator<readonly Selected[], void> {
  const { filter } = set;
  let endpoint: number | null = null;
  if (filter.endpoint !== undefined) {
    const sql = `SELECT number, enabled, filter, deleted_at IS NOT NULL AS deleted, cancel_to
      FROM endpoint WHERE id = $1`;
    const [found] = await database.rows<OfEndpoint>(sql, [filter.endpoint]);
    if (found === undefined) return;
    if (filter.missing) return yield* selectMissing(database, set, found, times);
    endpoint = found.number;
  }
  const { low, high } = times.within(filter);
  for (let [event, minor] = [low, Number.MAX_SAFE_INTEGER], more = true; more;) {
    const rows = await page(database, set, { endpoint, event, minor, high });
    yield await selectFrom(database, set, rows);
    more = rows.length === CHUNK;
    if (more) ({ event, endpoint: minor } = rows.at(-1)!);
  }
}

interface Place {
  readonly endpoint: number | null;
  readonly event: number;
  readonly minor: number;
  readonly high: number;
}

function page(database: Queries, { action, filter, tenant }: JobSet, place: Place): Promise<Row[]> {
  const values = new Values();
  const { error, statusCode, type, test, events } = filter;
  const narrowed = {
    status: statusesOf(action, filter.status) ?? [],
    ...(error !== undefined && { error }),
    ...(statusCode !== undefined && { statusCode }),
  };
  const keys = events?.flatMap((id) => parseEventId(id)?.key ?? []);
  const sql = `SELECT ${DELIVERY}, e.body IS NULL AS erased FROM ${FROM_DELIVERY}
    WHERE (d.event, d.endpoint) > (${values.add(place.event)}::bigint, ${values.add(place.minor)}::bigint)
      AND d.event < ${values.add(place.high)}::bigint
      ${ofEvent("e", { tenant, type, test }, values)} ${ofDelivery("d", narrowed, place.endpoint, values)}
      ${keys === undefined ? "" : `AND d.event = ANY(${values.add(keys)}::bigint[])`}
    ORDER BY d.event, d.endpoint LIMIT ${CHUNK}`;
  return database.rows<Row>(sql, values.all);
}

async function selectFrom(queries: Queries, { action, filter }: JobSet, rows: readonly Row[]): Promise<Selected[]> {
  const lasts = await lastAttempts(queries, rows);
  const named = filter.events === undefined ? null : new Set(filter.events.map((id) => parseEventId(id)?.random));
  const matching = rows.filter((row) => {
    const last = lasts.get(nameOf(row));
    return (
      (named === null || named.has(row.random)) &&
      isMeant(action, filter.status, jobDeliveryOf(receivingOf(row), row)!, row.erased) &&
      (!seeksResult(filter) || (last !== undefined && matches(last, filter)))
    );
  });
  return matching.map((row) => ({
    event: row.event,
    endpoint: row.endpoint,
    id: row.endpoint_id,
    left: action === "cancel" ? null : leftBecause(receivingOf(row)),
    timedOut: lasts.get(nameOf(row))?.error === "timeout",
  }));
}

/** The number of bodies that are in memory at a time while they are filtered. */
const FILTERED = 16;

/**
 * Finds events of the types that the endpoint chose and that its filter accepts now, but of which it has no delivery.
 */
async function* selectMissing(
  database: Queries,
  { tenant, filter }: JobSet,
  endpoint: OfEndpoint,
  times: KeyTimes,
): AsyncGenerator<readonly Selected[], void> {
  if (tenant === null) return;
  const { low, high } = times.within(filter);
  const types = await chosenTypes(database, endpoint.number, filter.type);
  const compiled = new CompiledFilters().of(endpoint.filter);
  for (let event = low, more = true; more;) {
    const rows = await database.rows<{ event: number }>(
      `SELECT e.key AS event FROM event e
       WHERE e.tenant = $1 AND e.key > $2::bigint AND e.key < $3::bigint AND e.test = 0 AND e.body IS NOT NULL
         AND e.type = ANY($5::text[])
         AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event = e.key AND d.endpoint = $4)
       ORDER BY e.key LIMIT ${CHUNK}`,
      [tenant, event, high, endpoint.number, types],
    );
    const common = {
      endpoint: endpoint.number,
      id: filter.endpoint!,
      left: leftBecause(receivingOf(endpoint)),
      timedOut: false,
    };
    const keys = rows.map((row) => row.event);
    const taken = compiled === null ? keys : await takenBy(compiled, database, keys);
    yield taken.map((key) => ({ ...common, event: key }));
    more = rows.length === CHUNK;
    if (more) ({ event } = rows.at(-1)!);
  }
}

async function takenBy(filter: Filter, database: Queries, keys: readonly number[]): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let from = 0; from < keys.length; from += FILTERED) {
    const some = keys.slice(from, from + FILTERED);
    const rows = await database.rows<{ key: number; random: string; type: string; body: Buffer | null }>(
      "SELECT key, random, type, body FROM event WHERE key = ANY($1::bigint[]) ORDER BY key",
      [some],
    );
    const labels = await labelsOf(database, some);
    for (const { key, random, type, body } of rows) {
      if (body === null) continue;
      const data = dataOf(body, eventId(key, random), type);
      if (takes(filter, subjectOf(type, data, labels.get(key)?.tags ?? []))) taken.push(key);
    }
  }
  return taken;
}

/**
 * Returns the types that the endpoint chose, or this one if it is among them. A pattern stands for the types stored so
 * far.
 */
async function chosenTypes(database: Queries, endpoint: number, only: string | undefined): Promise<readonly string[]> {
  const chosen = await database.rows<{ name: string }>("SELECT type AS name FROM subscription WHERE endpoint = $1", [
    endpoint,
  ]);
  const names = chosen.map(({ name }) => name);
  if (only !== undefined) return chooses(names, only) ? [only] : [];
  if (!names.some(isPattern)) return names;
  const stored = await database.rows<{ name: string }>("SELECT name FROM event_type");
  return chosenOf(
    names,
    stored.map(({ name }) => name),
  );
}

export async function planJob(database: Queries, set: JobSet, times: KeyTimes): Promise<JobPlan> {
  const tally = new PlanTally();
  for await (const some of select(database, set, times)) {
    for (const { id, left, timedOut } of some) tally.add(id, left, timedOut);
  }
  return tally.plan();
}
