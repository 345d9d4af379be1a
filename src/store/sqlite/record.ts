/** What became of deliveries: attempts and the states they lead to; fresh deliveries that memory gave back. */
import type { Database, Statement } from "better-sqlite3";
import type { EndedAttempt, Recorded, Waiting } from "../store.ts";
import type { Attempts } from "./attempts.ts";
import { DELIVERED, FAILED, FRESH, triggerCode, WAITING } from "./codes.ts";
import type { EndpointIndex } from "./endpoint-index.ts";
import { keyOf } from "./ids.ts";
import type { Started } from "./started.ts";

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

const APPLIED: Recorded = { result: "applied", waiting: null };
const SUPERSEDED: Recorded = { result: "superseded", waiting: null };

export class RecordAttempts {
  readonly #index: EndpointIndex;
  readonly #attempts: Attempts;
  readonly #started: Started;
  readonly #move: Statement<Move>;
  readonly #current: Statement<[number, number], { status: number; due_at: number | null }>;
  readonly #win: Statement<[number, number, number]>;
  readonly #count: Statement<[number, number, number]>;
  readonly #park: Statement<[number, number, number]>;

  constructor(db: Database, parts: { index: EndpointIndex; attempts: Attempts; started: Started }) {
    this.#index = parts.index;
    this.#attempts = parts.attempts;
    this.#started = parts.started;
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
    const { status, retry, trigger, dueAt } = stateAfter(ended);
    const before = claim.number - 1;
    const moved = this.#move.run(status, claim.number, retry, trigger, dueAt, event, endpoint.number, before);
    if (moved.changes === 0) return this.#late(ended, event, endpoint.number);
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

  /** The delivery moved on without this attempt, which is kept and changes nothing unless it succeeded. */
  #late(ended: EndedAttempt, event: number, endpoint: number): Recorded {
    const current = this.#current.get(event, endpoint);
    if (current === undefined) return SUPERSEDED;
    this.#attempts.add(event, endpoint, ended);
    if (ended.verdict.status === "delivered" && current.status !== DELIVERED) {
      this.#win.run(ended.claim.number, event, endpoint);
      return APPLIED;
    }
    // Or the next replay would give its first attempt a number that is taken.
    if (current.status > WAITING) this.#count.run(ended.claim.number, event, endpoint);
    if (current.status !== WAITING) return SUPERSEDED;
    const { endpoint: id, event: eventOf } = ended.claim;
    return { result: "superseded", waiting: { endpoint: id, event: eventOf, dueAt: current.due_at! } };
  }
}

function stateAfter({ claim, outcome, verdict }: EndedAttempt): State {
  if (verdict.status !== "pending") {
    const status = verdict.status === "delivered" ? DELIVERED : FAILED;
    return { status, retry: claim.retry, trigger: triggerCode(claim.trigger), dueAt: null };
  }
  // An interrupted attempt is made again as what it was.
  const trigger = outcome.outcome === "interrupted" ? claim.trigger : "ladder";
  // Rounded up, because a retry is never early.
  return { status: WAITING, retry: verdict.retry, trigger: triggerCode(trigger), dueAt: Math.ceil(verdict.dueAt) };
}
