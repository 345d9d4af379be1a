/** The way of an event: it is committed with its deliveries, and may be replayed, cancelled and erased. */
import { type EventDraft, refusedFanOut } from "../../../domain/events/event.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import type { EventStore, HasRoom, Publication, Replay as Replayed, ReplayScope, Withdrawal } from "../../store.ts";
import type { Labels } from "../attempts/labels.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts } from "../claims/marks.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Counters } from "../statistics/counters.ts";
import { Replay, Withdraw } from "./event-changes.ts";
import type { Events } from "./events.ts";
import { isLarge, type LargeBatch, type LargeData } from "./large-data.ts";
import { Publish } from "./publish.ts";

interface Parts {
  readonly events: Events;
  readonly idempotency: IdempotencyKeys;
  readonly index: EndpointIndex;
  readonly manual: ManualAttempts;
  readonly counters: Counters;
  readonly fresh: FreshMark;
  readonly labels: Labels;
  readonly large: LargeData;
  /** 0: no limit. */
  readonly maxPendingPerTenant: number;
  readonly shares: TenantShares;
}

export class SqliteEvents implements EventStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #publish: Publish;
  readonly #replay: Replay;
  readonly #withdraw: Withdraw;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#publish = new Publish(engine, parts);
    this.#replay = new Replay(engine.db, parts.index);
    this.#withdraw = new Withdraw(engine, parts);
  }

  async publish(
    drafts: readonly EventDraft[],
    now: number,
    hasRoom: HasRoom,
    once?: Once<readonly Publication[]>,
  ): Promise<Publication[]> {
    const { counters, idempotency, index, large } = this.#parts;
    this.#engine.condition.requireSpace();
    const deliveries = this.#engine.read(() =>
      drafts.reduce((sum, { tenant, type }) => sum + index.fanOut(tenant, type), 0),
    );
    const tooLarge = refusedFanOut(deliveries);
    if (tooLarge !== null) throw tooLarge;
    const [{ tenant } = { tenant: "*" }] = drafts.every((draft) => draft.tenant === drafts[0]!.tenant) ? drafts : [];
    this.#publish.limit(drafts);
    const commit = async (batch: LargeBatch | null, bytes: number) => {
      const size = { events: drafts.length, deliveries, published: { tenant, bytes } };
      const work = () => this.#publish.publish(drafts, now, hasRoom, batch);
      const publications = await idempotency.commit(once, now, work, size);
      counters.notePublished(drafts, publications, this.#engine.clock.now());
      return publications;
    };
    if (!isLarge(drafts))
      return commit(
        null,
        drafts.reduce((sum, { data }) => sum + data.length, 0),
      );
    return large.inTurn(tenant, async () => {
      // Nothing is written of what is refused, or repeats another.
      const repeats = await this.#engine.commitOrRefuse(() => this.#publish.repeats(drafts, now));
      const isNew = (at: number) => (repeats?.[at] ?? null) === null;
      if (!drafts.some((_, at) => isNew(at))) return commit(null, 0);
      const batch = await large.write(drafts, tenant, isNew);
      try {
        return await commit(batch, 0);
      } finally {
        large.end(batch);
      }
    });
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
