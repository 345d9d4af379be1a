/** What became of deliveries: attempts and the states they lead to; fresh deliveries that memory gave back. */
import type { Database, Statement } from "better-sqlite3";
import type { Verdict } from "../../../domain/deliveries/delivery.ts";
import type { EndedAttempt, Recorded, Waiting } from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import { DELIVERED, FAILED, FRESH, triggerCode, WAITING } from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { keyOf } from "../numbers/ids.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import type { Started } from "../claims/started.ts";

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

export class RecordAttempts {
  readonly #index: EndpointIndex;
  readonly #attempts: Attempts;
  readonly #started: Started;
  readonly #manual: ManualAttempts;
  readonly #move: Statement<Move>;
  readonly #current: Statement<[number, number], { status: number; due_at: number | null }>;
  readonly #win: Statement<[number, number, number]>;
  readonly #count: Statement<[number, number, number]>;
  readonly #isErased: Statement<[number], number>;
  readonly #park: Statement<[number, number, number]>;

  constructor(
    db: Database,
    parts: { index: EndpointIndex; attempts: Attempts; started: Started; manual: ManualAttempts },
  ) {
    this.#index = parts.index;
    this.#attempts = parts.attempts;
    this.#started = parts.started;
    this.#manual = parts.manual;
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
    const { status, retry, trigger, dueAt } = stateAfter(ended, ended.verdict);
    const before = claim.number - 1;
    const moved = this.#move.run(status, claim.number, retry, trigger, dueAt, event, endpoint.number, before);
    if (moved.changes === 0) return this.#add(ended, event, endpoint.number, "superseded");
    this.#attempts.add(event, endpoint.number, ended);
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
      return APPLIED;
    }
    // Or the next attempt would get a number that is taken.
    this.#count.run(claim.number, event, endpoint);
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
