/**
 * Records attempts. Nearly all of them move their delivery, and one statement does that for a whole batch. For the
 * others, this reads the rows, lets `afterAttempt` decide one attempt after another, and writes each row by
 * compare-and-set. If another node has moved one in the meantime, everything is decided again.
 */
import type { KeyTimes } from "../../rows/key-times.ts";
import { afterAttempt, answersRequest, moveOf, withoutResponse } from "../../../domain/deliveries/record.ts";
import type { StoredStatus } from "../../../domain/deliveries/delivery.ts";
import type { EndedAttempt, Recorded } from "../../store.ts";
import type { Engine } from "../engine/engine.ts";
import { type Lines, lockLines, type Settled } from "../ordering/lines.ts";
import { Outrun, type Queries } from "../engine/database.ts";
import { ATTEMPT_COLUMNS, attemptRow } from "../../rows/attempt-row.ts";
import { BEHIND, WAITING } from "../../rows/codes.ts";
import { rowOf, stateOf, type StateRow } from "../../rows/delivery-row.ts";
import { type Pending, pendingOfEach } from "./pending.ts";

interface Row extends StateRow {
  readonly event: number;
  readonly endpoint: number;
  readonly erased: boolean;
}

/** An attempt, with the numbers of its event and endpoint. */
export interface Placed {
  readonly ended: EndedAttempt;
  readonly tenant: string;
  readonly event: number;
  readonly endpoint: number;
}

/**
 * A place in `all` is null for an attempt whose event is gone, or whose endpoint never existed. `isNew` says that the
 * deliveries that move have no stored attempt yet. That is always so, and saying it saves the server a look-up.
 */
export async function recordAll(
  tx: Queries,
  { lines, pending }: { readonly lines: Lines; readonly pending: Pending },
  all: readonly (Placed | null)[],
  { clock, keys: { times } }: Pick<Engine, "clock" | "keys">,
  isNew: boolean,
): Promise<Recorded[]> {
  const placed = all.filter((one) => one !== null);
  const inLine = placed.flatMap(({ ended: { claim } }) => claim.ordered?.key ?? []);
  const moves: Settled[] = [];
  const [, settled, facts] = await Promise.all([
    lockLines(tx, inLine),
    settle(tx, placed),
    lines.look(tx, inLine),
    dropAsked(tx, placed),
  ]);
  const left = all.map((one) => (one === null || settled.has(one) ? null : one));
  const ended = [...settled].filter((one) => one.ended.verdict.status !== "pending");
  const isAll = left.every((one) => one === null);
  for (const one of settled) note(moves, one, "waiting", moveOf(one.ended)!.status);
  const [recorded] = await Promise.all([
    isAll ? [] : recordEach(tx, pending, times, left, moves),
    addAttempts(tx, [...settled], times, isNew ? "" : UNLESS_THERE),
    pending.change(tx, pendingOfEach(ended, -1)),
    isAll && lines.moveOn(tx, facts, moves, clock.now()),
  ]);
  if (!isAll) await lines.settled(tx, moves, clock.now());
  return all.map((one, at) => (one !== null && settled.has(one) ? appliedTo(one.ended) : (recorded[at] ?? NOTHING)));
}

function note(moves: Settled[], { ended, event, endpoint }: Placed, before: StoredStatus, status: StoredStatus): void {
  const { ordered } = ended.claim;
  if (ordered !== undefined) moves.push({ ...ordered, event, endpoint, before, status });
}

const NOTHING: Recorded = { result: "superseded", waiting: null };

function appliedTo({ claim: { endpoint, event }, verdict }: EndedAttempt): Recorded {
  const waits = verdict.status === "pending";
  return { result: "applied", waiting: waits ? { endpoint, event, dueAt: Math.ceil(verdict.dueAt) } : null };
}

/**
 * Moves the deliveries that are as their attempts found them (`isAsFound`), without reading them first. None of their
 * events is erased, because an erasure waits until no delivery is open. Returns the attempts that moved a delivery.
 */
