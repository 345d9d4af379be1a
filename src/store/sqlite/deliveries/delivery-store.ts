/** The way of a delivery: from where it waits, through its attempts, to its end. */
import type { Claim, Position, Verdict } from "../../../domain/deliveries/delivery.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { SetAside } from "../../files/spare-files.ts";
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
import type { FreshMark } from "../claims/fresh.ts";
import type { ManualAttempts, Started } from "../claims/marks.ts";
import type { Health } from "../endpoints/health.ts";
import type { Engine } from "../engine/engine.ts";
import type { JobSteps } from "../jobs/job-steps.ts";
import type { Counters } from "../statistics/counters.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Database, Statement } from "better-sqlite3";
import { isPlainFirst, type Attempts } from "../attempts/attempts.ts";
import { Causes } from "../attempts/causes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { DELIVERED, FAILED, FRESH, triggerCode, WAITING, keyOf } from "../../rows/codes.ts";

interface Parts {
  /** Takes what cannot be recorded in a damaged database. */
  readonly setAside: SetAside;
  readonly deliveries: Deliveries;
  readonly due: Due;
  readonly manual: ManualAttempts;
  readonly record: RecordAttempts;
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

  async waiting(endpoint: string, after: Position, limit: number): Promise<readonly Owed[]> {
    return this.#engine.read(() => this.#parts.due.waiting(endpoint, after, limit));
  }

  async fresh(after: Owed | null, limit: number): Promise<readonly Owed[]> {
    return this.#engine.read(() => this.#parts.due.fresh(after, limit));
  }

  async record(attempts: readonly EndedAttempt[]): Promise<Recorded[]> {
    // Somebody looks on while a test or an attempt by hand is made.
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

type Move = [
  status: number,
  attempts: number,
  retry: number,
  trigger: number,
  dueAt: number | null,
  event: number,
  endpoint: number,
  attemptsBefore: number,
];

interface State {
  readonly status: number;
  readonly retry: number;
  readonly trigger: number;
  readonly dueAt: number | null;
}

const NOTHING = new Uint8Array(0);
const APPLIED: Recorded = { result: "applied", waiting: null };
const SUPERSEDED: Recorded = { result: "superseded", waiting: null };

/** What became of deliveries: attempts and the states they lead to; fresh deliveries that memory gave back. */
export class RecordAttempts {
  readonly #index: EndpointIndex;
  readonly #attempts: Attempts;
  readonly #causes: Causes;
  readonly #started: Started;
  readonly #manual: ManualAttempts;
  readonly #fresh: FreshMark;
  readonly #move: Statement<Move>;
  readonly #current: Statement<[number, number], { status: number; due_at: number | null }>;
  readonly #win: Statement<[number, number, number]>;
  readonly #count: Statement<[number, number, number]>;
  readonly #isErased: Statement<[number], number>;
  readonly #park: Statement<[number, number, number]>;

  constructor(
    db: Database,
    parts: { index: EndpointIndex; attempts: Attempts; started: Started; manual: ManualAttempts; fresh: FreshMark },
  ) {
    this.#index = parts.index;
    this.#attempts = parts.attempts;
    this.#causes = new Causes(db);
    this.#started = parts.started;
    this.#manual = parts.manual;
    this.#fresh = parts.fresh;
    this.#move = db.prepare(
      `UPDATE delivery SET status = ?, attempts = ?, retry = ?, trigger = ?, due_at = ?
       WHERE event = ? AND endpoint = ? AND attempts = ? AND status <= ${WAITING}`,
    );
    this.#current = db.prepare("SELECT status, due_at FROM delivery WHERE event = ? AND endpoint = ?");
    this.#win = db.prepare(
      `UPDATE delivery SET status = ${DELIVERED}, attempts = max(attempts, ?), due_at = NULL
       WHERE event = ? AND endpoint = ?`,
    );
    this.#count = db.prepare("UPDATE delivery SET attempts = max(attempts, ?) WHERE event = ? AND endpoint = ?");
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
    if (ended.verdict.status === "unchanged") return this.#add(ended, event, endpoint.number, "applied");
    if (isPlainFirst(event, ended) && this.#attempts.deliverFirst(event, endpoint.number, ended)) {
      this.#fresh.settled(event, endpoint.number);
      return APPLIED;
    }
    const { status, retry, trigger, dueAt } = stateAfter(ended, ended.verdict);
    const before = claim.number - 1;
    const moved = this.#move.run(status, claim.number, retry, trigger, dueAt, event, endpoint.number, before);
    if (moved.changes === 0) return this.#add(ended, event, endpoint.number, "superseded");
    this.#attempts.add(event, endpoint.number, ended);
    if (ended.outcome.outcome === "failed" || claim.number > 1) this.#causes.note(event, endpoint.number);
    if (dueAt === null) return APPLIED;
    return { result: "applied", waiting: { endpoint: claim.endpoint, event: claim.event, dueAt } };
  }

  park(deliveries: readonly Waiting[], now: number): Waiting[] {
    return deliveries.flatMap(({ event, endpoint }) => {
      const [key, number] = [keyOf(event), this.#index.byId(endpoint)?.number ?? -1];
      this.#park.run(now, key, number);
      const current = this.#current.get(key, number);
      return current?.status === WAITING ? [{ endpoint, event, dueAt: current.due_at! }] : [];
    });
  }

  /** The delivery moved on without this attempt, or does not move by it: it is kept, and only a success changes anything. */
  #add(ended: EndedAttempt, event: number, endpoint: number, result: Recorded["result"]): Recorded {
    const current = this.#current.get(event, endpoint);
    if (current === undefined) return SUPERSEDED;
    // Nothing of an erased event is open, so that its attempts all come by here.
    const erased = this.#isErased.get(event) === 1;
    this.#attempts.add(event, endpoint, erased ? withoutAnswer(ended) : ended);
    const { claim, verdict } = ended;
    if (verdict.status === "delivered" && current.status !== DELIVERED) {
      this.#win.run(claim.number, event, endpoint);
      this.#causes.note(event, endpoint);
      return APPLIED;
    }
    // Or the next attempt would get a number that is taken.
    this.#count.run(claim.number, event, endpoint);
    this.#causes.note(event, endpoint);
    if (current.status !== WAITING) return result === "applied" ? APPLIED : SUPERSEDED;
    return { result, waiting: { endpoint: claim.endpoint, event: claim.event, dueAt: current.due_at! } };
  }
}

/** Whether an attempt that was asked for is owed no more. One that we interrupted is made again. */
function answersRequest({ claim, outcome, verdict }: EndedAttempt): boolean {
  if (verdict.status === "delivered") return true;
  return (claim.trigger === "manual" || claim.trigger === "test") && outcome.outcome !== "interrupted";
}

function withoutAnswer(ended: EndedAttempt): EndedAttempt {
  return { ...ended, outcome: { ...ended.outcome, responseHeaders: {}, responseBody: NOTHING } };
}

function stateAfter({ claim, outcome }: EndedAttempt, verdict: Exclude<Verdict, { status: "unchanged" }>): State {
  if (verdict.status !== "pending") {
    const status = verdict.status === "delivered" ? DELIVERED : FAILED;
    return { status, retry: claim.retry, trigger: triggerCode(claim.trigger), dueAt: null };
  }
  // An interrupted attempt is made again as what it was.
  const trigger = outcome.outcome === "interrupted" ? claim.trigger : "ladder";
  // Rounded up, because a retry is never early.
  return { status: WAITING, retry: verdict.retry, trigger: triggerCode(trigger), dueAt: Math.ceil(verdict.dueAt) };
}
