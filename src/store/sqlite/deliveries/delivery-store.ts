/** The verbs about the way of a delivery: `../../deliveries.ts`. */
import type { Position } from "../../../domain/delivery.ts";
import type { DuePage, EndedAttempt, Owed, Recorded, Waiting } from "../../store.ts";
import type { SetAside } from "../../files/set-aside.ts";
import type { Condition } from "../engine/condition.ts";
import type { Doors } from "../engine/doors.ts";
import type { Due } from "../claims/due.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { RecordAttempts } from "./record.ts";
import type { Registry } from "../endpoints/registry.ts";
import type { Statistics } from "../statistics/statistics.ts";

interface Parts extends Doors {
  readonly condition: Condition;
  readonly setAside: SetAside;
  readonly due: Due;
  readonly record: RecordAttempts;
  readonly jobs: Jobs;
  readonly registry: Registry;
  readonly statistics: Statistics;
}

export class DeliveryVerbs {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async due(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return this.#parts.read(() => {
      const page = this.#parts.due.page(endpoint, after, until, limit);
      return { ...page, claims: page.claims.map((claim) => this.#parts.jobs.paced(claim)) };
    });
  }

  async earliestDue(after: string | null, limit: number): Promise<Map<string, number>> {
    return this.#parts.read(() => this.#parts.due.earliest(after, limit));
  }

  async waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]> {
    return this.#parts.read(() => this.#parts.due.waiting(endpoint, after, limit));
  }

  async fresh(after: Owed | null, limit: number): Promise<readonly Owed[]> {
    return this.#parts.read(() => this.#parts.due.fresh(after, limit));
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    const size = { events: 0, deliveries: attempts.length, patient: true };
    const recorded = await this.#parts.commit
      .run(() => attempts.map((attempt) => this.#recordOne(attempt)), size)
      .catch((error: unknown) => this.#setAside(attempts, error));
    this.#parts.registry.noteAttempts(attempts);
    this.#parts.statistics.noteAttempts(attempts, recorded);
    return recorded;
  }

  async park(deliveries: readonly Waiting[], now: number): Promise<Waiting[]> {
    return this.#parts.commit.run(() => this.#parts.record.park(deliveries, now), {
      events: 0,
      deliveries: deliveries.length,
    });
  }

  /** In a damaged database they cannot be recorded, and without them it would all be sent again after it is mended. */
  #setAside(attempts: readonly EndedAttempt[], error: unknown): Recorded[] {
    if (!this.#parts.condition.damaged) throw error;
    this.#parts.setAside.add(attempts);
    return attempts.map(() => ({ result: "applied", waiting: null }));
  }

  #recordOne(ended: EndedAttempt): Recorded {
    const recorded = this.#parts.record.record(ended);
    this.#parts.jobs.attempted(ended, recorded);
    return recorded;
  }
}
