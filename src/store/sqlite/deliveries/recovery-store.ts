/** Repairs what a crash of the process, or a change of the clock, has left wrong. */
import type { Position, Send } from "../../../domain/deliveries/delivery.ts";
import type { Reserve } from "../../files/spare-files.ts";
import type { RecoveryStore, Shift, Shifted, Suspect, Waiting } from "../../store.ts";
import type { ManualAttempts, Started } from "../claims/manual-attempts.ts";
import type { FreshMark } from "../claims/fresh.ts";
import type { Engine } from "../engine/engine.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Database, Statement } from "better-sqlite3";
import { movedDue, movesLater, staysUntil, type Waits } from "../../../domain/deliveries/due-time.ts";
import { CHUNK } from "../engine/group-commit.ts";
import { PutOff } from "./put-off.ts";
import { BEHIND, WAITING, eventId, positionKey } from "../../rows/codes.ts";

interface Parts {
  readonly index: EndpointIndex;
  readonly manual: ManualAttempts;
  readonly reserve: Reserve;
  readonly started: Started;
  readonly fresh: FreshMark;
}

export class SqliteRecovery implements RecoveryStore {
  readonly careful: boolean;
  readonly lastInstant: number;
  /** A commit returns its result, or the process ends, so none is ever in doubt. */
  readonly doubt = { isOpen: false, madeLate: 0 };
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #shift: ShiftDue;
  readonly #putOff: PutOff;
  #tookUp = false;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#shift = new ShiftDue(engine.db, parts.index);
    this.#putOff = new PutOff(engine.db);
    this.careful = parts.started.careful;
    this.lastInstant = engine.lastInstant;
  }

  /** The time for this does not grow with the backlog. */
  async takeUp(): Promise<boolean> {
    const { fresh, manual, reserve, started } = this.#parts;
    const { clock, condition } = this.#engine;
    if (this.#tookUp) return true;
    try {
      started.begin();
      fresh.release(clock.now());
      manual.dropVain();
      this.#tookUp = true;
    } catch (error) {
      if (!condition.isFull(error)) throw error;
      if (reserve.release()) return this.takeUp();
    }
    condition.behind = !this.#tookUp;
    return this.#tookUp;
  }

  async markStarted(sends: readonly Send[]): Promise<void> {
    await this.#engine.commit.run(() => this.#parts.started.mark(sends), { events: 0, deliveries: sends.length });
  }

  async suspects(): Promise<Suspect[]> {
    const { started } = this.#parts;
    const { suspects, ended } = this.#engine.read(() => started.suspects());
    // If this fails, the next start checks them again.
    if (ended.length > 0) this.#engine.commit.run(() => ended.forEach((one) => started.ended(...one))).catch(() => {});
    return suspects;
  }

  async outlived(): Promise<void> {
    await this.#engine.commit.run(() => this.#parts.started.outlive());
  }

  async shiftDue(endpoint: string, shift: Shift, from: Position | null): Promise<Shifted> {
    return this.#engine.commit.run(() => this.#shift.shift(endpoint, shift, from));
  }

  /** Commits only if there is something to do, because a commit costs an fsync. */
  async hasten(waits: Waits, now: number): Promise<readonly Waiting[]> {
    if (!this.#engine.read(() => this.#putOff.isAny(waits, now))) return [];
    return this.#engine.commit.run(() => this.#putOff.hasten(waits, now));
  }

  async clockUnsettled(): Promise<void> {
    await this.#engine.commit.run(() => this.#engine.setInstant(Number.MAX_SAFE_INTEGER));
  }

  async clockSettled(now: number): Promise<void> {
    await this.#engine.commit.run(() => this.#engine.setInstant(now));
  }
}

interface Row {
  readonly event: number;
  readonly due_at: number;
  readonly retry: number;
  readonly random: string;
}

type Walk = Statement<[endpoint: number, dueAt: number, event: number, after: number, limit: number], Row>;

/** Moves due times when the wall clock was set. */
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
           AND d.due_at < ${BEHIND}
         ORDER BY d.due_at ${direction}, d.event ${direction} LIMIT ?`,
      );
    // The walk up begins after the bound. A second lower bound would make the index start there every time.
    this.#up = walk(">", "+d.due_at > ?", "ASC");
    this.#down = walk("<", "d.due_at > ?", "DESC");
    this.#move = db.prepare("UPDATE delivery SET due_at = ? WHERE event = ? AND endpoint = ?");
  }

  /** Walks against the direction of the shift, so that it does not meet a moved row again. */
  shift(endpointId: string, shift: Shift, from: Position | null): Shifted {
    const endpoint = this.#index.byId(endpointId);
    if (endpoint === undefined) return { moved: [], next: null };
    const [later, after] = [movesLater(shift), staysUntil(shift)];
    const edge = later ? BEHIND : after;
    const dueAt = from?.dueAt ?? edge;
    const event = from === null ? Number.MAX_SAFE_INTEGER : positionKey(from.event);
    const rows = (later ? this.#down : this.#up).all(endpoint.number, dueAt, event, after, CHUNK);
    const moved: Waiting[] = [];
    let last: Position | null = null;
    for (const row of rows) {
      const id = eventId(row.event, row.random);
      last = { dueAt: row.due_at, event: id };
      // Skip deliveries that are about to be cancelled: they must not move behind the walk that cancels them.
      if (shift.except.has(id) || row.event <= (endpoint.cancelTo ?? -1)) continue;
      const movedTo = movedDue(shift, row.due_at, row.retry);
      if (movedTo === row.due_at) continue;
      this.#move.run(movedTo, row.event, endpoint.number);
      moved.push({ endpoint: endpointId, event: id, dueAt: movedTo });
    }
    return { moved, next: rows.length < CHUNK ? null : last };
  }
}
