/**
 * The lines of ordering keys. `src/domain/deliveries/ordering.ts` decides who is first. This file reads the facts
 * inside the transaction that opens or settles a delivery, and writes the result.
 */
import type { Database, Statement } from "better-sqlite3";
import type { StoredStatus, Ordered } from "../../../domain/deliveries/delivery.ts";
import { isOpen } from "../../../domain/deliveries/delivery.ts";
import { enter, holdsKey, nextInLine, releasedAt, type Line, type Place } from "../../../domain/deliveries/ordering.ts";
import { isBeingCancelled } from "../../../domain/deliveries/withdrawal.ts";
import type { EventDelivery, Reordered, Waiting } from "../../store.ts";
import { BEHIND, deliveryId, eventId, isBehind, WAITING } from "../../rows/codes.ts";
import { orderedOf } from "../../rows/delivery-row.ts";
import { FREED_KEYS, IS_OVER } from "../../rows/ordering-sql.ts";
import type { EndpointEntry, EndpointIndex } from "../numbers/endpoint-index.ts";
import type { ManualAttempts } from "../claims/manual-attempts.ts";
import { CHUNK } from "../engine/group-commit.ts";

interface First {
  readonly event: number;
  readonly sequence: number;
  readonly status: number;
  readonly due_at: number;
}

interface InLine {
  readonly key: number | null;
  readonly sequence: number | null;
}

interface Held extends Place {
  readonly key: number;
  readonly endpoint: number;
}

/** The row of an ordering key, as the transaction leaves it. */
interface Numbers {
  readonly num: number;
  /** The last number that was given out. */
  last: number;
  seen: number;
  isWritten: boolean;
}

/** The names of so many keys fit into 2 MiB. When there are more, all are read again. */
const MAX_KNOWN = 5000;

export class Lines {
  readonly #index: EndpointIndex;
  readonly #manual: ManualAttempts;
  /** Writes the rows of deliveries that the transaction has added but not written. */
  readonly #flushRows: () => void;
  readonly #number: Statement<
    [endpoint: number, key: string, numbers: 0 | 1, event: number],
    [key: number, last: number]
  >;
  readonly #renumber: Statement<[last: number, event: number, key: number]>;
  readonly #of: Statement<[number, number], InLine>;
  readonly #first: Statement<[number], First>;
  readonly #holder: Statement<[number], Place>;
  readonly #anyHeld: Statement<[], number>;
  readonly #hold: Statement<[number, number, number, number, number]>;
  readonly #unhold: Statement<[number, number, number]>;
  readonly #unholdOf: Statement<[number]>;
  readonly #heldBy: Statement<[number], Held>;
  readonly #freed: Statement<[number], Held>;
  readonly #overtake: Statement<[number, number]>;
  readonly #release: Statement<[number, number, number]>;
  readonly #random: Statement<[number], string>;
  readonly #unused: Statement<[number], { num: number; over: number }>;
  readonly #drop: Statement<[number]>;
  /** The lines of deliveries that the transaction has added and not written yet. Each of them has an open delivery. */
  readonly #unwritten = new Set<number>();
  #released: Waiting[] = [];
  #overtaken: EventDelivery[] = [];
  /** The lengths of these lists when the transaction began. */
  #before = { released: 0, overtaken: 0 };
  /** Rows of ordering keys, by their endpoints and keys. Each event of a key would read and write its row otherwise. */
  readonly #known = new Map<string, Numbers>();
  readonly #byKey = new Map<number, Numbers>();
  #unwrittenNumbers: Numbers[] = [];
  /** False while no key is held, which saves a query each time. Null if it must be looked up. */
  #isHeld: boolean | null = null;

