/**
 * The lines of ordering keys. `src/domain/deliveries/ordering.ts` decides who is first. This file reads the facts
 * inside the transaction that opens or settles a delivery, and writes the result.
 *
 * Every such transaction locks in one order, so that two of them see each other's changes and cannot wait for each
 * other: all of its lines at once, in the order of their endpoints and keys, then events, then deliveries. So it does
 * work of one kind only: another kind would lock deliveries while this one waits for its lines.
 *
 * Other nodes wait for these locks until the commit. So statements that do not depend on each other's rows are sent
 * together: the server runs them in the order in which they were sent, and each sees what the ones before it did.
 */
import { isOpen, type StoredStatus, type Ordered } from "../../../domain/deliveries/delivery.ts";
import {
  enterTogether,
  holdsKey,
  isAhead,
  nextInLine,
  releasedAt,
  type Line,
  type OrderRules,
  type Place,
} from "../../../domain/deliveries/ordering.ts";
import { isBeingCancelled } from "../../../domain/deliveries/withdrawal.ts";
import type { EventDelivery, Pruned, Reordered, Waiting } from "../../store.ts";
import { BEHIND, deliveryId, eventId, isBehind, WAITING } from "../../rows/codes.ts";
import { FREED_KEYS, IS_OVER } from "../../rows/ordering-sql.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";

/** A delivery in a line. */
export interface InLine extends Ordered {
  readonly event: number;
  readonly endpoint: number;
}

/** A delivery in a line that had one status and now has another. */
export interface Settled extends InLine {
  readonly before: StoredStatus;
  readonly status: StoredStatus;
}

/** A new delivery, which gets the next number of its line. */
export interface Newcomer {
  readonly endpoint: number;
  readonly orderingKey: string;
  readonly event: number;
}

interface LineRow {
  readonly num: number;
  readonly endpoint: number;
  readonly id: string;
  readonly enabled: number;
  readonly cancel_to: number | null;
  readonly event: number | null;
  readonly sequence: number;
  readonly due_at: number;
  readonly random: string;
  readonly held_sequence: number | null;
  readonly held_event: number;
  readonly ordering: OrderRules["ordering"];
  readonly after_failure: OrderRules["afterFailure"];
  readonly deleted: boolean;
}

/** The facts about some lines, by their numbers. */
export type Facts = ReadonlyMap<number, LineRow>;

const linesOf = (keys: string) => `
  SELECT k.num, k.endpoint, p.id, p.enabled, p.cancel_to, f.event, f.sequence, f.due_at, e.random,
    h.sequence AS held_sequence, h.event AS held_event,
    p.ordering, p.after_failure, p.deleted_at IS NOT NULL AS deleted
  FROM ${keys} k JOIN endpoint p ON p.number = k.endpoint
  LEFT JOIN LATERAL (
    SELECT d.event, d.sequence, d.due_at FROM delivery d
    WHERE d.ordering_key = k.num AND d.status <= ${WAITING} ORDER BY d.sequence, d.event LIMIT 1) f ON true
  LEFT JOIN event e ON e.key = f.event
  LEFT JOIN LATERAL (
    SELECT o.sequence, o.event FROM held_key o WHERE o.ordering_key = k.num ORDER BY o.sequence, o.event LIMIT 1) h
    ON true`;
const LINES = `${linesOf("ordering_key")} WHERE k.num = ANY($1::bigint[])`;
/** OFFSET keeps the look-up from becoming a join. A plan made for few keys would begin with all of them. */
const LINES_OF_KEYS = linesOf(`unnest($1::integer[], $2::text[]) AS n (endpoint, key)
  CROSS JOIN LATERAL (
    SELECT o.num, o.endpoint FROM ordering_key o WHERE o.endpoint = n.endpoint AND o.key = n.key OFFSET 0)`);

type Moved = { readonly released: Waiting[]; readonly overtaken: EventDelivery[] };

export class Lines {
  readonly #engine: Engine;
  /** The changes of transactions that are not committed yet. */
  readonly #inside = new WeakMap<Queries, Moved>();
  #moved: Moved = { released: [], overtaken: [] };

