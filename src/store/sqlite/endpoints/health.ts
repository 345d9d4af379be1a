/**
 * The health of endpoints. Streaks are kept in memory, and those that changed are written once a second. Open and
 * failed deliveries are counted when somebody asks, along an index and up to a limit, because counters would cost every
 * commit a write for each endpoint that it touches.
 */
import type { Database, Statement } from "better-sqlite3";
import { HEALTH_COUNT_LIMIT, type EndpointHealth } from "../../../domain/endpoints/endpoint.ts";
import { afterAttempt, afterEnabling, isFailing, NO_STREAK, type Streak } from "../../../domain/endpoints/streak.ts";
import type { EndedAttempt } from "../../store.ts";
import { HeldKeys } from "../ordering/held-keys.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { FAILED, triggerCode, WAITING } from "../../rows/codes.ts";
import { IS_FRESH } from "../numbers/fragments.ts";

type StreakRow = [number, number | null, number | null, number, number | null];

/** Memory holds fewer fresh deliveries than this. */
const FRESH_LIMIT = 20_000;

export class Health {
  readonly heldKeys: HeldKeys;
  readonly #index: EndpointIndex;
  readonly #streaks = new Map<number, Streak>();
  /** Endpoints whose streak has changed since it was written. */
  readonly #changed = new Set<number>();
  readonly #select: Statement<[number], Streak>;
  readonly #upsert: Statement<StreakRow>;
  readonly #restart: Statement<[number]>;
  readonly #failing: Statement<[], number>;
  /** True once the streaks that the last process wrote have been read. */
  #hasAll = false;
  readonly #waiting: Statement<[number, number], number>;
  readonly #fresh: Statement<[number, number], number>;
  readonly #failed: Statement<[{ endpoint: number }], number>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.heldKeys = new HeldKeys(db);
    this.#select = db.prepare(
      `SELECT last_success_at AS lastSuccessAt, last_failure_at AS lastFailureAt,
         consecutive_failures AS consecutiveFailures, failing_since AS failingSince FROM health WHERE endpoint = ?`,
    );
    this.#upsert = db.prepare(
      `INSERT OR REPLACE INTO health (endpoint, last_success_at, last_failure_at, consecutive_failures, failing_since)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#restart = db.prepare("UPDATE health SET consecutive_failures = 0, failing_since = NULL WHERE endpoint = ?");
    this.#failing = db.prepare<[], number>("SELECT endpoint FROM health WHERE consecutive_failures > 0").pluck();
    const count = <P extends unknown[]>(sql: string) => db.prepare<P, number>(sql).pluck();
    this.#waiting = count(
      `SELECT count(*) FROM (
         SELECT event FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND endpoint = ?
         LIMIT ${HEALTH_COUNT_LIMIT}
       ) WHERE event > ?`,
    );
    this.#fresh = count(
      `SELECT count(*) FROM (
         SELECT event, endpoint FROM delivery WHERE ${IS_FRESH} LIMIT ${FRESH_LIMIT}
       ) WHERE endpoint = ? AND event > ?`,
    );
    this.#failed = count(
      `SELECT
         (SELECT count(*) FROM (
            SELECT 1 FROM delivery INDEXED BY delivery_endpoint_failed WHERE status = ${FAILED} AND endpoint = @endpoint
            LIMIT ${HEALTH_COUNT_LIMIT})) -
         (SELECT count(*) FROM (
            SELECT 1 FROM delivery INDEXED BY delivery_test_failed
            WHERE status = ${FAILED} AND trigger = ${triggerCode("test")} AND endpoint = @endpoint
            LIMIT ${HEALTH_COUNT_LIMIT}))`,
    );
  }

  /** Must be called after the commit of the attempts, because a rollback undoes them. */
  note(attempts: readonly EndedAttempt[]): void {
    for (const attempt of attempts) {
      const endpoint = this.#index.byId(attempt.claim.endpoint)?.number;
      if (endpoint !== undefined) this.#set(endpoint, afterAttempt(this.streak(endpoint), attempt));
    }
  }

  /**
   * Must be called inside the transaction that enables the endpoint: a process that dies before the next `write` would
   * leave the old streak.
   */
  writeRestart(endpoint: number): void {
    this.#restart.run(endpoint);
  }

  /** Must be called after the commit that enables the endpoint. */
  restart(endpoint: number): void {
    this.#set(endpoint, afterEnabling(this.streak(endpoint)));
  }

  #set(endpoint: number, streak: Streak): void {
    if (streak === this.#streaks.get(endpoint)) return;
    this.#streaks.set(endpoint, streak);
    this.#changed.add(endpoint);
  }

  streak(endpoint: number): Streak {
    let streak = this.#streaks.get(endpoint);
    if (streak === undefined) this.#streaks.set(endpoint, (streak = this.#select.get(endpoint) ?? NO_STREAK));
    return streak;
  }

  /** Must be called when the row of the endpoint is gone. */
  forget(endpoint: number): void {
    this.#streaks.delete(endpoint);
    this.#changed.delete(endpoint);
  }

  /** Counts at most `mostHeld` held keys. */
  of({ number, enabled, cancelTo }: EndpointEntry, mostHeld: number): EndpointHealth {
    const { failingSince: _, ...streak } = this.streak(number);
    const after = cancelTo ?? -1;
    const open = Math.min(HEALTH_COUNT_LIMIT, this.#waiting.get(number, after)! + this.#fresh.get(number, after)!);
    const [pending, held] = enabled ? [open, 0] : [0, open];
    const failed = this.#failed.get({ endpoint: number })!;
    return { ...streak, pending, held, failed, heldKeys: this.heldKeys.of(number, mostHeld) };
  }

  /** Yields the endpoints that are failing, by number. */
  *failing(now: number): Generator<[number, Streak]> {
    // An endpoint whose deliveries wait for a late rung may not have had an attempt since the start.
    if (!this.#hasAll) for (const endpoint of this.#failing.all()) this.streak(endpoint);
    this.#hasAll = true;
    for (const [endpoint, streak] of this.#streaks) {
      if (isFailing(streak.consecutiveFailures, streak.failingSince, now)) yield [endpoint, streak];
    }
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Takes at most 500 endpoints whose streak must be written. */
  takeChanged(): number[] {
    const some = [...this.#changed].slice(0, CHUNK);
    for (const endpoint of some) this.#changed.delete(endpoint);
    return some;
  }

  /** Must be called if the streaks that were taken could not be written. */
  giveBack(endpoints: readonly number[]): void {
    for (const endpoint of endpoints) this.#changed.add(endpoint);
  }

  /** Must be called inside a transaction. */
  write(endpoints: readonly number[]): void {
    for (const endpoint of endpoints) {
      const { lastSuccessAt, lastFailureAt, consecutiveFailures, failingSince } = this.streak(endpoint);
      this.#upsert.run(endpoint, lastSuccessAt, lastFailureAt, consecutiveFailures, failingSince);
    }
  }
}
