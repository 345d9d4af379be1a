/** A new round for what failed: same event, same bytes, a fresh ladder. */
import type { Database, Statement } from "better-sqlite3";
import type { LeftAlone, Replay as Replayed, ReplayScope, Waiting } from "../../store.ts";
import { DELIVERED, FAILED, triggerCode, WAITING } from "../numbers/codes.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { FoundEvent } from "./events.ts";
import { deliveryId } from "../numbers/ids.ts";

export class Replay {
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