  // oxlint-disable-next-line max-lines-per-function -- statements, one below the other
  constructor(db: Database, parts: { index: EndpointIndex; manual: ManualAttempts; flushRows: () => void }) {
    this.#index = parts.index;
    this.#manual = parts.manual;
    this.#flushRows = parts.flushRows;
    this.#number = db
      .prepare<[number, string, 0 | 1, number], [number, number]>(
        `INSERT INTO ordering_key (endpoint, key, last, seen) VALUES (?, ?, ?, ?)
         ON CONFLICT (endpoint, key) DO UPDATE SET last = last + excluded.last, seen = max(seen, excluded.seen)
         RETURNING num, last`,
      )
      .raw();
    this.#renumber = db.prepare("UPDATE ordering_key SET last = ?, seen = max(seen, ?) WHERE num = ?");
    this.#of = db.prepare("SELECT ordering_key AS key, sequence FROM delivery WHERE event = ? AND endpoint = ?");
    this.#first = db.prepare(
      `SELECT event, sequence, status, due_at FROM delivery INDEXED BY delivery_line
       WHERE ordering_key = ? AND status <= ${WAITING} ORDER BY sequence, event LIMIT 1`,
    );
    this.#holder = db.prepare(
      "SELECT sequence, event FROM held_key WHERE ordering_key = ? ORDER BY sequence, event LIMIT 1",
    );
    this.#anyHeld = db.prepare<[], number>("SELECT 1 FROM held_key LIMIT 1").pluck();
    this.#hold = db.prepare(
      "INSERT OR IGNORE INTO held_key (ordering_key, sequence, event, endpoint, since) VALUES (?, ?, ?, ?, ?)",
    );
    this.#unhold = db.prepare("DELETE FROM held_key WHERE ordering_key = ? AND sequence = ? AND event = ?");
    this.#unholdOf = db.prepare("DELETE FROM held_key WHERE endpoint = ?");
    const held = "SELECT ordering_key AS key, sequence, event, endpoint FROM held_key";
    this.#heldBy = db.prepare(`${held} WHERE event = ?`);
    this.#freed = db.prepare(`${FREED_KEYS} LIMIT ?`);
    this.#overtake = db.prepare(
      `UPDATE delivery SET status = ${WAITING}, due_at = due_at + ${BEHIND} WHERE event = ? AND endpoint = ?`,
    );
    this.#release = db.prepare("UPDATE delivery SET due_at = ? WHERE event = ? AND endpoint = ?");
    this.#random = db.prepare<[number], string>("SELECT random FROM event WHERE key = ?").pluck();
    this.#unused = db.prepare(
      `SELECT num, ${IS_OVER} AS over FROM ordering_key WHERE num > ? ORDER BY num LIMIT ${CHUNK}`,
    );
    this.#drop = db.prepare("DELETE FROM ordering_key WHERE num = ?");
  }

  /**
   * Gives a new delivery the next number of its line. Its row is not written yet. Call it inside a transaction, like
   * all methods that write.
   */
  enter(endpoint: EndpointEntry, key: string, event: number): Ordered & { readonly isBehind: boolean } {
    const { num, last: sequence } = this.#next(endpoint.number, key, event);
    const isLater = this.#unwritten.has(num);
    const behind = isLater || enter(this.#line(num, endpoint), { sequence, event }).isBehind;
    if (!isLater) this.#unwritten.add(num);
    return { key: num, sequence, isBehind: behind };
  }

  /** Decides where a delivery goes that a job adds. It has no number, and goes before those that wait. */
  enterLate(endpoint: EndpointEntry, key: string, event: number): Ordered & { readonly isBehind: boolean } {
    this.#write();
    const [num] = this.#number.get(endpoint.number, key, 0, event)!;
    const ordered = { key: num, sequence: 0 };
    return { ...ordered, isBehind: this.#goesBehind(endpoint, ordered, event) };
  }

  /** Returns true if the delivery, which is about to be opened again, waits behind another one. */
  reenter(endpoint: EndpointEntry, event: number): boolean {
    const ordered = this.#orderOf(event, endpoint.number);
    if (ordered === null) return false;
    this.#write();
    if (this.#someHeld) this.#unhold.run(ordered.key, ordered.sequence, event);
    return this.#goesBehind(endpoint, ordered, event);
  }

  /** The delivery was cancelled. If it is in a line, the next one's turn comes. */
  cancelled(event: number, endpoint: EndpointEntry, now: number): void {
    const ordered = this.#orderOf(event, endpoint.number);
    if (ordered !== null) this.settled(ordered, { event, endpoint, before: "waiting", status: "cancelled", now });
  }

  /** A delivery that had one status now has another. */
  settled(
    { key, sequence }: Ordered,
    to: {
      readonly event: number;
      readonly endpoint: EndpointEntry;
      readonly before: StoredStatus;
      readonly status: StoredStatus;
      readonly now: number;
    },
  ): void {
    const { event, endpoint, before, status, now } = to;
    if (isOpen(status)) return;
    if (isOpen(before) && holdsKey(endpoint, status)) {
      this.#hold.run(key, sequence, event, endpoint.number, now);
      this.#isHeld = true;
    } else if (status !== "failed" && this.#someHeld) this.#unhold.run(key, sequence, event);
    // Nothing waits behind the last number.
    if (sequence > 0 && this.#byKey.get(key)?.last === sequence) return;
    if (this.#unwritten.has(key)) this.#write();
    this.#advance(key, endpoint, now);
  }

  /** True if the failed delivery holds its key. */
  holds(event: number, endpoint: number): boolean {
    return this.#someHeld && this.#heldBy.all(event).some((held) => held.endpoint === endpoint);
  }

  /** The event is about to be removed, so its deliveries hold nothing any more. */
  forgetEvent(event: number, now: number): void {
    if (this.#someHeld) for (const held of this.#heldBy.all(event)) this.#free(held, now);
  }

  /** The endpoint was deleted. */
  forgetEndpoint(endpoint: number): void {
    if (this.#someHeld) this.#unholdOf.run(endpoint);
  }

  /** True if keys may be held although their endpoints do not hold any, as they did when the deliveries failed. */
  get mayFree(): boolean {
    return this.#someHeld && this.#freed.get(1) !== undefined;
  }

  /** Frees keys of endpoints that hold none any more. Returns their number; fewer than 500 means that none is left. */
  freeKeys(now: number): number {
    const some = this.#freed.all(CHUNK);
    for (const held of some) this.#free(held, now);
    return some.length;
  }

  /** Removes keys whose last event is gone, so that their numbers begin at 1 again. */
  prune(from: string | null): { readonly pruned: number; readonly next: string | null } {
    this.#forgetNumbers();
    const rows = this.#unused.all(from === null ? -1 : Number(from));
    const over = rows.filter(({ over: isOver }) => isOver === 1);
    for (const { num } of over) this.#drop.run(num);
    return { pruned: over.length, next: rows.length < CHUNK ? null : String(rows.at(-1)!.num) };
  }

  /** See `DeliveryStore.reordered`. */
  take(): Reordered | null {
    if (this.#released.length === 0 && this.#overtaken.length === 0) return null;
    const all = { released: this.#released, overtaken: this.#overtaken };
    [this.#released, this.#overtaken] = [[], []];
    return all;
  }

  write(): void {
    this.#before = { released: this.#released.length, overtaken: this.#overtaken.length };
  }

  flush(): void {
    this.#unwritten.clear();
    this.#writeNumbers();
  }

  forget(): void {
    this.#unwritten.clear();
    this.#unwrittenNumbers = [];
    this.#forgetNumbers();
    this.#released.length = Math.min(this.#released.length, this.#before.released);
    this.#overtaken.length = Math.min(this.#overtaken.length, this.#before.overtaken);
    this.#isHeld = null;
  }

  /** Gives out the next number of a key. */
  #next(endpoint: number, key: string, event: number): Numbers {
    const name = `${endpoint} ${key}`;
    const known = this.#known.get(name);
    if (known !== undefined) {
      known.last++;
      known.seen = event;
      if (known.isWritten) this.#unwrittenNumbers.push(known);
      known.isWritten = false;
      return known;
    }
    if (this.#known.size >= MAX_KNOWN) this.#forgetNumbers();
    const [num, last] = this.#number.get(endpoint, key, 1, event)!;
    const read = { num, last, seen: event, isWritten: true };
    this.#known.set(name, read);
    this.#byKey.set(num, read);
    return read;
  }

  #writeNumbers(): void {
    for (const numbers of this.#unwrittenNumbers) {
      this.#renumber.run(numbers.last, numbers.seen, numbers.num);
      numbers.isWritten = true;
    }
    this.#unwrittenNumbers = [];
  }

  #forgetNumbers(): void {
    this.#writeNumbers();
    this.#known.clear();
    this.#byKey.clear();
  }

  #free({ key, sequence, event, endpoint }: Held, now: number): void {
    this.#write();
    this.#unhold.run(key, sequence, event);
    this.#isHeld = null;
    this.#advance(key, this.#index.byNumber(endpoint), now);
  }

  #advance(key: number, endpoint: EndpointEntry, now: number): void {
    const first = this.#first.get(key);
    const next = first === undefined ? null : nextInLine(this.#lineOf(key, endpoint, first));
    if (next === null) return;
    const dueAt = releasedAt(endpoint, first!.due_at - BEHIND, now);
    this.#release.run(dueAt, next.event, endpoint.number);
    this.#released.push({ endpoint: endpoint.id, event: this.#eventId(next.event), dueAt });
  }

  #goesBehind(endpoint: EndpointEntry, { key, sequence }: Ordered, event: number): boolean {
    const { isBehind: behind, overtakes } = enter(this.#line(key, endpoint), { sequence, event });
    if (overtakes !== null) {
      this.#overtake.run(overtakes.event, endpoint.number);
      // It would be made before its turn.
      this.#manual.drop(overtakes.event, endpoint.number);
      const delivery = deliveryId(this.#eventId(overtakes.event), endpoint.number);
      this.#overtaken.push({ endpoint: endpoint.id, delivery });
    }
    return behind;
  }

  #line(key: number, endpoint: EndpointEntry): Line {
    return this.#lineOf(key, endpoint, this.#first.get(key));
  }

  #lineOf(key: number, endpoint: EndpointEntry, first: First | undefined): Line {
    return {
      first:
        first === undefined
          ? null
          : {
              event: first.event,
              sequence: first.sequence,
              isBehind: isBehind(first.due_at),
              isBeingCancelled: isBeingCancelled(endpoint, first.event, "waiting"),
            },
      holder: (this.#someHeld && this.#holder.get(key)) || null,
    };
  }

  #orderOf(event: number, endpoint: number): Ordered | null {
    const row = this.#of.get(event, endpoint);
    return row === undefined ? null : orderedOf(row);
  }

  #write(): void {
    if (this.#unwritten.size === 0) return;
    this.#flushRows();
    this.#unwritten.clear();
  }

  #eventId(key: number): string {
    return eventId(key, this.#random.get(key)!);
  }

  get #someHeld(): boolean {
    return (this.#isHeld ??= this.#anyHeld.get() !== undefined);
  }
}
