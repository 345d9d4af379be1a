/** The way of an event: it is committed with its deliveries, and may be replayed, cancelled and erased. */
import type { Database, Statement } from "better-sqlite3";
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type {
  EventStore,
  HasRoom,
  LeftAlone,
  Publication,
  Replay as Replayed,
  ReplayScope,
  Waiting,
  Withdrawal,
} from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Engine } from "../engine/engine.ts";
import { DELIVERED, FAILED, triggerCode, WAITING } from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { deliveryId } from "../numbers/ids.ts";
import type { SqliteStatistics } from "../statistics/statistics-store.ts";
import type { Events, FoundEvent } from "./events.ts";
import type { Publish } from "./publish.ts";
import { Withdraw } from "./withdraw.ts";

interface Parts {
  readonly events: Events;
  readonly idempotency: IdempotencyKeys;
  readonly index: EndpointIndex;
  readonly manual: ManualAttempts;
  readonly publish: Publish;
  readonly statistics: SqliteStatistics;
}

/** Deliveries that one publish may make: they are one transaction, and everybody else's commit waits for it. */
const MAX_FAN_OUT = 20_000;

export class SqliteEvents implements EventStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #replay: Replay;
  readonly #withdraw: Withdraw;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#replay = new Replay(engine.db, parts.index);
    this.#withdraw = new Withdraw(engine, parts);
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    const { idempotency, index, publish, statistics } = this.#parts;
    this.#engine.condition.requireSpace();
    const deliveries = this.#engine.read(() =>
      drafts.reduce((sum, { tenant, type }) => sum + index.fanOut(tenant, type), 0),
    );
    if (deliveries > MAX_FAN_OUT) throw fanOutTooLarge(deliveries);
    const size = { events: drafts.length, deliveries };
    const publications = await idempotency.commit(once, now, () => publish.publish(drafts, now, hasRoom), size);
    statistics.notePublished(drafts, publications);
    return publications;
  }

  async replay(
    tenant: string | null,
    event: string,
    scope: ReplayScope,
    now: number,
    once?: Once<Replayed>,
  ): Promise<Replayed> {
    const { events, idempotency } = this.#parts;
    return idempotency.commit(once, now, () => {
      const found = events.find(tenant, event);
      return found === null ? { result: "not_found" } : this.#replay.replay(found, scope, now);
    });
  }

  async cancel(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal> {
    const { read } = this.#engine;
    const found = read(() => this.#parts.events.find(tenant, event));
    if (found === null) return { result: "not_found" };
    const only = endpoint === null ? null : (read(() => this.#parts.index.byId(endpoint)?.number) ?? -1);
    return this.#withdraw.cancel(found, only);
  }

  async erase(tenant: string | null, event: string): Promise<Withdrawal> {
    const found = this.#engine.read(() => this.#parts.events.find(tenant, event));
    return found === null ? { result: "not_found" } : this.#withdraw.erase(found);
  }
}

/** A new round for what failed: same event, same bytes, a fresh ladder. */
class Replay {
  readonly #index: EndpointIndex;
  readonly #select: Statement<[number], { endpoint: number; status: number }>;
  readonly #restart: Statement<[number, number, number, number]>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    this.#select = db.prepare("SELECT endpoint, status FROM delivery WHERE event = ? ORDER BY endpoint");
    this.#restart = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, round = round + 1, retry = 0, trigger = ?, due_at = ?
       WHERE event = ? AND endpoint = ?`,
    );
  }

  replay(event: FoundEvent, scope: ReplayScope, now: number): Replayed {
    if (event.erased) return { result: "gone" };
    const waiting: Waiting[] = [];
    const left: LeftAlone[] = [];
    for (const { endpoint: number, status } of this.#select.all(event.key)) {
      if (status !== FAILED && !(scope.force === true && status === DELIVERED)) continue;
      const endpoint = this.#index.byNumber(number);
      if (scope.endpoint !== undefined && scope.endpoint !== endpoint.id) continue;
      // While what it was owed is being cancelled, a new round would be cancelled too.
      if (endpoint.deleted || !endpoint.enabled || endpoint.cancelTo !== null) {
        const reason = endpoint.deleted ? "endpoint_deleted" : "endpoint_disabled";
        left.push({ delivery: deliveryId(event.id, number), endpoint: endpoint.id, reason });
        continue;
      }
      // A test stays one attempt.
      this.#restart.run(triggerCode(event.test ? "test" : "replay"), now, event.key, number);
      waiting.push({ endpoint: endpoint.id, event: event.id, dueAt: now });
    }
    if (waiting.length > 0) return { result: "replayed", waiting, left };
    return left.length > 0 ? { result: "endpoint_disabled", left } : { result: "not_failed" };
  }
}

function fanOutTooLarge(deliveries: number): WebhookdError {
  const detail = `these events would make ${deliveries} deliveries, but one publish may make at most ${MAX_FAN_OUT}; send smaller batches`;
  return new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: "/events", code: "fan_out_too_large", detail }],
  });
}
