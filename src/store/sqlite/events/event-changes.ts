/** Changes to an event that was published: replay, cancel and erase. */
import type { Database, Statement } from "better-sqlite3";
import { isCancellable, replayOf, replayTrigger, whoIsNotified } from "../../../domain/deliveries/withdrawal.ts";
import type {
  LeftAlone,
  Replay as Replayed,
  ReplayScope,
  Waiting,
  Withdrawal,
  WithdrawnDelivery,
} from "../../store.ts";
import { CANCEL, RESTART } from "../attempts/causes.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { FoundEvent } from "./events.ts";
import type { Labels } from "../lists/labels.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";
import { ATTEMPTS } from "../attempts/attempt-columns.ts";
import { withoutAnswer, type AttemptRow } from "../../rows/attempt-row.ts";
import type { Lines } from "../ordering/lines.ts";
import { BEHIND, deliveryId, storedStatusOf, triggerCode, WAITING } from "../../rows/codes.ts";

/** Starts a new round for failed deliveries: the same event, the same bytes, a fresh ladder. */
export class Replay {
  readonly #index: EndpointIndex;
  readonly #lines: Lines;
  readonly #select: Statement<[number], { endpoint: number; status: number }>;
  readonly #restart: Statement<[number, number, number, number]>;

  constructor(db: Database, index: EndpointIndex, lines: Lines) {
    this.#index = index;
    this.#lines = lines;
    this.#select = db.prepare("SELECT endpoint, status FROM delivery WHERE event = ? ORDER BY endpoint");
    this.#restart = db.prepare(
      `UPDATE delivery SET ${RESTART}, trigger = ?, due_at = ? WHERE event = ? AND endpoint = ?`,
    );
  }

  replay(event: FoundEvent, scope: ReplayScope, now: number): Replayed {
    if (event.erased) return { result: "gone" };
    const waiting: Waiting[] = [];
    const left: LeftAlone[] = [];
    let restarted = 0;
    for (const { endpoint: number, status } of this.#select.all(event.key)) {
      const endpoint = this.#index.byNumber(number);
      if (scope.endpoint !== undefined && scope.endpoint !== endpoint.id) continue;
      const action = replayOf(storedStatusOf(status), endpoint, scope.force === true);
      if (action === null) continue;
      if (action !== "restart") {
        left.push({ delivery: deliveryId(event.id, number), endpoint: endpoint.id, reason: action });
        continue;
      }
      const behind = this.#lines.reenter(endpoint, event.key);
      this.#restart.run(triggerCode(replayTrigger(event.test)), now + (behind ? BEHIND : 0), event.key, number);
      restarted++;
      if (behind) continue;
      waiting.push({ endpoint: endpoint.id, event: event.id, dueAt: now, ...(event.test && { isQuiet: true }) });
    }
    if (restarted > 0) return { result: "replayed", waiting, left };
    return left.length > 0 ? { result: "endpoint_disabled", left } : { result: "not_failed" };
  }
}

type Withdrawn = Extract<Withdrawal, { result: "withdrawn" }>;

interface Parts {
  readonly index: EndpointIndex;
  readonly fresh: FreshMark;
  readonly labels: Labels;
  readonly manual: ManualAttempts;
  readonly lines: Lines;
}

type AnswerRow = Pick<AttemptRow, "endpoint" | "number" | "started_at" | "connection">;
type Place = readonly [endpoint: number, number: number];

const FIRST: Place = [-1, -1];

/** Stops sending an event. If the event is erased, also removes its contents. */
export class Withdraw {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #page: Statement<[number, number, number], { endpoint: number; status: number }>;
  readonly #cancel: Statement<[number, number]>;
  readonly #isOpen: Statement<[number], number>;
  readonly #asked: Statement<[number], number>;
  readonly #erase: Statement<[number, number]>;
  readonly #eraseLarge: Statement<[number]>;
  readonly #attempts: Statement<[number, number, number, number], AnswerRow>;
  readonly #eraseAnswer: Statement<[Buffer | null, number, number, number]>;
  readonly #eraseFirst: Statement<[Buffer | null, number, number]>;

