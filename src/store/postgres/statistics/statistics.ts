/** Statistics: counters per minute, a census of deliveries and endpoints, and reports of failures. */
import { heldKeysLimit, type EndpointHeldKeys } from "../../../domain/deliveries/ordering.ts";
import { heldKeysOf, heldKeysSql, holdingSql, type HeldKeysRow, type HoldingRow } from "../../rows/ordering-sql.ts";
import type { AttemptError } from "../../../domain/deliveries/attempt.ts";
import { FailureGroups } from "../../../domain/deliveries/failure.ts";
import type {
  Census,
  CensusStep,
  EndpointStatsQuery,
  FailingEndpoint,
  FailureQuery,
  FailureReport,
  SinceStart,
  StatisticsStore,
  Stats,
  StatsQuery,
} from "../../store.ts";
import { OF_ENDPOINT, statusOf, type OfEndpoint } from "../reads/attempts.ts";
import { EVERYTHING, ofTenant, type Counters, type Subject } from "./counters.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import type { Health } from "../endpoints/health.ts";
import { attemptId, eventId, FAILED, FRESH, outcomeCode, triggerCode, WAITING } from "../../rows/codes.ts";
import { Counts, minutesOf, MINUTE_MS, type Period, totalOf } from "../../rows/counts.ts";

interface Parts {
  readonly counters: Counters;
  readonly health: Health;
}

interface Stored {
  readonly subject: Subject;
  readonly minute: number;
  readonly life: string;
  readonly attempts: string;
  readonly published: string | null;
}

