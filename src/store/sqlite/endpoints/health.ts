/**
 * How endpoints fare. What attempts came to is kept in memory, a few assignments for each, and written once a second for
 * those of whom there is news. How many deliveries are open or failed is counted when somebody asks, along an index and
 * up to a limit: counters would cost every commit a write for each endpoint that it touches.
 */
import type { Database, Statement } from "better-sqlite3";
import { HEALTH_COUNT_LIMIT, type EndpointHealth } from "../../../domain/endpoints/endpoint.ts";
import type { EndedAttempt } from "../../store.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { FAILED, triggerCode, WAITING } from "../../rows/codes.ts";
import { IS_FRESH } from "../numbers/fragments.ts";

interface Streak {
  lastSuccessAt: number | null;
  lastFailureAt: number | null;
  consecutiveFailures: number;
  failingSince: number | null;
}

type StreakRow = [number, number | null, number | null, number, number | null];

/** More fresh deliveries than memory holds. */
const FRESH_LIMIT = 20_000;

/** From when on an endpoint is failing: `docs/interface.md` §6. */
const FAILING_ATTEMPTS = 20;
const FAILING_MS = 300_000;

export class Health {
  readonly #index: EndpointIndex;
  readonly #streaks = new Map<number, Streak>();
  /** Endpoints with news. */
  readonly #news = new Set<number>();
  readonly #select: Statement<[number], Streak>;
  readonly #upsert: Statement<StreakRow>;
  readonly #restart: Statement<[number]>;
  readonly #failing: Statement<[], number>;
  /** Whether the streaks are here that the last process wrote. */
  #hasAll = false;
  readonly #waiting: Statement<[number, number], number>;
  readonly #fresh: Statement<[number, number], number>;
  readonly #failed: Statement<[{ endpoint: number }], number>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
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

  /** After their commit: what was undone is no news. */
  note(attempts: readonly EndedAttempt[]): void {
    for (const attempt of attempts) {
      const endpoint = this.#index.byId(attempt.claim.endpoint);
      if (endpoint !== undefined) this.#note(endpoint.number, attempt);
    }
  }

  #note(endpoint: number, { claim, startedAt, outcome }: EndedAttempt): void {
    if (claim.trigger === "test" || outcome.outcome === "interrupted") return;
    const endedAt = Math.round(startedAt + outcome.durationMs);
    const streak = this.streak(endpoint);
    if (outcome.outcome === "succeeded") {
      streak.lastSuccessAt = endedAt;
      streak.consecutiveFailures = 0;
      streak.failingSince = null;
    } else {
      streak.lastFailureAt = endedAt;
      streak.consecutiveFailures++;
      streak.failingSince ??= endedAt;
    }
    this.#news.add(endpoint);
  }

  /** Inside the transaction that enables it: a process that dies before the next `write` would leave the old streak. */
  writeRestart(endpoint: number): void {
    this.#restart.run(endpoint);
  }

  /** After its commit: what failed before it was enabled again says nothing of now. */
  restart(endpoint: number): void {
    const streak = this.streak(endpoint);
    streak.consecutiveFailures = 0;
    streak.failingSince = null;
    this.#news.add(endpoint);
  }

  streak(endpoint: number): Streak {
    let streak = this.#streaks.get(endpoint);
    if (streak === undefined) {
      const none = { lastSuccessAt: null, lastFailureAt: null, consecutiveFailures: 0, failingSince: null };
      this.#streaks.set(endpoint, (streak = this.#select.get(endpoint) ?? none));
    }
    return streak;
  }

  /** Its row is gone. */
  forget(endpoint: number): void {
    this.#streaks.delete(endpoint);
    this.#news.delete(endpoint);
  }

  of({ number, enabled, cancelTo }: EndpointEntry): EndpointHealth {
    const { failingSince: _, ...streak } = this.streak(number);
    const after = cancelTo ?? -1;
    const open = Math.min(HEALTH_COUNT_LIMIT, this.#waiting.get(number, after)! + this.#fresh.get(number, after)!);
    const [pending, held] = enabled ? [open, 0] : [0, open];
    return { ...streak, pending, held, failed: this.#failed.get({ endpoint: number })! };
  }

  /** Those that failed for long enough, by number. */
  *failing(now: number): Generator<[number, Streak]> {
    // Those that wait for a late rung were not attempted since the start.
    if (!this.#hasAll) for (const endpoint of this.#failing.all()) this.streak(endpoint);
    this.#hasAll = true;
    for (const [endpoint, streak] of this.#streaks) {
      const { consecutiveFailures, failingSince } = streak;
      const long = failingSince !== null && now - failingSince >= FAILING_MS;
      if (long || consecutiveFailures >= FAILING_ATTEMPTS) yield [endpoint, streak];
    }
  }

  get hasNews(): boolean {
    return this.#news.size > 0;
  }

  /** Takes at most 500 of those with news. */
  takeNews(): number[] {
    const some = [...this.#news].slice(0, CHUNK);
    for (const endpoint of some) this.#news.delete(endpoint);
    return some;
  }

  /** It could not be written. */
  giveBack(endpoints: readonly number[]): void {
    for (const endpoint of endpoints) this.#news.add(endpoint);
  }

  /** Inside a transaction. */
  write(endpoints: readonly number[]): void {
    for (const endpoint of endpoints) {
      const { lastSuccessAt, lastFailureAt, consecutiveFailures, failingSince } = this.streak(endpoint);
      this.#upsert.run(endpoint, lastSuccessAt, lastFailureAt, consecutiveFailures, failingSince);
    }
  }
}
