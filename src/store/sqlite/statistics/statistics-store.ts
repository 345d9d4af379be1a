/** Statistics: counters per minute, a census of deliveries and endpoints, and reports of failures. */
import type { EndpointHeldKeys } from "../../../domain/deliveries/ordering.ts";
import type {
  Caller,
  EndpointStatsQuery,
  CensusStep,
  FailingEndpoint,
  FailureQuery,
  FailureReport,
  SinceStart,
  StatisticsStore,
  Stats,
  StatsQuery,
  Census as Numbers,
} from "../../store.ts";
import type { Endpoints } from "../endpoints/endpoints.ts";
import type { Health } from "../endpoints/health.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { Counters, EVERYTHING, type Subject } from "./counters.ts";
import type { Reader } from "../questions/questions.ts";
import type { Database, Statement } from "better-sqlite3";
import { FAILED, FRESH, triggerCode, WAITING } from "../../rows/codes.ts";
import { FRESH_FROM } from "../numbers/fragments.ts";
import type { Interned } from "../numbers/names.ts";
import { Counts, minutesOf, MINUTE_MS, type Period, totalOf } from "../../rows/counts.ts";

interface Parts {
  readonly counters: Counters;
  readonly endpoints: Endpoints;
  readonly health: Health;
  readonly index: EndpointIndex;
  readonly reader: Reader;
  readonly tenants: Interned;
}

export class SqliteStatistics implements StatisticsStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #census: Census;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#census = new Census(engine.db, parts.index);
  }

  async period(query: StatsQuery, caller?: Caller): Promise<Stats | null> {
    const subject = this.#engine.read(() => this.#subjectOf(query));
    if (subject === null) return null;
    const [stats] = await this.#sums([subject], query, caller);
    return stats!;
  }

  async ofEndpoints(query: EndpointStatsQuery, caller?: Caller): Promise<ReadonlyMap<string, Stats>> {
    const { endpoints } = this.#parts;
    const numbers = this.#engine.read(() => query.endpoints.map((id) => [id, endpoints.numberOf(null, id)] as const));
    const known = numbers.filter((one): one is readonly [string, number] => one[1] !== null);
    const sums = await this.#sums(
      known.map(([, number]) => number),
      query,
      caller,
    );
    return new Map(known.map(([id], at) => [id, sums[at]!]));
  }

  async #sums(subjects: readonly Subject[], period: Period, caller?: Caller): Promise<readonly Stats[]> {
    const [first, end, step] = minutesOf(period);
    const unwritten = subjects.map((subject) => this.#engine.read(() => this.#parts.counters.unwritten(subject)));
    const asked = subjects.map((subject, at) => ({ subject, first, end, step, except: [...unwritten[at]!.keys()] }));
    const written = await this.#parts.reader.ask("sumMinutes", asked, { caller });
    return written.map((parts, at) => {
      const series = parts.map((row) => {
        const counts = new Counts();
        if (row !== null) counts.addRow(row);
        return counts;
      });
      for (const [minute, counts] of unwritten[at]!)
        if (minute >= first && minute < end) series[Math.floor((minute - first) / step)]!.add(counts);
      return totalOf(series);
    });
  }

  async sinceStart(): Promise<SinceStart> {
    const { attempts, published } = this.#parts.counters.sinceStart;
    return { attempts, published, commitTimes: this.#engine.commit.times };
  }

  async save(): Promise<void> {
    const { commit, clock } = this.#engine;
    // Each transaction begins by writing the counters.
    if (this.#parts.counters.isDue(clock.now()))
      await commit.run(() => undefined, { events: 0, deliveries: 0, patient: true });
  }

  async prune(before: number): Promise<number> {
    return this.#engine.commit.run(() => this.#parts.counters.prune(before), CHUNK_SIZE);
  }

  async census(from: string | null): Promise<CensusStep> {
    const { clock } = this.#engine;
    return this.#engine.read(() => this.#census.step(from, clock.now()));
  }

  failures(query: FailureQuery, caller?: Caller): Promise<FailureReport | null> {
    return this.#parts.reader.ask("failures", query, { caller });
  }

  async failing(tenant: string | null, now: number, limit: number): Promise<readonly FailingEndpoint[]> {
    const { endpoints, index, health } = this.#parts;
    const isOf = (endpoint: string) => tenant === null || endpoints.tenantOf(endpoint) === tenant;
    return this.#engine.read(() =>
      [...health.failing(now)]
        .filter(([number]) => !index.byNumber(number).deleted && isOf(index.byNumber(number).id))
        .toSorted(([, one], [, other]) => other.consecutiveFailures - one.consecutiveFailures)
        .slice(0, limit)
        .map(([number, { consecutiveFailures, failingSince, lastFailureAt }]) => {
          const { id, enabled } = index.byNumber(number);
          const since = { failingSince: failingSince!, lastFailureAt: lastFailureAt! };
          return { endpoint: id, enabled, consecutiveFailures, ...since };
        }),
    );
  }

  async heldKeys(limit: number): Promise<readonly EndpointHeldKeys[]> {
    const { health, reader } = this.#parts;
    // Without this look, a store that holds none would keep its reader's thread running.
    return this.#engine.read(() => health.heldKeys.isAny) ? reader.ask("longestHeldKeys", limit) : [];
  }

  /** Writes all counters with the last commit. */
  close(): void {
    this.#engine.commit.run(() => this.#parts.counters.writeAll()).catch(() => {});
  }

  #subjectOf({ tenant, endpoint }: StatsQuery): Subject | null {
    const { endpoints, tenants } = this.#parts;
    if (endpoint !== undefined) return endpoints.numberOf(tenant, endpoint);
    // A tenant that nobody has named yet has no number, and no row has NaN for its subject.
    return tenant === null ? EVERYTHING : -(tenants.find(tenant) ?? Number.NaN);
  }
}

