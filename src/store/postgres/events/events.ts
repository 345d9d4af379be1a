/** The store of events: commits them with their deliveries, and replays, cancels and erases them. */
import { aheadOf } from "../../rows/key-times.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventDraft } from "../../../domain/events/event.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { Capacity } from "../../../domain/events/routing.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import type { EventStore, Publication, Replay, ReplayScope, Withdrawal } from "../../store.ts";
import type { Counters } from "../statistics/counters.ts";
import type { Queries } from "../engine/database.ts";
import type { Engine } from "../engine/engine.ts";
import { cancelEvent, eraseEvent, findEvent, lockLinesOf, replayEvent } from "./event-changes.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Pending } from "../deliveries/pending.ts";
import type { Lines } from "../ordering/lines.ts";
import { Publish, type Request } from "./publish.ts";

interface Parts {
  readonly idempotency: IdempotencyKeys;
  readonly counters: Counters;
  readonly lines: Lines;
  readonly pending: Pending;
  /** 0 means no limit. */
  readonly maxPendingPerTenant: number;
  readonly shares: TenantShares;
}

export class PostgresEvents implements EventStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #publish: Publish;
  readonly #shared = (tx: Queries, requests: readonly Request[]) => this.#publish.all(tx, requests);

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#publish = new Publish(engine, parts);
  }

  idsAheadMs(now: number): number | null {
    return aheadOf(this.#engine.keys.last, now);
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    capacity: Capacity,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    const request = { drafts, now, capacity };
    const publications =
      once === undefined
        ? await this.#engine.share(this.#shared, request, {
            rows: drafts.length,
            locksLines: drafts.some(({ orderingKey }) => orderingKey !== undefined),
          })
        : await this.#parts.idempotency.commit(once, now, async (tx) => {
            const [result] = await this.#publish.all(tx, [request]);
            if (result instanceof WebhookdError) throw result;
            return result!;
          });
    this.#publish.published(drafts);
    this.#parts.counters.notePublished(drafts, publications, this.#engine.clock.now());
    return publications;
  }

  replay(tenant: string | null, event: string, scope: ReplayScope, now: number, once?: Once<Replay>): Promise<Replay> {
    return this.#parts.idempotency.commit(once, now, async (tx) => {
      const named = await findEvent(tx, tenant, event);
      // The lines come before the event: see `lines.ts`.
      if (named !== null) await lockLinesOf(tx, named);
      const found = named && (await findEvent(tx, tenant, event, "FOR UPDATE"));
      if (found === null) return { result: "not_found" };
      const replay = await replayEvent(tx, this.#parts, found, scope, now);
      if (replay.result === "replayed") await this.#engine.owner.notify(tx, replay);
      return replay;
    });
  }

  async cancel(tenant: string | null, event: string, endpoint: string | null): Promise<Withdrawal> {
    const found = await findEvent(this.#engine.database, tenant, event);
    return found === null ? { result: "not_found" } : cancelEvent(this.#engine, this.#parts, found, endpoint);
  }

  async erase(tenant: string | null, event: string, now: number): Promise<Withdrawal> {
    const found = await findEvent(this.#engine.database, tenant, event);
    return found === null ? { result: "not_found" } : eraseEvent(this.#engine, this.#parts, found, now);
  }
}