export class PostgresStatistics implements StatisticsStore {
  readonly #engine: Engine;
  readonly #parts: Parts;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
  }

  async period(query: StatsQuery): Promise<Stats | null> {
    const { tenant, endpoint } = query;
    if (endpoint !== undefined && !(await this.#isThere(tenant, endpoint))) return null;
    const subject = endpoint ?? (tenant === null ? EVERYTHING : ofTenant(tenant));
    return (await this.#sums([subject], query)).get(subject)!;
  }

  async ofEndpoints(query: EndpointStatsQuery): Promise<ReadonlyMap<string, Stats>> {
    const sql = "SELECT id FROM endpoint WHERE id = ANY($1::text[])";
    const known = await this.#engine.database.lists.rows<{ id: string }>(sql, [query.endpoints]);
    return this.#sums(
      known.map(({ id }) => id),
      query,
    );
  }

  async #sums(subjects: readonly Subject[], period: Period): Promise<ReadonlyMap<Subject, Stats>> {
    const [first, end, step] = minutesOf(period);
    const rows = await this.#engine.database.lists.rows<Stored>(
      `SELECT subject, minute, life, attempts, published FROM counter
       WHERE subject = ANY($1::text[]) AND minute >= $2 AND minute < $3`,
      [subjects, first, end],
    );
    const sums = new Map<Subject, Counts[]>();
    const known = new Set<string>();
    const partOf = (subject: Subject, minute: number) => sums.get(subject)![Math.floor((minute - first) / step)]!;
    const parts = Math.max(0, Math.ceil((end - first) / step));
    for (const subject of subjects) {
      sums.set(
        subject,
        Array.from({ length: parts }, () => new Counts()),
      );
      for (const { minute, life, counts } of this.#parts.counters.unwritten(subject)) {
        known.add(`${subject} ${minute} ${life}`);
        if (minute >= first && minute < end) partOf(subject, minute).add(counts);
      }
    }
    for (const row of rows)
      if (!known.has(`${row.subject} ${row.minute} ${row.life}`)) partOf(row.subject, row.minute).addRow(row);
    return new Map([...sums].map(([subject, series]) => [subject, totalOf(series)]));
  }

  async sinceStart(): Promise<SinceStart> {
    const { attempts, published } = this.#parts.counters.sinceStart;
    return { attempts, published, commitTimes: this.#engine.times };
  }

  async save(): Promise<void> {
    // Each transaction begins by writing the counters.
    if (this.#parts.counters.isDue(this.#engine.clock.now())) await this.#engine.write(async () => {});
  }

  prune(before: number): Promise<number> {
    return this.#engine.write((tx) =>
      tx.change(
        `DELETE FROM counter WHERE (subject, minute, life) IN (
           SELECT subject, minute, life FROM counter WHERE minute < $1 LIMIT ${CHUNK})`,
        [Math.floor(before / MINUTE_MS)],
      ),
    );
  }

  census(from: string | null): Promise<CensusStep> {
    return censusStep(this.#engine, from);
  }

  async failures(query: FailureQuery): Promise<FailureReport | null> {
    const { tenant, endpoint } = query;
    if (endpoint !== undefined && !(await this.#isThere(tenant, endpoint))) return null;
    return failureReport(this.#engine, query);
  }

  async failing(tenant: string | null, now: number, limit: number): Promise<readonly FailingEndpoint[]> {
    const failing = await this.#parts.health.failing(now);
    const rows = await this.#engine.database.lists.rows<{ number: number; id: string; enabled: number }>(
      `SELECT number, id, enabled FROM endpoint
       WHERE number = ANY($1::integer[]) AND deleted_at IS NULL AND ($2::text IS NULL OR tenant = $2)`,
      [[...failing.keys()], tenant],
    );
    const { owns } = this.#engine.owner;
    return rows
      .filter(({ id }) => owns?.(id) ?? true)
      .map(({ number, id, enabled }) => {
        const { consecutiveFailures, failingSince, lastFailureAt } = failing.get(number)!;
        const since = { failingSince: failingSince!, lastFailureAt: lastFailureAt! };
        return { endpoint: id, enabled: enabled === 1, consecutiveFailures, ...since };
      })
      .toSorted((one, other) => other.consecutiveFailures - one.consecutiveFailures)
      .slice(0, limit);
  }

  async heldKeys(limit: number): Promise<readonly EndpointHeldKeys[]> {
    const { lists } = this.#engine.database;
    const holding = await lists.rows<HoldingRow>(holdingSql("$1"), [limit]);
    if (holding.length === 0) return [];
    const ids = new Map(holding.map(({ number, id }) => [number, id]));
    const sql = heldKeysSql("SELECT unnest($1::integer[]) AS number", "$2");
    const rows = await lists.rows<HeldKeysRow>(sql, [[...ids.keys()], heldKeysLimit(ids.size)]);
    return rows.map((row) => ({ endpoint: ids.get(row.number)!, ...heldKeysOf(row) }));
  }

  async #isThere(tenant: string | null, endpoint: string): Promise<boolean> {
    const sql = "SELECT 1 FROM endpoint WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)";
    return (await this.#engine.database.lists.rows(sql, [endpoint, tenant])).length > 0;
  }
}

type Counting = { -readonly [K in keyof Census]: Census[K] } & { readonly due: Map<number, number> };

const DUE_MINUTES = 60;

interface CensusRow extends OfEndpoint {
  readonly event: number;
  readonly endpoint: number;
  readonly status: number;
  readonly trigger: number;
}

/** Counts open deliveries in the order of their keys, then failed ones, then endpoints. */
async function censusStep({ clock, database }: Engine, from: string | null): Promise<CensusStep> {
  const [part, ...after] = from === null ? [0] : from.split(",").map(Number);
  const counts: Counting = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0, due: new Map() };
  const minute = Math.floor(clock.now() / MINUTE_MS);
  const [event, endpoint] = [after[0] ?? -1, after[1] ?? -1];
  if (part! < 3) {
    const status = [FRESH, WAITING, FAILED][part!]!;
    // Waiting deliveries have their own index, which has another order.
    const order = status === WAITING ? "d.endpoint, d.due_at, d.event" : "d.event, d.endpoint";
    const place = status === WAITING ? "($1::integer, $2::bigint, $3::bigint)" : "($1::bigint, $2::integer)";
    const values = status === WAITING ? [after[0] ?? -1, after[1] ?? -1, after[2] ?? -1] : [event, endpoint];
    const rows = await database.rows<CensusRow & { due_at: number }>(
      `SELECT d.event, d.endpoint, d.status, d.trigger, d.due_at, ${OF_ENDPOINT}
       FROM delivery d JOIN endpoint p ON p.number = d.endpoint
       WHERE d.status = ${status} AND (${order}) > ${place} ORDER BY ${order} LIMIT ${CHUNK}`,
      values,
    );
    for (const row of rows) {
      const shown = statusOf(row);
      const isTest = row.trigger === triggerCode("test") && row.status !== WAITING;
      if (!isTest && (shown === "pending" || shown === "held" || shown === "failed")) counts[shown]++;
      if (row.status !== WAITING || shown !== "pending") continue;
      const due = Math.max(Math.floor(row.due_at / MINUTE_MS), minute);
      if (due < minute + DUE_MINUTES) counts.due.set(due, (counts.due.get(due) ?? 0) + 1);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < CHUNK) return { ...counts, next: String(part! + 1) };
    const keys = status === WAITING ? [last.endpoint, last.due_at, last.event] : [last.event, last.endpoint];
    return { ...counts, next: [part, ...keys].join() };
  }
  const rows = await database.rows<{ number: number; enabled: number }>(
    `SELECT number, enabled FROM endpoint WHERE number > $1 AND deleted_at IS NULL ORDER BY number LIMIT ${CHUNK}`,
    [event],
  );
  for (const { enabled } of rows) counts[enabled === 1 ? "enabled" : "disabled"]++;
  return { ...counts, next: rows.length < CHUNK ? null : [part, rows.at(-1)!.number].join() };
}

/** The number of deliveries read in one step, and in total. */
const SLICE = 1000;
const MAX_LOOKED = 100_000;

interface FailureRow extends OfEndpoint {
  readonly event: number;
  readonly endpoint: number;
  readonly status: number;
  readonly trigger: number;
  readonly random: string;
  readonly number: number;
  readonly outcome: number;
  readonly error: AttemptError;
  readonly status_code: number | null;
  readonly first_at: number;
  readonly last_at: number;
}

/** An interrupted attempt says nothing about the receiver, so the attempt before it counts. */
const LAST = `SELECT * FROM attempt l WHERE l.event = d.event AND l.endpoint = d.endpoint
  AND l.outcome <> ${outcomeCode("interrupted")} ORDER BY l.number DESC LIMIT 1`;
const FIRST = `SELECT f.started_at FROM attempt f WHERE f.event = a.event AND f.endpoint = a.endpoint AND f.round = a.round
  AND f.outcome = a.outcome AND f.error IS NOT DISTINCT FROM a.error
  AND f.status_code IS NOT DISTINCT FROM a.status_code ORDER BY f.number LIMIT 1`;

/** Reads the newest first, a slice at a time. */
async function failureReport({ database, keys: { times } }: Engine, query: FailureQuery): Promise<FailureReport> {
  const { tenant, endpoint, since, limit } = query;
  const groups = new FailureGroups(query);
  /** Keyed by endpoint and event. */
  const samples = new Map<string, string>();
  let [event, minor] = [Number.MAX_SAFE_INTEGER, 0];
  let looked = 0;
  for (let more = true; more && looked < MAX_LOOKED;) {
    const rows = await database.rows<FailureRow>(
      `SELECT d.event, d.endpoint, d.status, d.trigger, e.random, ${OF_ENDPOINT}, a.number, a.outcome, a.error,
         a.status_code, a.started_at AS last_at, (${FIRST}) AS first_at
       FROM delivery d JOIN endpoint p ON p.number = d.endpoint JOIN event e ON e.key = d.event AND e.test = 0
       CROSS JOIN LATERAL (${LAST}) a
       WHERE d.status IN (${FRESH}, ${WAITING}, ${FAILED}) AND (d.event, d.endpoint) < ($1::bigint, $2::integer)
         AND d.event >= $3::bigint AND ($4::text IS NULL OR p.tenant = $4) AND ($5::text IS NULL OR p.id = $5)
       ORDER BY d.event DESC, d.endpoint DESC LIMIT ${SLICE}`,
      [event, minor, times.firstKeyAt(since), tenant, endpoint ?? null],
    );
    for (const row of rows) {
      if (!addFailure(groups, row)) continue;
      samples.set(
        `${row.endpoint_id} ${row.event}`,
        attemptId(eventId(row.event, row.random), row.endpoint, row.number),
      );
    }
    looked += rows.length;
    more = rows.length === SLICE;
    if (more) ({ event, endpoint: minor } = rows.at(-1)!);
  }
  const wasAll = looked < MAX_LOOKED;
  const largest = groups.largest(limit, ({ endpoint: id, event: key }) => samples.get(`${id} ${key}`)!);
  return { since: wasAll ? since : times.madeAt(event), total: groups.size, groups: largest };
}

/** Returns true if the row is a failure. */
function addFailure(groups: FailureGroups, row: FailureRow): boolean {
  if (row.outcome !== outcomeCode("failed")) return false;
  const status = statusOf(row);
  if (status !== "failed" && status !== "pending" && status !== "held") return false;
  const { event, endpoint_id: endpoint, error, status_code: statusCode, first_at: firstAt, last_at: lastAt } = row;
  groups.add({ endpoint, status, error, statusCode, firstAt, lastAt, event });
  return true;
}