async function settle(tx: Queries, placed: readonly Placed[]): Promise<ReadonlySet<Placed>> {
  const first = new Map<string, Placed>();
  for (const one of placed) if (!first.has(nameOf(one))) first.set(nameOf(one), one);
  const some = [...first.values()].flatMap((one) => {
    const to = moveOf(one.ended);
    return to === null ? [] : [{ one, to: rowOf(to) }];
  });
  if (some.length === 0) return new Set();
  const rows = await tx.rows<{ event: number; endpoint: number }>(
    `UPDATE delivery d SET status = n.status, attempts = n.attempts, retry = n.retry, trigger = n.trigger, due_at = n.due_at
     FROM (SELECT unnest($1::bigint[]) AS event, unnest($2::integer[]) AS endpoint, unnest($3::smallint[]) AS status,
         unnest($4::integer[]) AS attempts, unnest($5::integer[]) AS retry, unnest($6::smallint[]) AS trigger,
         unnest($7::bigint[]) AS due_at) n
     WHERE d.event = n.event AND d.endpoint = n.endpoint AND d.status <= ${WAITING} AND d.attempts = n.attempts - 1
       AND d.due_at < ${BEHIND}
     RETURNING d.event, d.endpoint`,
    [
      some.map(({ one }) => one.event),
      some.map(({ one }) => one.endpoint),
      some.map(({ to }) => to.status),
      some.map(({ to }) => to.attempts),
      some.map(({ to }) => to.retry),
      some.map(({ to }) => to.trigger),
      some.map(({ to }) => to.due_at),
    ],
  );
  return new Set(rows.map((row) => first.get(nameOf(row))!));
}

async function dropAsked(tx: Queries, placed: readonly Placed[]): Promise<void> {
  await Promise.all([
    tx.change(
      `DELETE FROM started s USING unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
       WHERE s.event = n.event AND s.endpoint = n.endpoint AND EXISTS (SELECT 1 FROM started)`,
      [placed.map(({ event }) => event), placed.map(({ endpoint }) => endpoint)],
    ),
    dropRequests(
      tx,
      placed.filter(({ ended }) => answersRequest(ended)),
    ),
  ]);
}

/** Records the attempts that `settle` did not: most often, another attempt or a cancel came first. */
async function recordEach(
  tx: Queries,
  pending: Pending,
  times: KeyTimes,
  all: readonly (Placed | null)[],
  moves: Settled[],
): Promise<Recorded[]> {
  const placed = all.filter((one) => one !== null);
  // Another node may be erasing an event. This lock keeps what is read below unchanged, and an erasure that comes later
  // finds what is written here.
  await tx.rows("SELECT 1 FROM event WHERE key = ANY($1::bigint[]) ORDER BY key FOR KEY SHARE", [
    placed.map(({ event }) => event),
  ]);
  const rows = await tx.rows<Row>(
    `SELECT DISTINCT d.event, d.endpoint, d.status, d.attempts, d.retry, d.trigger, d.due_at, e.body IS NULL AS erased
     FROM unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     JOIN delivery d ON d.event = n.event AND d.endpoint = n.endpoint JOIN event e ON e.key = d.event`,
    [placed.map(({ event }) => event), placed.map(({ endpoint }) => endpoint)],
  );
  const before = new Map(rows.map((row) => [nameOf(row), row]));
  const after = new Map<string, Row>(before);
  const kept: Placed[] = [];
  const recorded = all.map((one): Recorded => {
    const row = one === null ? undefined : after.get(nameOf(one));
    if (one === null || row === undefined) return NOTHING;
    const { claim } = one.ended;
    const was = stateOf(row);
    const { result, state } = afterAttempt(was, one.ended);
    note(moves, one, was.status, state.status);
    after.set(nameOf(one), { ...row, ...rowOf(state) });
    kept.push(row.erased ? { ...one, ended: withoutResponse(one.ended) } : one);
    const { status, dueAt } = state;
    const waits = status === "waiting" && dueAt !== null && state.isBehind !== true;
    return { result, waiting: waits ? { endpoint: claim.endpoint, event: claim.event, dueAt } : null };
  });
  const hasEnded = (name: string) => before.get(name)!.status <= WAITING && after.get(name)!.status > WAITING;
  // A batch may have several attempts of one delivery.
  const ended = [...new Map(kept.map((one) => [nameOf(one), one])).values()].filter((one) => hasEnded(nameOf(one)));
  await Promise.all([
    move(tx, before, after),
    addAttempts(tx, kept, times),
    pending.change(tx, pendingOfEach(ended, -1)),
  ]);
  return recorded;
}

