/** The way of an event: it is committed with its deliveries, and may be replayed, cancelled and erased. */
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventDraft } from "../../../domain/event.ts";
import type { Once } from "../../../domain/idempotency.ts";
import type { EventStore, HasRoom, Publication, Replay as Replayed, ReplayScope, Withdrawal } from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { SqliteStatistics } from "../statistics/statistics-store.ts";
import type { Events } from "./events.ts";
import type { Publish } from "./publish.ts";
import { Replay } from "./replay.ts";
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

function fanOutTooLarge(deliveries: number): WebhookdError {
  const detail = `these events would make ${deliveries} deliveries, at most ${MAX_FAN_OUT} fit into one publish; send smaller batches`;
  return new WebhookdError("validation_failed", detail, {
    errors: [{ pointer: "/events", code: "fan_out_too_large", detail }],
  });
}
