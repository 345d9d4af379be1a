/**
 * How endpoints fare. What attempts came to is kept in memory of the node that an endpoint lives on, and written once a
 * second for those of whom there is news. How much is open or failed is counted when somebody asks, up to a limit.
 */
import { HEALTH_COUNT_LIMIT, type EndpointHealth } from "../../../domain/endpoints/endpoint.ts";
import type { EndedAttempt } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { FAILED, triggerCode, WAITING } from "../../rows/codes.ts";

interface Streak {
  lastSuccessAt: number | null;
  lastFailureAt: number | null;
  consecutiveFailures: number;
  failingSince: number | null;
}

/** From when on an endpoint is failing: `docs/interface.md` §6. */
const FAILING_ATTEMPTS = 20;
const FAILING_MS = 300_000;

export class Health {
  readonly #engine: Engine;
  readonly #streaks = new Map<number, Streak>();
  /** Endpoints with news; and those whose news are being written. */
  readonly #news = new Set<number>();
  readonly #saving = new Set<number>();
  /** Known here, and perhaps written by another node since. */
  readonly #stale = new Set<number>();
  /** Whether the streaks are here that others wrote: the last process, or the node that an endpoint lived on before. */
  #hasAll = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Before the attempts are counted: nothing may be awaited then. */
  async load(queries: Queries, endpoints: readonly number[]): Promise<void> {
    const isMissing = (endpoint: number) => !this.#streaks.has(endpoint) || this.#stale.has(endpoint);
    const missing = [...new Set(endpoints)].filter(isMissing);
    if (missing.length === 0) return;
    const rows = await queries.rows<Streak & { endpoint: number }>(
      `SELECT endpoint, last_success_at AS "lastSuccessAt", last_failure_at AS "lastFailureAt",
         consecutive_failures AS "consecutiveFailures", failing_since AS "failingSince"
       FROM health WHERE endpoint = ANY($1::integer[])`,
      [missing],
    );
    const stored = new Map(rows.map(({ endpoint, ...streak }) => [endpoint, streak]));
    for (const endpoint of missing) {
      if (isMissing(endpoint)) this.#streaks.set(endpoint, stored.get(endpoint) ?? none());
      this.#stale.delete(endpoint);
    }
  }

  /** After their commit: what was undone is no news. */
  note(endpoint: number, { claim, startedAt, outcome }: EndedAttempt): void {
    if (claim.trigger === "test" || outcome.outcome === "interrupted") return;
    const endedAt = Math.round(startedAt + outcome.durationMs);
    const streak = this.#streaks.get(endpoint);
    // Its row went meanwhile.
    if (streak === undefined) return;
    if (outcome.outcome === "succeeded") {
      streak.lastSuccessAt = endedAt;
      streak.consecutiveFailures = 0;
      streak.failingSince = null;
    } else {
      streak.lastFailureAt = endedAt;
      streak.consecutiveFailures++;
      streak.failingSince ??= endedAt;
    }
    this.#tell(endpoint);
  }

