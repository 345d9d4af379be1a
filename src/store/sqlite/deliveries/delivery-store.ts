/** The contract for deliveries, and the recording of attempts. */
import type { Clock } from "../../../clock.ts";
import type { Claim, Position, StoredStatus } from "../../../domain/deliveries/delivery.ts";
import {
  afterAttempt,
  answersRequest,
  moveOf,
  withoutResponse,
  type DeliveryState,
} from "../../../domain/deliveries/record.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { SetAside } from "../../files/spare-files.ts";
import type {
  AttemptRequest,
  DeliveryStore,
  DuePage,
  EndedAttempt,
  EventDelivery,
  PendingDelivery,
  Recorded,
  Reordered,
  Waiting,
} from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Due } from "../claims/due.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts, Started } from "../claims/manual-attempts.ts";
import type { Health } from "../endpoints/health.ts";
import type { Engine } from "../engine/engine.ts";
import type { JobSteps } from "../jobs/job-steps.ts";
import type { Counters } from "../statistics/counters.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Database, Statement } from "better-sqlite3";
import { isPlainFirst, type Attempts } from "../attempts/attempts.ts";
import { Causes } from "../attempts/causes.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Lines } from "../ordering/lines.ts";
import { BEHIND, FRESH, WAITING, isBehind, keyOf } from "../../rows/codes.ts";
import { rowOf, stateOf, type StateRow } from "../../rows/delivery-row.ts";

interface Parts {
  /** Keeps results that a damaged database cannot record. */
  readonly setAside: SetAside;
  readonly deliveries: Deliveries;
  readonly due: Due;
  readonly manual: ManualAttempts;
  readonly record: RecordAttempts;
  readonly lines: Lines;
  readonly jobs: JobSteps;
  readonly health: Health;
  readonly counters: Counters;
  readonly idempotency: IdempotencyKeys;
}

export class SqliteDeliveries implements DeliveryStore {
  readonly dueAtOnce = 1;
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

  async dueFirst(endpoint: string, after: Position, until: number, limit: number): Promise<DuePage> {
    return this.#engine.read(() => this.#parts.due.first(endpoint, after, until, limit));
  }

  async earliestDue(after: string | null, limit: number): Promise<Map<string, number>> {
    return this.#engine.read(() => this.#parts.due.earliest(after, limit));
  }

  async waiting(endpoint: string, after: Position, limit: number): Promise<readonly PendingDelivery[]> {
    return this.#engine.read(() => this.#parts.due.waiting(endpoint, after, limit));
  }

