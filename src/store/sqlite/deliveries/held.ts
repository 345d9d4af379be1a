/** Deliveries that were held for too long: they fail, as if an attempt had, and can be replayed like any other. */
import type { Database, Statement } from "better-sqlite3";
import { noResponse } from "../../../domain/deliveries/attempt.ts";
import type { Attempts } from "../attempts/attempts.ts";
import { FAILED, triggerCode, triggerOf, WAITING } from "../numbers/codes.ts";
import { CHUNK } from "../engine/group-commit.ts";

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly url: string;
  readonly attempts: number;
  readonly round: number;
  readonly retry: number;
  readonly trigger: number;
}

const DETAIL = "the endpoint was disabled for longer than [retention] held";

export class Held {
  readonly #attempts: Attempts;
  readonly #select: Statement<[number, number, number], Row>;
  readonly #fail: Statement<[number, number]>;

  constructor(db: Database, attempts: Attempts) {
    this.#attempts = attempts;
    // Whatever was changed of a disabled endpoint, somebody still cares for it: that begins its time anew. What a manual
    // attempt is owed to may be on the wire, under the number that would be taken here.
    this.#select = db.prepare(
      `SELECT d.event, d.endpoint, e.url, d.attempts, d.round, d.retry, d.trigger
       FROM endpoint e INDEXED BY endpoint_disabled CROSS JOIN delivery d INDEXED BY delivery_waiting
       WHERE e.enabled = 0 AND e.deleted_at IS NULL AND e.updated_at < ?
         AND d.endpoint = e.number AND d.status = ${WAITING} AND d.due_at < ? AND d.trigger <> ${triggerCode("test")}
         AND NOT EXISTS (SELECT 1 FROM manual_attempt m WHERE m.event = d.event AND m.endpoint = d.endpoint)
       LIMIT ?`,
    );
    this.#fail = db.prepare(
      `UPDATE delivery SET status = ${FAILED}, attempts = attempts + 1, due_at = NULL WHERE event = ? AND endpoint = ?`,
    );
  }

  /** Inside a transaction; the endpoints' numbers, one for each delivery, at most 500. */
  expire(before: number, now: number): number[] {
    const rows = this.#select.all(before, before, CHUNK);
    for (const { event, endpoint, url, attempts, round, retry, trigger } of rows) {
      this.#fail.run(event, endpoint);
      this.#attempts.add(event, endpoint, {
        claim: { number: attempts + 1, trigger: triggerOf(trigger), round, retry },
        url,
        startedAt: now,
        outcome: noResponse("held_expired", DETAIL, 0),
        secretVersion: null,
      });
    }
    return rows.map(({ endpoint }) => endpoint);
  }
}
