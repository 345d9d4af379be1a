/** The way of a delivery: from where it waits, through its attempts, to its end. */
import type { Claim, Position } from "../../../domain/deliveries/delivery.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { SetAside } from "../../files/set-aside.ts";
import type {
  AttemptRequest,
  DeliveryStore,
  DuePage,
  EndedAttempt,
  EventDelivery,
  Owed,
  Recorded,
  Waiting,
} from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Due } from "../claims/due.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Health } from "../endpoints/health.ts";
import type { Engine } from "../engine/engine.ts";
import type { JobSteps } from "../jobs/job-steps.ts";
import type { SqliteStatistics } from "../statistics/statistics-store.ts";
import type { Deliveries } from "./deliveries.ts";
import type { RecordAttempts } from "./record.ts";

interface Parts {
  /** Takes what cannot be recorded in a damaged database. */
  readonly setAside: SetAside;
  readonly deliveries: Deliveries;
  readonly due: Due;
  readonly manual: ManualAttempts;
  readonly record: RecordAttempts;
  readonly jobs: JobSteps;
  readonly health: Health;
  readonly statistics: SqliteStatistics;
  readonly idempotency: IdempotencyKeys;
}

export class SqliteDeliveries implements DeliveryStore {
  readonly #engine: Engine;
  readonly #parts: Parts;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
  }

  async due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return this.#engine.read(() => {
      const page = this.#parts.due.page(endpoint, after, until, limit);
      return { ...page, claims: page.claims.map((claim) => this.#parts.jobs.paced(claim)) };
    });
  }

  async earliestDue(after: string | null, limit: number): Promise<Map<string, number>> {
    return this.#engine.read(() => this.#parts.due.earliest(after, limit));
  }

  async waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]> {
    return this.#engine.read(() => this.#parts.due.waiting(endpoint, after, limit));
  }

  async fresh(after: Owed | null, limit: number): Promise<readonly Owed[]> {
    return this.#engine.read(() => this.#parts.due.fresh(after, limit));
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    const size = { events: 0, deliveries: attempts.length, patient: true };
    const recorded = await this.#engine.commit
      .run(() => attempts.map((attempt) => this.#recordOne(attempt)), size)
      .catch((error: unknown) => this.#setAside(attempts, error));
    this.#parts.health.note(attempts);
    this.#parts.statistics.noteAttempts(attempts, recorded);
    return recorded;
  }

  async park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]> {
    const size = { events: 0, deliveries: deliveries.length };
    return this.#engine.commit.run(() => this.#parts.record.park(deliveries, now), size);
  }

  async requestAttempt(
    tenant: string | null,
    delivery: string,
    now: number,
    once?: Once<AttemptRequest>,
  ): Promise<AttemptRequest> {
    const { deliveries, idempotency, manual } = this.#parts;
    return idempotency.commit(once, now, () => {
      const found = deliveries.find(tenant, delivery);
      return found === null ? { result: "not_found" } : manual.request(found);
    });
  }

  async requestedAttempt(delivery: string): Promise<Claim | null> {
    return this.#engine.read(() => {
      const claim = this.#parts.manual.claimOfId(delivery);
      return claim && this.#parts.jobs.paced(claim);
    });
  }

  async requestedAttempts(after: EventDelivery | null, limit: number): Promise<readonly EventDelivery[]> {
    return this.#engine.read(() => this.#parts.manual.page(after, limit));
  }

  /** In a damaged database they cannot be recorded, and without them it would all be sent again after it is mended. */
  #setAside(attempts: readonly EndedAttempt[], error: unknown): Recorded[] {
    if (!this.#engine.condition.damaged) throw error;
    this.#parts.setAside.add(attempts);
    return attempts.map(() => ({ result: "applied", waiting: null }));
  }

  #recordOne(ended: EndedAttempt): Recorded {
    const recorded = this.#parts.record.record(ended);
    this.#parts.jobs.attempted(ended, recorded);
    return recorded;
  }
}