  async fresh(after: PendingDelivery | null, limit: number): Promise<readonly PendingDelivery[]> {
    return this.#engine.read(() => this.#parts.due.fresh(after, limit));
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    // Somebody is watching while a test or a manual attempt is made, so do not wait.
    const patient = attempts.every(({ claim }) => claim.trigger !== "test" && claim.trigger !== "manual");
    const size = { events: 0, deliveries: attempts.length, patient };
    const recorded = await this.#engine.commit
      .run(() => attempts.map((attempt) => this.#recordOne(attempt)), size)
      .catch((error: unknown) => this.#setAside(attempts, error));
    this.#parts.health.note(attempts);
    this.#parts.counters.noteAttempts(attempts, recorded, this.#engine.clock.now());
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

  reordered(): Reordered | null {
    return this.#parts.lines.take();
  }

  /**
   * Keeps results that a damaged database cannot record. Without them, everything would be sent again after the repair.
   */
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

type Columns = [status: number, attempts: number, retry: number, trigger: number, dueAt: number | null];
type Write = [...Columns, event: number, endpoint: number];

const APPLIED: Recorded = { result: "applied", waiting: null };
const SUPERSEDED: Recorded = { result: "superseded", waiting: null };

/**
 * Records attempts, and takes fresh deliveries back from memory. Nearly all attempts move their delivery, and one
 * statement does that without reading the row. `afterAttempt` decides about the others.
 */
export class RecordAttempts {
  readonly #index: EndpointIndex;
  readonly #attempts: Attempts;
  readonly #causes: Causes;
  readonly #started: Started;
  readonly #manual: ManualAttempts;
  readonly #fresh: FreshMark;
  readonly #lines: Lines;
  readonly #clock: Pick<Clock, "now">;
  readonly #move: Statement<[...Write, attemptsBefore: number]>;
  readonly #write: Statement<Write>;
  readonly #current: Statement<[number, number], StateRow>;
  readonly #isErased: Statement<[number], number>;
  readonly #park: Statement<[number, number, number]>;

  constructor(
    db: Database,
    parts: {
      index: EndpointIndex;
      attempts: Attempts;
      started: Started;
      manual: ManualAttempts;
      fresh: FreshMark;
      lines: Lines;
      clock: Pick<Clock, "now">;
    },
  ) {
    this.#lines = parts.lines;
    this.#clock = parts.clock;
    this.#index = parts.index;
    this.#attempts = parts.attempts;
    this.#causes = new Causes(db);
    this.#started = parts.started;
    this.#manual = parts.manual;
    this.#fresh = parts.fresh;
    const write = "UPDATE delivery SET status = ?, attempts = ?, retry = ?, trigger = ?, due_at = ?";
    this.#write = db.prepare(`${write} WHERE event = ? AND endpoint = ?`);
    // The condition is the rule `isAsFound`.
    this.#move = db.prepare(
      `${write} WHERE event = ? AND endpoint = ? AND attempts = ? AND status <= ${WAITING} AND due_at < ${BEHIND}`,
    );
    this.#current = db.prepare(
      "SELECT status, attempts, retry, trigger, due_at FROM delivery WHERE event = ? AND endpoint = ?",
    );
    this.#isErased = db.prepare<[number], number>("SELECT body IS NULL FROM event WHERE key = ?").pluck();
    this.#park = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, due_at = min(due_at, ?)
       WHERE event = ? AND endpoint = ? AND status = ${FRESH}`,
    );
  }

  record(ended: EndedAttempt): Recorded {
    const { claim } = ended;
    const endpoint = this.#index.byId(claim.endpoint);
    if (endpoint === undefined) return SUPERSEDED;
    const event = keyOf(claim.event);
    this.#started.ended(event, endpoint.number);
    if (answersRequest(ended)) this.#manual.drop(event, endpoint.number);
    if (isPlainFirst(event, ended) && this.#attempts.deliverFirst(event, endpoint.number, ended)) {
      this.#fresh.settled(event, endpoint.number);
      this.#moveUp(claim, endpoint, "waiting", "delivered");
      return APPLIED;
    }
    const to = moveOf(ended);
    const moved = to && this.#move.run(...columnsOf(to), event, endpoint.number, claim.number - 1);
    if (to === null || moved?.changes === 0) return this.#recordByRule(ended, event, endpoint);
    this.#attempts.add(event, endpoint.number, ended);
    if (ended.outcome.outcome === "failed" || claim.number > 1) this.#causes.note(event, endpoint.number);
    this.#moveUp(claim, endpoint, "waiting", to.status);
    if (to.dueAt === null) return APPLIED;
    return { result: "applied", waiting: { endpoint: claim.endpoint, event: claim.event, dueAt: to.dueAt } };
  }

  park(deliveries: readonly Waiting[], now: number): Waiting[] {
    return deliveries.flatMap(({ event, endpoint }) => {
      const [key, number] = [keyOf(event), this.#index.byId(endpoint)?.number ?? -1];
      this.#park.run(now, key, number);
      const current = this.#current.get(key, number);
      if (current?.status !== WAITING || isBehind(current.due_at)) return [];
      return [{ endpoint, event, dueAt: current.due_at! }];
    });
  }

  #recordByRule(ended: EndedAttempt, event: number, entry: EndpointEntry): Recorded {
    const endpoint = entry.number;
    const current = this.#current.get(event, endpoint);
    if (current === undefined) return SUPERSEDED;
    const before = stateOf(current);
    const { result, state } = afterAttempt(before, ended);
    // No delivery of an erased event is open, so all of its attempts reach this point.
    const erased = this.#isErased.get(event) === 1;
    this.#attempts.add(event, endpoint, erased ? withoutResponse(ended) : ended);
    this.#write.run(...columnsOf(state), event, endpoint);
    this.#causes.note(event, endpoint);
    this.#moveUp(ended.claim, entry, before.status, state.status);
    if (state.status !== "waiting" || state.isBehind === true) return result === "applied" ? APPLIED : SUPERSEDED;
    return { result, waiting: { endpoint: ended.claim.endpoint, event: ended.claim.event, dueAt: state.dueAt! } };
  }

  #moveUp({ event, ordered }: Claim, endpoint: EndpointEntry, before: StoredStatus, status: StoredStatus): void {
    if (ordered === undefined) return;
    this.#lines.settled(ordered, { event: keyOf(event), endpoint, before, status, now: this.#clock.now() });
  }
}

function columnsOf(state: DeliveryState): Columns {
  const { status, attempts, retry, trigger, due_at: dueAt } = rowOf(state);
  return [status, attempts, retry, trigger, dueAt];
}
