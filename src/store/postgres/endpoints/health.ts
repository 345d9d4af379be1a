/**
 * The health of endpoints. The node that owns an endpoint keeps its streak in memory; streaks that changed are written
 * once a second. Open and failed deliveries are counted when somebody asks, up to a limit.
 */
import { heldKeysOf, heldKeysSql, type HeldKeysRow } from "../../rows/ordering-sql.ts";
import { heldKeysLimit } from "../../../domain/deliveries/ordering.ts";
import { HEALTH_COUNT_LIMIT, type EndpointHealth } from "../../../domain/endpoints/endpoint.ts";
import { afterAttempt, afterEnabling, isFailing, NO_STREAK, type Streak } from "../../../domain/endpoints/streak.ts";
import type { EndedAttempt } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { FAILED, triggerCode, WAITING } from "../../rows/codes.ts";

interface Counted {
  readonly id: string;
  readonly number: number;
  readonly enabled: number;
  readonly cancel_to: number | null;
}

export class Health {
  readonly #engine: Engine;
  readonly #streaks = new Map<number, Streak>();
  /** Endpoints whose streak has changed since it was written. */
  readonly #changed = new Set<number>();
  /** Endpoints whose streak is being written. */
  readonly #saving = new Set<number>();
  /** Endpoints whose streak is in memory, although another node may have written it since. */
  readonly #stale = new Set<number>();
  /**
   * True once the streaks that others wrote have been read. The writer was the last process, or the node that owned an
   * endpoint before.
   */
  #hasAll = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Must be called before attempts are noted, because `note` cannot await anything. */
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
      if (isMissing(endpoint)) this.#streaks.set(endpoint, stored.get(endpoint) ?? NO_STREAK);
      this.#stale.delete(endpoint);
    }
  }

  /** Must be called after the commit of the attempt, because a rollback undoes it. */
  note(endpoint: number, attempt: EndedAttempt): void {
    this.#change(endpoint, (streak) => afterAttempt(streak, attempt));
  }

  /**
   * Must be called after the commit that enables the endpoint. If another node owns the endpoint, that node is
   * notified, and keeps the streak.
   */
  async restart({ id, number: endpoint }: { readonly id: string; readonly number: number }): Promise<void> {
    if (this.#engine.owner.owns?.(id) === false) return this.forget(endpoint);
    await this.load(this.#engine.database, [endpoint]);
    this.#change(endpoint, afterEnabling);
  }

  /** Does the same as `restart` for endpoints that another node has enabled. */
  async restartAll(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const sql = "SELECT id, number FROM endpoint WHERE id = ANY($1::text[])";
    const rows = await this.#engine.database.rows<{ id: string; number: number }>(sql, [ids]);
    for (const row of rows) await this.restart(row);
  }

  /** Reads all streaks again before they are used, because another node may have written them. */
  readAgain(): void {
    this.#hasAll = false;
    for (const endpoint of this.#streaks.keys()) this.#doubt(endpoint);
  }

  /** Must be called when other nodes own the endpoints, and write their streaks. */
  abandon(): void {
    this.#changed.clear();
    this.readAgain();
  }

  #change(endpoint: number, change: (streak: Streak) => Streak): void {
    const before = this.#streaks.get(endpoint);
    // The streak is missing from memory if the endpoint's row has been removed in the meantime.
    const after = before && change(before);
    if (after === undefined || after === before) return;
    this.#streaks.set(endpoint, after);
    this.#changed.add(endpoint);
    this.#stale.delete(endpoint);
  }

  /**
   * Marks the streak to be read again, unless it is about to be written, since then memory is right. The old streak
   * stays in memory until it has been read, because attempts may be about to be noted.
   */
  #doubt(endpoint: number): void {
    const isUnwritten = this.#changed.has(endpoint) || this.#saving.has(endpoint);
    if (!isUnwritten && this.#streaks.has(endpoint)) this.#stale.add(endpoint);
  }

  async streak(endpoint: number): Promise<Streak> {
    await this.load(this.#engine.database, [endpoint]);
    return this.#streaks.get(endpoint)!;
  }

  /** Must be called when the row of the endpoint is gone. */
  forget(endpoint: number): void {
    for (const known of [this.#streaks, this.#changed, this.#stale]) known.delete(endpoint);
  }

  async of(row: Counted): Promise<EndpointHealth> {
    return (await this.ofAll([row])).get(row.id)!;
  }

  /** Returns the health of all of them by id, and reads their streaks and counts at once. */
  async ofAll(rows: readonly Counted[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const { database, owner } = this.#engine;
    for (const { id, number } of rows) if (owner.owns?.(id) === false) this.#doubt(number);
    const open = (status: number) => `(SELECT count(*) FROM (
      SELECT event FROM delivery WHERE status = ${status} AND endpoint = p.number LIMIT ${HEALTH_COUNT_LIMIT}
    ) few WHERE event > p.after)`;
    const failed = (more: string) => `(SELECT count(*) FROM (
      SELECT 1 FROM delivery WHERE status = ${FAILED} AND endpoint = p.number ${more} LIMIT ${HEALTH_COUNT_LIMIT}) few)`;
    const counts = await database.lists.rows<{ open: number; failed: number }>(
      `SELECT ${open(0)} + ${open(WAITING)} AS open, ${failed(`AND trigger <> ${triggerCode("test")}`)} AS failed
       FROM unnest($1::integer[], $2::bigint[]) WITH ORDINALITY AS p(number, after, place) ORDER BY p.place`,
      [rows.map(({ number }) => number), rows.map(({ cancel_to: to }) => to ?? -1)],
    );
    const numbers = rows.map(({ number }) => number);
    const [held] = await Promise.all([
      database.lists.rows<HeldKeysRow>(heldKeysSql("SELECT unnest($1::integer[]) AS number", "$2"), [
        numbers,
        heldKeysLimit(numbers.length),
      ]),
      this.load(database, numbers),
    ]);
    const heldKeys = new Map(held.map((row) => [row.number, heldKeysOf(row)]));
    const found = rows.map(({ id, number, enabled }, at) => {
      const { failingSince: _, ...streak } = this.#streaks.get(number) ?? NO_STREAK;
      const open_ = Math.min(HEALTH_COUNT_LIMIT, counts[at]!.open);
      const [pending, kept] = enabled === 1 ? [open_, 0] : [0, open_];
      const known = { pending, held: kept, failed: counts[at]!.failed, heldKeys: heldKeys.get(number) ?? null };
      return [id, { ...streak, ...known }] as const;
    });
    return new Map(found);
  }

  /** Returns the endpoints that are failing, by number. */
  async failing(now: number): Promise<Map<number, Streak>> {
    // An endpoint whose deliveries wait for a late rung may not have had an attempt since the start.
    if (!this.#hasAll) await this.#loadAll();
    const found = new Map<number, Streak>();
    for (const [endpoint, streak] of this.#streaks) {
      if (this.#stale.has(endpoint)) continue;
      if (isFailing(streak.consecutiveFailures, streak.failingSince, now)) found.set(endpoint, streak);
    }
    return found;
  }

  async #loadAll(): Promise<void> {
    const { lists } = this.#engine.database;
    // Set this first, because this node may take slots while it reads, and must then read again.
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

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Writes at most 500 of the streaks that have changed. */
  async save(): Promise<void> {
    const some = [...this.#changed].slice(0, CHUNK);
    if (some.length === 0) return;
    for (const endpoint of some) {
      this.#changed.delete(endpoint);
      this.#saving.add(endpoint);
    }
    try {
      await this.#engine.write((tx) => this.#write(tx, some));
    } catch (error) {
      for (const endpoint of some) if (this.#streaks.has(endpoint)) this.#changed.add(endpoint);
      throw error;
    } finally {
      for (const endpoint of some) this.#saving.delete(endpoint);
    }
  }

  async #write(tx: Queries, all: readonly number[]): Promise<void> {
    // If an endpoint was forgotten in the meantime, its row is gone.
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