  constructor(engine: Engine) {
    this.#engine = engine;
    engine.riders.push(async (tx) => () => this.#committed(tx));
  }

  /** See `DeliveryStore.reordered`. */
  take(): Reordered | null {
    const moved = this.#moved;
    if (moved.released.length === 0 && moved.overtaken.length === 0) return null;
    this.#moved = { released: [], overtaken: [] };
    return moved;
  }

  /**
   * Gives new deliveries the next numbers of their lines, in this order. Their rows must be written before others run.
   */
  async enter(
    tx: Queries,
    all: readonly Newcomer[],
    now: number,
  ): Promise<readonly (Ordered & { readonly isBehind: boolean })[]> {
    const groups = groupsOf(all);
    const some = groups.map(([one]) => one!);
    const [numbered, lines] = await Promise.all([
      this.#number(tx, groups, 1, now),
      this.#read(tx, LINES_OF_KEYS, [some.map(({ endpoint }) => endpoint), some.map(({ orderingKey }) => orderingKey)]),
    ]);
    const places = new Map<Newcomer, Ordered & { readonly isBehind: boolean }>();
    for (const { num, last, group } of numbered) {
      const before = last - group.length;
      const stood = group.map(({ event }, at) => ({ sequence: before + at + 1, event }));
      const { behind } = enterTogether(lineOf(lines.get(num)!), stood);
      for (const [at, one] of group.entries()) {
        const place = stood[at]!;
        places.set(one, { key: num, sequence: place.sequence, isBehind: behind.has(place) });
      }
    }
    return all.map((one) => places.get(one)!);
  }

  /** Finds the lines of deliveries that a job adds. They have no number, and go before those that wait. */
  async late(tx: Queries, all: readonly Newcomer[], now: number): Promise<readonly InLine[]> {
    const numbered = await this.#number(tx, groupsOf(all), 0, now);
    return numbered.flatMap(({ num, group }) =>
      group.map(({ endpoint, event }) => ({ key: num, sequence: 0, event, endpoint })),
    );
  }

  /** Returns those that wait behind others, of deliveries that are about to be opened. Their lines must be locked. */
  async reenter(tx: Queries, all: readonly InLine[]): Promise<ReadonlySet<InLine>> {
    const behind = new Set<InLine>();
    if (all.length === 0) return behind;
    const keys = all.map(({ key }) => key);
    const [, lines] = await Promise.all([unhold(tx, all), this.look(tx, keys)]);
    const moved: Moved = { released: [], overtaken: [] };
    const overtaken: InLine[] = [];
    for (const [key, some] of Map.groupBy(all, (one) => one.key)) {
      const row = lines.get(key)!;
      const entered = enterTogether(lineOf(row), some);
      for (const one of some) if (entered.behind.has(one)) behind.add(one);
      if (entered.overtakes === null) continue;
      overtaken.push({ ...entered.overtakes, key, endpoint: row.endpoint });
      moved.overtaken.push({ endpoint: row.id, delivery: deliveryId(eventId(row.event!, row.random), row.endpoint) });
    }
    if (overtaken.length === 0) return behind;
    const pairs = [overtaken.map(({ event }) => event), overtaken.map(({ endpoint }) => endpoint)];
    await Promise.all([
      tx.change(
        `UPDATE delivery d SET status = ${WAITING}, due_at = d.due_at + ${BEHIND}
         FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
         WHERE d.event = n.event AND d.endpoint = n.endpoint`,
        pairs,
      ),
      // They would be made before their turn.
      tx.change(
        `DELETE FROM manual_attempt m USING unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
         WHERE m.event = n.event AND m.endpoint = n.endpoint`,
        pairs,
      ),
      this.#note(tx, moved),
    ]);
    return behind;
  }

  /** Deliveries were settled, in this order, so others may follow. Their lines must be locked. */
  async settled(tx: Queries, all: readonly Settled[], now: number): Promise<void> {
    const closed = onceEach(all).filter(({ status }) => !isOpen(status));
    if (closed.length === 0) return;
    const [, facts] = await Promise.all([
      unhold(
        tx,
        closed.filter(({ status }) => status !== "failed"),
      ),
      this.look(
        tx,
        closed.map(({ key }) => key),
      ),
    ]);
    await this.moveOn(tx, facts, closed, now);
  }

  /** Reads the facts about lines, which must be locked. */
  look(tx: Queries, keys: readonly number[]): Promise<Facts> {
    return keys.length === 0 ? Promise.resolve(new Map()) : this.#read(tx, LINES, [[...new Set(keys)]]);
  }

  /**
   * Does the same as `settled`, with the facts that were read after the deliveries were settled, each of them once. None
   * of them may have held its key before.
   */
  async moveOn(tx: Queries, facts: Facts, all: readonly Settled[], now: number): Promise<void> {
    const closed = all.filter(({ status }) => !isOpen(status));
    const held = closed.filter(
      ({ key, before, status }) => isOpen(before) && holdsKey(rulesOf(facts.get(key)!), status),
    );
    const holders = Map.groupBy(held, ({ key }) => key);
    const lines = [...new Set(closed.map(({ key }) => key))].map((key) => {
      const row = facts.get(key)!;
      const line = lineOf(row);
      const some: Place[] = holders.get(key) ?? [];
      const holder = some.reduce((first, one) => (first === null || isAhead(one, first) ? one : first), line.holder);
      return [row, { ...line, holder }] as const;
    });
    await Promise.all([hold(tx, held, now), this.#release(tx, lines, now)]);
  }

  /** True if keys may be held although their endpoints do not hold any, as they did when the deliveries failed. */
  async mayFree(): Promise<boolean> {
    return (await this.#engine.database.rows(`${FREED_KEYS} LIMIT 1`)).length > 0;
  }

  /** Frees keys of endpoints that hold none any more. Returns their number. */
  async freeKeys(tx: Queries, now: number): Promise<number> {
    const rows = await tx.rows<InLine>(`${FREED_KEYS} LIMIT ${CHUNK}`);
    await this.free(tx, rows, now);
    return rows.length;
  }

  /** These deliveries hold their keys no longer. */
  async free(tx: Queries, held: readonly InLine[], now: number): Promise<void> {
    if (held.length === 0) return;
    const keys = held.map(({ key }) => key);
    await Promise.all([lockLines(tx, keys), unhold(tx, held), this.advance(tx, keys, now)]);
  }

  /** Lets the first of each line be due, if it is its turn. The lines must be locked. */
  async advance(tx: Queries, keys: readonly number[], now: number): Promise<void> {
    const rows = [...(await this.look(tx, keys)).values()];
    await this.#release(
      tx,
      rows.map((row) => [row, lineOf(row)]),
      now,
    );
  }

  async #release(tx: Queries, lines: readonly (readonly [LineRow, Line])[], now: number): Promise<void> {
    const moved: Moved = { released: [], overtaken: [] };
    const events: number[] = [];
    const endpoints: number[] = [];
    for (const [row, line] of lines) {
      const next = nextInLine(line);
      if (next === null) continue;
      const dueAt = releasedAt({ enabled: row.enabled === 1 }, row.due_at - BEHIND, now);
      moved.released.push({ endpoint: row.id, event: eventId(next.event, row.random), dueAt });
      events.push(next.event);
      endpoints.push(row.endpoint);
    }
    if (events.length === 0) return;
    await Promise.all([
      tx.change(
        `UPDATE delivery d SET due_at = n.due_at FROM unnest($1::bigint[], $2::integer[], $3::bigint[])
           AS n (event, endpoint, due_at) WHERE d.event = n.event AND d.endpoint = n.endpoint`,
        [events, endpoints, moved.released.map(({ dueAt }) => dueAt)],
      ),
      this.#note(tx, moved),
    ]);
  }

  /**
   * Locks the lines of these groups of deliveries, and adds those that are missing. Gives each delivery one number or
   * none, and returns the last number of each line.
   */
  async #number(tx: Queries, groups: readonly (readonly Newcomer[])[], numbers: 0 | 1, now: number) {
    const rows = await tx.rows<{ num: number; endpoint: number; key: string; last: number }>(
      `INSERT INTO ordering_key (num, endpoint, key, last, seen)
       SELECT * FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[])
         AS n (num, endpoint, key, last, seen) ORDER BY endpoint, key
       ON CONFLICT (endpoint, key) DO UPDATE
         SET last = ordering_key.last + excluded.last, seen = greatest(ordering_key.seen, excluded.seen)
       RETURNING num, endpoint, key, last`,
      [
        groups.map(() => this.#engine.numbers.next(now)),
        groups.map(([one]) => one!.endpoint),
        groups.map(([one]) => one!.orderingKey),
        groups.map(({ length }) => numbers * length),
        groups.map((group) => Math.max(...group.map(({ event }) => event))),
      ],
    );
    const byName = new Map(groups.map((group) => [lineNameOf(group[0]!), group]));
    return rows.map(({ num, endpoint, key, last }) => ({
      num,
      last,
      group: byName.get(lineNameOf({ endpoint, orderingKey: key }))!,
    }));
  }

  async #read(tx: Queries, sql: string, values: readonly unknown[]): Promise<Facts> {
    return new Map((await tx.rows<LineRow>(sql, values)).map((row) => [row.num, row]));
  }

  async #note(tx: Queries, moved: Moved): Promise<void> {
    const { owner } = this.#engine;
    const isOwn = ({ endpoint }: { readonly endpoint: string }) => owner.owns?.(endpoint) !== false;
    let inside = this.#inside.get(tx);
    if (inside === undefined) this.#inside.set(tx, (inside = { released: [], overtaken: [] }));
    inside.released.push(...moved.released.filter(isOwn));
    inside.overtaken.push(...moved.overtaken.filter(isOwn));
    await owner.notify(tx, { waiting: moved.released, withdrawn: moved.overtaken });
  }