  constructor(engine: Engine, parts: Parts) {
    const { db } = engine;
    this.#engine = engine;
    this.#parts = parts;
    this.#page = db.prepare(
      "SELECT endpoint, status FROM delivery WHERE event = ? AND endpoint > ? ORDER BY endpoint LIMIT ?",
    );
    this.#cancel = db.prepare(`UPDATE delivery SET ${CANCEL} WHERE event = ? AND endpoint = ?`);
    this.#isOpen = db
      .prepare<[number], number>(`SELECT 1 FROM delivery WHERE event = ? AND status <= ${WAITING} LIMIT 1`)
      .pluck();
    this.#asked = db.prepare<[number], number>("SELECT endpoint FROM manual_attempt WHERE event = ?").pluck();
    // Remove the hash too, because short data can be guessed from it.
    this.#erase = db.prepare(
      "UPDATE event SET body = NULL, body_hash = x'', large = NULL, ordering_key = NULL, erased_at = coalesce(erased_at, ?) WHERE key = ?",
    );
    this.#eraseLarge = db.prepare("DELETE FROM large_data WHERE num = (SELECT large FROM event WHERE key = ?)");
    this.#attempts = db.prepare(
      `SELECT endpoint, number, started_at, connection FROM ${ATTEMPTS} WHERE event = ? AND (endpoint, number) > (?, ?)
       ORDER BY endpoint, number LIMIT ?`,
    );
    this.#eraseAnswer = db.prepare(
      `UPDATE attempt SET body = NULL, details = json_set(details, '$.responseHeaders', json('{}')), connection = ?
       WHERE event = ? AND endpoint = ? AND number = ?`,
    );
    this.#eraseFirst = db.prepare(
      "UPDATE delivery SET body = NULL, connection = ? WHERE event = ? AND endpoint = ? AND started_at IS NOT NULL",
    );
  }

  /** Cancels open deliveries and drops requested attempts, at one endpoint or at all. */
  async cancel(event: FoundEvent, only: number | null): Promise<Withdrawn> {
    const deliveries: WithdrawnDelivery[] = [];
    let cancelled = 0;
    for (let after: number | null = -1; after !== null;) {
      const from: number = after;
      const some = await this.#engine.commit.run(() => this.#cancelSome(event, from, only), CHUNK_SIZE);
      deliveries.push(...some.deliveries);
      cancelled += some.cancelled;
      after = some.next;
    }
    return { result: "withdrawn", deliveries, cancelled };
  }

  async erase(event: FoundEvent, now: number): Promise<Withdrawn> {
    const { commit } = this.#engine;
    const deliveries: WithdrawnDelivery[] = [];
    let cancelled = 0;
    for (let isErased = false; !isErased;) {
      const some = await this.cancel(event, null);
      const asked = await commit.run(() => this.#eraseBody(event, now));
      deliveries.push(...some.deliveries, ...(asked ?? []));
      cancelled += some.cancelled;
      isErased = asked !== null;
    }
    for (let after: Place | null = FIRST; after !== null;) {
      const from: Place = after;
      after = await commit.run(() => this.#eraseAnswers(event.key, from), CHUNK_SIZE);
    }
    return { result: "withdrawn", deliveries, cancelled };
  }

  /** `next` is the place at which to continue. Null when all have been examined. */
  #cancelSome({ id, key, test }: FoundEvent, after: number, only: number | null) {
    const { fresh, index, lines, manual } = this.#parts;
    const rows = this.#page.all(key, after, CHUNK);
    const now = this.#engine.clock.now();
    const deliveries: WithdrawnDelivery[] = [];
    let cancelled = 0;
    for (const { endpoint, status } of rows) {
      if (only !== null && only !== endpoint) continue;
      const stored = storedStatusOf(status);
      const holds = lines.holds(key, endpoint);
      if (isCancellable(stored, holds)) {
        this.#cancel.run(key, endpoint);
        fresh.settled(key, endpoint);
        lines.cancelled(key, index.byNumber(endpoint), now);
        cancelled++;
      }
      const notified = whoIsNotified(stored, manual.drop(key, endpoint), test, holds);
      if (notified === null) continue;
      const isQuiet = notified === "dispatcher" && { isQuiet: true as const };
      deliveries.push({ delivery: deliveryId(id, endpoint), endpoint: index.byNumber(endpoint).id, ...isQuiet });
    }
    return { deliveries, cancelled, next: rows.length < CHUNK ? null : rows.at(-1)!.endpoint };
  }

  /**
   * Returns null if a delivery is open because the event was replayed in the meantime. From here on it cannot be. Drops
   * attempts that were requested since the cancel.
   */
  #eraseBody({ id, key }: FoundEvent, now: number): readonly WithdrawnDelivery[] | null {
    if (this.#isOpen.get(key) !== undefined) return null;
    const { index, labels, manual } = this.#parts;
    this.#overwriting(() => {
      this.#eraseLarge.run(key);
      this.#erase.run(now, key);
      labels.drop(key);
    });
    const asked = this.#asked.all(key);
    for (const endpoint of asked) manual.drop(key, endpoint);
    return asked.map((endpoint) => ({
      delivery: deliveryId(id, endpoint),
      endpoint: index.byNumber(endpoint).id,
      isQuiet: true,
    }));
  }

  /** Erases the responses to some attempts. Returns the place at which to continue, or null when none are left. */
  #eraseAnswers(key: number, after: Place): Place | null {
    const rows = this.#attempts.all(key, ...after, CHUNK);
    this.#overwriting(() => {
      for (const { endpoint, number, started_at: startedAt, connection } of rows) {
        const left = connection && withoutAnswer(connection, startedAt);
        if (this.#eraseAnswer.run(left, key, endpoint, number).changes === 0) this.#eraseFirst.run(left, key, endpoint);
      }
    });
    const last = rows.at(-1);
    return last === undefined || rows.length < CHUNK ? null : [last.endpoint, last.number];
  }

  /** Without this the bytes would stay in the file until its space is used again. */
  #overwriting(work: () => void): void {
    this.#engine.db.pragma("secure_delete = ON");
    try {
      work();
    } finally {
      this.#engine.db.pragma("secure_delete = OFF");
    }
  }
}