async function move(tx: Queries, before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>): Promise<void> {
  const moved = [...after].filter(([name, to]) => before.get(name) !== to);
  const from = moved.map(([name]) => before.get(name)!);
  const to = moved.map(([, row]) => row);
  const changed = await tx.change(
    `UPDATE delivery d SET status = n.status, attempts = n.attempts, retry = n.retry, trigger = n.trigger, due_at = n.due_at
     FROM unnest($1::bigint[], $2::integer[], $3::smallint[], $4::integer[], $5::integer[], $6::smallint[], $7::bigint[],
       $8::smallint[], $9::integer[], $10::bigint[])
       AS n (event, endpoint, status, attempts, retry, trigger, due_at, was, had, due)
     WHERE d.event = n.event AND d.endpoint = n.endpoint
       AND d.status = n.was AND d.attempts = n.had AND d.due_at IS NOT DISTINCT FROM n.due`,
    [
      to.map(({ event }) => event),
      to.map(({ endpoint }) => endpoint),
      to.map(({ status }) => status),
      to.map(({ attempts }) => attempts),
      to.map(({ retry }) => retry),
      to.map(({ trigger }) => trigger),
      to.map(({ due_at: dueAt }) => dueAt),
      from.map(({ status }) => status),
      from.map(({ attempts }) => attempts),
      from.map(({ due_at: dueAt }) => dueAt),
    ],
  );
  if (changed < moved.length) throw new Outrun("a delivery was moved in the meantime");
}

export async function dropRequests(tx: Queries, pairs: readonly { event: number; endpoint: number }[]): Promise<void> {
  if (pairs.length === 0) return;
  await tx.change(
    `DELETE FROM manual_attempt m USING unnest($1::bigint[], $2::integer[]) AS n (event, endpoint)
     WHERE m.event = n.event AND m.endpoint = n.endpoint AND EXISTS (SELECT 1 FROM manual_attempt)`,
    [pairs.map(({ event }) => event), pairs.map(({ endpoint }) => endpoint)],
  );
}

/** The part of an attempt that is stored. Not every stored attempt was made: a held delivery may expire. */
export type Kept = Pick<Placed, "event" | "endpoint"> & {
  readonly ended: Omit<EndedAttempt, "claim" | "verdict"> & {
    readonly claim: Pick<EndedAttempt["claim"], "number" | "trigger" | "round" | "retry">;
  };
};

/** A response that arrives later than this after its event gets its own row. By then, first attempts have been made. */
export const LATE_RESPONSE_MS = 3_600_000;

/** An attempt that is already stored stays as it is. */
const UNLESS_THERE = "ON CONFLICT DO NOTHING";

export async function addAttempts(
  tx: Queries,
  all: readonly Kept[],
  times: KeyTimes,
  unless = UNLESS_THERE,
): Promise<void> {
  if (all.length === 0) return;
  const rows = all.map(({ event, endpoint, ended }) => ({ ...attemptRow(event, endpoint, ended), url: ended.url }));
  const columns = ATTEMPT_COLUMNS.map((name) => rows.map((row) => row[name]));
  const late = rows.filter(
    ({ body, event, started_at: at }) => body !== null && at > times.madeAt(event) + LATE_RESPONSE_MS,
  );
  await Promise.all([
    tx.change(
      `INSERT INTO attempt (${ATTEMPT_COLUMNS.join()})
       SELECT unnest($1::bigint[]), unnest($2::integer[]), unnest($3::integer[]), unnest($4::text[]),
         unnest($5::smallint[]), unnest($6::integer[]), unnest($7::integer[]), unnest($8::bigint[]),
         unnest($9::bigint[]), unnest($10::smallint[]), unnest($11::integer[]), unnest($12::text[]),
         unnest($13::text[]), unnest($14::integer[]), unnest($15::smallint[]), unnest($16::bytea[]),
         unnest($17::text[]), unnest($18::bytea[]) ${unless}`,
      columns,
    ),
    late.length === 0 ||
      tx.change(
        `INSERT INTO late_response (started_at, event, endpoint, number)
         SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[]) ON CONFLICT DO NOTHING`,
        (["started_at", "event", "endpoint", "number"] as const).map((name) => late.map((row) => row[name])),
      ),
  ]);
}

export function nameOf({ event, endpoint }: { readonly event: number; readonly endpoint: number }): string {
  return `${event} ${endpoint}`;
}