  #committed(tx: Queries): void {
    const inside = this.#inside.get(tx);
    if (inside === undefined) return;
    this.#inside.delete(tx);
    this.#moved.released.push(...inside.released);
    this.#moved.overtaken.push(...inside.overtaken);
  }
}

/** Must be the first thing that a transaction does to the deliveries of these lines. */
export async function lockLines(tx: Queries, keys: readonly number[]): Promise<void> {
  if (keys.length > 0) await lockLinesIn(tx, "SELECT unnest($1::bigint[])", [keys]);
}

/** Does the same with the lines whose numbers this SQL selects. */
export async function lockLinesIn(tx: Queries, numbers: string, values: readonly unknown[]): Promise<void> {
  await tx.rows(
    `SELECT 1 FROM ordering_key WHERE num = ANY(ARRAY(${numbers})) ORDER BY endpoint, key FOR UPDATE`,
    values,
  );
}

/** Removes keys whose last event is gone, so that their numbers begin at 1 again. */
export async function pruneLines(tx: Queries, from: string | null): Promise<Pruned> {
  const rows = await tx.rows<{ num: number; over: boolean }>(
    `SELECT num, ${IS_OVER} AS over FROM ordering_key WHERE num > $1 ORDER BY num LIMIT ${CHUNK}`,
    [from === null ? -1 : Number(from)],
  );
  const over = rows.filter((row) => row.over).map(({ num }) => num);
  await lockLines(tx, over);
  // A publish in another transaction may be using the key again.
  const pruned = await tx.change(`DELETE FROM ordering_key WHERE num = ANY($1::bigint[]) AND ${IS_OVER}`, [over]);
  return { pruned, next: rows.length < CHUNK ? null : String(rows.at(-1)!.num) };
}