type Counting = { -readonly [K in keyof Numbers]: Numbers[K] } & { readonly due: Map<number, number> };

const DUE_MINUTES = 60;

/** One index to walk. A row's first columns are the keys by which it is sorted. */
interface Part {
  readonly keys: number;
  readonly rows: Statement<number[], number[]>;
  count(row: readonly number[], counts: Counting, minute: number): void;
}

/** Counts deliveries and endpoints along indexes, some rows at a time. */
export class Census {
  readonly #parts: readonly Part[];

  constructor(db: Database, index: EndpointIndex) {
    const part = (keys: number, sql: string, count: Part["count"]): Part => {
      return { keys, count, rows: db.prepare<number[], number[]>(`${sql} LIMIT ${CHUNK}`).raw() };
    };
    /** Counts an open delivery. Returns true if it will be sent. */
    const open = (event: number, number: number, counts: Counting) => {
      const { deleted, enabled, cancelTo } = index.byNumber(number);
      if (deleted || event <= (cancelTo ?? -1)) return false;
      if (enabled) counts.pending++;
      else counts.held++;
      return enabled;
    };
    this.#parts = [
      part(
        3,
        `SELECT endpoint, due_at, event FROM delivery INDEXED BY delivery_waiting
         WHERE status = ${WAITING} AND (endpoint, due_at, event) > (?, ?, ?) ORDER BY endpoint, due_at, event`,
        ([endpoint, dueAt, event], counts, minute) => {
          const due = Math.max(Math.floor(dueAt! / MINUTE_MS), minute);
          if (open(event!, endpoint!, counts) && due < minute + DUE_MINUTES)
            counts.due.set(due, (counts.due.get(due) ?? 0) + 1);
        },
      ),
      part(
        2,
        `SELECT event, endpoint, trigger FROM delivery
         WHERE status = ${FRESH} AND (event, endpoint) > (max(?, ${FRESH_FROM} - 1), ?) ORDER BY event, endpoint`,
        ([event, endpoint, trigger], counts) => {
          if (trigger !== triggerCode("test")) open(event!, endpoint!, counts);
        },
      ),
      part(
        2,
        `SELECT event, endpoint, trigger FROM delivery INDEXED BY delivery_failed
         WHERE status = ${FAILED} AND (event, endpoint) > (?, ?) ORDER BY event, endpoint`,
        ([, , trigger], counts) => {
          if (trigger !== triggerCode("test")) counts.failed++;
        },
      ),
      part(
        1,
        "SELECT number, enabled, deleted_at IS NOT NULL FROM endpoint WHERE number > ? ORDER BY number",
        ([, enabled, deleted], counts) => {
          if (deleted === 1) return;
          if (enabled === 1) counts.enabled++;
          else counts.disabled++;
        },
      ),
    ];
  }

  step(from: string | null, now: number): CensusStep {
    const [at, ...after] = from === null ? [0] : from.split(",").map(Number);
    const { keys, rows, count } = this.#parts[at!]!;
    const found = rows.all(...(after.length > 0 ? after : Array.from({ length: keys }, () => -1)));
    const counts: Counting = { pending: 0, held: 0, failed: 0, enabled: 0, disabled: 0, due: new Map() };
    for (const row of found) count(row, counts, Math.floor(now / MINUTE_MS));
    const last = found.length < CHUNK ? null : found.at(-1)!.slice(0, keys);
    if (last !== null) return { ...counts, next: [at, ...last].join(",") };
    return { ...counts, next: at! + 1 < this.#parts.length ? String(at! + 1) : null };
  }
}