  /**
   * Enabled again, which is written down: what failed before says nothing of now. Where the endpoint lives on another
   * node, that one hears of it.
   */
  async restart({ id, number: endpoint }: { readonly id: string; readonly number: number }): Promise<void> {
    if (this.#engine.owner.owns?.(id) === false) return this.forget(endpoint);
    const streak = await this.streak(endpoint);
    streak.consecutiveFailures = 0;
    streak.failingSince = null;
    this.#tell(endpoint);
  }

  /** As `restart`, of what another node has enabled. */
  async restartAll(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const sql = "SELECT id, number FROM endpoint WHERE id = ANY($1::text[])";
    const rows = await this.#engine.database.rows<{ id: string; number: number }>(sql, [ids]);
    for (const row of rows) await this.restart(row);
  }

  /** What is written down is read again: another node may have written it since. */
  readAgain(): void {
    this.#hasAll = false;
    for (const endpoint of this.#streaks.keys()) this.#doubt(endpoint);
  }

  /** Others have the endpoints, and write down how they fare. */
  abandon(): void {
    this.#news.clear();
    this.readAgain();
  }

  #tell(endpoint: number): void {
    this.#news.add(endpoint);
    this.#stale.delete(endpoint);
  }

  /** What is on its way to the database is right. It stays here until it is read: attempts may be about to be counted. */
  #doubt(endpoint: number): void {
    const isUnwritten = this.#news.has(endpoint) || this.#saving.has(endpoint);
    if (!isUnwritten && this.#streaks.has(endpoint)) this.#stale.add(endpoint);
  }

  async streak(endpoint: number): Promise<Streak> {
    await this.load(this.#engine.database, [endpoint]);
    return this.#streaks.get(endpoint)!;
  }

  /** Its row is gone. */
  forget(endpoint: number): void {
    for (const known of [this.#streaks, this.#news, this.#stale]) known.delete(endpoint);
  }

  async of(row: { id: string; number: number; enabled: number; cancel_to: number | null }): Promise<EndpointHealth> {
    const isOwn = this.#engine.owner.owns?.(row.id) ?? true;
    if (!isOwn) this.#doubt(row.number);
    const { failingSince: _, ...streak } = await this.streak(row.number);
    const open = (status: number) => `(SELECT count(*) FROM (
      SELECT event FROM delivery WHERE status = ${status} AND endpoint = $1 LIMIT ${HEALTH_COUNT_LIMIT}
    ) few WHERE event > $2)`;
    const failed = (more: string) => `(SELECT count(*) FROM (
      SELECT 1 FROM delivery WHERE status = ${FAILED} AND endpoint = $1 ${more} LIMIT ${HEALTH_COUNT_LIMIT}) few)`;
    const [counts] = await this.#engine.database.lists.rows<{ open: number; failed: number }>(
      `SELECT ${open(0)} + ${open(WAITING)} AS open, ${failed(`AND trigger <> ${triggerCode("test")}`)} AS failed`,
      [row.number, row.cancel_to ?? -1],
    );
    const open_ = Math.min(HEALTH_COUNT_LIMIT, counts!.open);
    const [pending, held] = row.enabled === 1 ? [open_, 0] : [0, open_];
    return { ...streak, pending, held, failed: counts!.failed };
  }

  /** Those that failed for long enough, by number. */
  async failing(now: number): Promise<Map<number, Streak>> {
    // Those that wait for a late rung were not attempted since.
    if (!this.#hasAll) await this.#loadAll();
    const found = new Map<number, Streak>();
    for (const [endpoint, streak] of this.#streaks) {
      if (this.#stale.has(endpoint)) continue;
      const { consecutiveFailures, failingSince } = streak;
      const long = failingSince !== null && now - failingSince >= FAILING_MS;
      if (long || consecutiveFailures >= FAILING_ATTEMPTS) found.set(endpoint, { ...streak });
    }
    return found;
  }

  async #loadAll(): Promise<void> {
    const { lists } = this.#engine.database;
    // Said first: slots may be taken while it is read.
    this.#hasAll = true;
    try {
      const sql = "SELECT endpoint FROM health WHERE consecutive_failures > 0";
      const rows = await lists.rows<{ endpoint: number }>(sql, []);
      const failing = rows.map(({ endpoint }) => endpoint);
      await this.load(lists, failing);
    } catch (error) {
      this.#hasAll = false;
      throw error;
    }
  }

  get hasNews(): boolean {
    return this.#news.size > 0;
  }

  /** Writes down how at most 500 endpoints fare, if there is news of any. */
  async save(): Promise<void> {
    const some = [...this.#news].slice(0, CHUNK);
    if (some.length === 0) return;
    for (const endpoint of some) {
      this.#news.delete(endpoint);
      this.#saving.add(endpoint);
    }
    try {
      await this.#engine.write((tx) => this.#write(tx, some));
    } catch (error) {
      for (const endpoint of some) if (this.#streaks.has(endpoint)) this.#news.add(endpoint);
      throw error;
    } finally {
      for (const endpoint of some) this.#saving.delete(endpoint);
    }
  }

  async #write(tx: Queries, all: readonly number[]): Promise<void> {
    // A row that went meanwhile has been forgotten.
    const endpoints = all.filter((endpoint) => this.#streaks.has(endpoint));
    const streaks = endpoints.map((endpoint) => this.#streaks.get(endpoint)!);
    await tx.change(
      `INSERT INTO health (endpoint, last_success_at, last_failure_at, consecutive_failures, failing_since)
       SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[])
       ON CONFLICT (endpoint) DO UPDATE SET last_success_at = excluded.last_success_at,
         last_failure_at = excluded.last_failure_at, consecutive_failures = excluded.consecutive_failures,
         failing_since = excluded.failing_since`,
      [
        endpoints,
        streaks.map(({ lastSuccessAt }) => lastSuccessAt),
        streaks.map(({ lastFailureAt }) => lastFailureAt),
        streaks.map(({ consecutiveFailures }) => consecutiveFailures),
        streaks.map(({ failingSince }) => failingSince),
      ],
    );
  }
}

function none(): Streak {
  return { lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0, failingSince: null };
}
