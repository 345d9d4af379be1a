/** Moves due times when the wall clock was set. */
import type { Database, Statement } from "better-sqlite3";
import { movedDue, movesLater, staysUntil } from "../../../domain/deliveries/due-time.ts";
import type { Position } from "../../../domain/deliveries/delivery.ts";
import type { Shift, Shifted, Waiting } from "../../store.ts";
import { WAITING } from "../numbers/codes.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import { eventId, positionKey } from "../numbers/ids.ts";

interface Row {
  readonly event: number;
  readonly due_at: number;
  readonly retry: number;
  readonly random: string;
}

type Walk = Statement<[endpoint: number, dueAt: number, event: number, after: number, limit: number], Row>;

export class ShiftDue {
  readonly #index: EndpointIndex;
  readonly #up: Walk;
  readonly #down: Walk;
  readonly #move: Statement<[number, number, number]>;

  constructor(db: Database, index: EndpointIndex) {
    this.#index = index;
    const walk = (compare: string, bound: string, direction: string): Walk =>
      db.prepare(
        `SELECT d.event, d.due_at, d.retry, e.random
         FROM delivery d INDEXED BY delivery_waiting CROSS JOIN event e ON e.key = d.event
         WHERE d.status = ${WAITING} AND d.endpoint = ? AND (d.due_at, d.event) ${compare} (?, ?) AND ${bound}
         ORDER BY d.due_at ${direction}, d.event ${direction} LIMIT ?`,
      );
    // The walk up begins after the bound; a second lower bound would have the index start from there every time.
    this.#up = walk(">", "+d.due_at > ?", "ASC");
    this.#down = walk("<", "d.due_at > ?", "DESC");
    this.#move = db.prepare("UPDATE delivery SET due_at = ? WHERE event = ? AND endpoint = ?");
  }

  /** Walks against the direction of the shift, so that no row is met again where it was moved to. */
  shift(endpointId: string, shift: Shift, from: Position | null): Shifted {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined) return { moved: [], next: null };
    const [later, after] = [movesLater(shift), staysUntil(shift)];
    const edge = later ? Number.MAX_SAFE_INTEGER : after;
    const dueAt = from?.dueAt ?? edge;
    const event = from === null ? Number.MAX_SAFE_INTEGER : positionKey(from.event);
    const rows = (later ? this.#down : this.#up).all(endpoint.number, dueAt, event, after, CHUNK);
    const moved: Waiting[] = [];
    let last: Position | null = null;
    for (const row of rows) {
      const id = eventId(row.event, row.random);
      last = { dueAt: row.due_at, event: id };
      // What is about to be cancelled must not get behind the walk that cancels it.
      if (shift.except.has(id) || row.event <= (endpoint.cancelTo ?? -1)) continue;
      const movedTo = movedDue(shift, row.due_at, row.retry);
      if (movedTo === row.due_at) continue;
      this.#move.run(movedTo, row.event, endpoint.number);
      moved.push({ endpoint: endpointId, event: id, dueAt: movedTo });
    }
    return { moved, next: rows.length < CHUNK ? null : last };
  }
}