async function hold(tx: Queries, all: readonly InLine[], now: number): Promise<void> {
  if (all.length === 0) return;
  await tx.change(
    `INSERT INTO held_key (ordering_key, sequence, event, endpoint, since)
     SELECT k, s, e, p, $5::bigint FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[]) AS n (k, s, e, p)
     ON CONFLICT DO NOTHING`,
    [...columnsOf(all), all.map(({ endpoint }) => endpoint), now],
  );
}

async function unhold(tx: Queries, all: readonly InLine[]): Promise<void> {
  if (all.length === 0) return;
  await tx.change(
    `DELETE FROM held_key h USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (key, sequence, event)
     WHERE h.ordering_key = n.key AND h.sequence = n.sequence AND h.event = n.event`,
    columnsOf(all),
  );
}

function columnsOf(all: readonly InLine[]): unknown[][] {
  return [all.map(({ key }) => key), all.map(({ sequence }) => sequence), all.map(({ event }) => event)];
}

/**
 * Returns one change for each delivery, from its first status to its last. One that failed may have succeeded after
 * that, and then it holds nothing.
 */
function onceEach(all: readonly Settled[]): readonly Settled[] {
  const each = new Map<string, Settled>();
  for (const one of all) {
    const name = `${one.event} ${one.endpoint}`;
    each.set(name, { ...one, before: each.get(name)?.before ?? one.before });
  }
  return [...each.values()];
}

type LineName = Pick<Newcomer, "endpoint" | "orderingKey">;

/** Groups new deliveries by their lines. */
function groupsOf(all: readonly Newcomer[]): Newcomer[][] {
  return [...Map.groupBy(all, lineNameOf).values()];
}

function lineNameOf({ endpoint, orderingKey }: LineName): string {
  return `${endpoint} ${orderingKey}`;
}

function rulesOf({ ordering, after_failure: afterFailure, deleted }: LineRow) {
  return { ordering, afterFailure, deleted };
}

function lineOf(row: LineRow): Line {
  const { event, sequence, held_sequence: heldSequence } = row;
  const holder: Place | null = heldSequence === null ? null : { sequence: heldSequence, event: row.held_event };
  if (event === null) return { first: null, holder };
  const first = {
    event,
    sequence,
    isBehind: isBehind(row.due_at),
    isBeingCancelled: isBeingCancelled({ cancelTo: row.cancel_to }, event, "waiting"),
  };
  return { first, holder };
}
