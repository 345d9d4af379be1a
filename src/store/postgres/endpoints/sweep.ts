/** Cleans up after an endpoint: cancels its open deliveries, and removes its row once its history is gone. */
import type { Pruned } from "../../store.ts";
import type { Pending } from "../deliveries/pending.ts";
import { dropRequests } from "../deliveries/record.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";
import { type Lines, lockLines } from "../ordering/lines.ts";
import { CANCELLED, FRESH, WAITING } from "../../rows/codes.ts";

/** The place of a walk over an endpoint's open deliveries, and the event up to which it goes. */
export interface Swept {
  readonly upTo: number;
  readonly dueAt: number;
  readonly event: number;
}

const CANCEL = `UPDATE delivery SET status = ${CANCELLED}, due_at = NULL
  WHERE endpoint = $1 AND event = ANY($2::bigint[]) AND status <= ${WAITING} RETURNING event, endpoint`;

interface Found {
  readonly event: number;
  /** Its line. */
  readonly key: number | null;
}

/**
 * Cancels some of the endpoint's open deliveries of events up to its mark, and removes the mark at the end. Returns the
 * place at which to continue, or null at the end. No delivery can move behind the walk: one that is still to be
 * cancelled only moves to later due times, and no replay touches it.
 */
export async function cancelOpen(
  tx: Queries,
  { lines, pending }: { readonly lines: Lines; readonly pending: Pending },
  endpoint: number,
  from: Swept | null,
  now: number,
): Promise<Swept | null> {
  const [marked] = await tx.rows<{ up_to: number; tenant: string }>(
    // A replay has locked lines and now wants to lock the endpoint (`KEPT`). This lock lets it.
    "SELECT cancel_to AS up_to, tenant FROM endpoint WHERE number = $1 AND cancel_to IS NOT NULL FOR NO KEY UPDATE",
    [endpoint],
  );
  if (marked === undefined) return null;
  const { up_to: upTo, tenant } = marked;
  const at = from?.upTo === upTo ? from : { upTo, dueAt: -1, event: -1 };
  const fresh =
    at.event === -1
      ? await tx.rows<Found>(
          `SELECT event, ordering_key AS key FROM delivery WHERE status = ${FRESH} AND endpoint = $1 AND event <= $2
           LIMIT ${CHUNK}`,
          [endpoint, upTo],
        )
      : [];
  const isFull = fresh.length === CHUNK;
  const rows = isFull
    ? []
    : await tx.rows<Found & { readonly due_at: number }>(
        `SELECT due_at, event, ordering_key AS key FROM delivery
         WHERE status = ${WAITING} AND endpoint = $1 AND (due_at, event) > ($2, $3)
         ORDER BY due_at, event LIMIT ${CHUNK}`,
        [endpoint, at.dueAt, at.event],
      );
  const found = [...fresh, ...rows.filter(({ event }) => event <= upTo)];
  const keys = found.flatMap(({ key }) => key ?? []);
  await lockLines(tx, keys);
  const cancelled = await cancelAll(tx, endpoint, found);
  await pending.change(tx, new Map([[tenant, -cancelled]]));
  await lines.advance(tx, keys, now);
  if (isFull) return at;
  const last = rows.at(-1);
  if (last !== undefined && rows.length === CHUNK) return { upTo, dueAt: last.due_at, event: last.event };
  await tx.change("UPDATE endpoint SET cancel_to = NULL WHERE number = $1", [endpoint]);
  return null;
}

/** Returns the number of those that were open. Also drops the requested attempts, because nobody else would. */
async function cancelAll(tx: Queries, endpoint: number, some: readonly Found[]): Promise<number> {
  const events = some.map(({ event }) => event);
  const cancelled = await tx.rows<{ event: number; endpoint: number }>(CANCEL, [endpoint, events]);
  await dropRequests(tx, cancelled);
  return cancelled.length;
}

/**
 * Removes deleted endpoints that nothing refers to any more. Keeps the last one, because its number would be reused.
 */
export async function pruneDeleted(
  tx: Queries,
  before: number,
  from: string | null,
): Promise<Pruned & { readonly numbers: readonly number[] }> {
  const rows = await tx.rows<{ number: number; over: boolean }>(
    `SELECT number, deleted_at < $1 AND cancel_to IS NULL AND number < (SELECT max(number) FROM endpoint)
       AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.endpoint = e.number)
       AND NOT EXISTS (SELECT 1 FROM job_endpoint j WHERE j.endpoint = e.number) AS over
     FROM endpoint e WHERE deleted_at IS NOT NULL AND number > $2 ORDER BY number LIMIT ${CHUNK}`,
    [before, from === null ? -1 : Number(from)],
  );
  const numbers = rows.filter(({ over }) => over).map(({ number }) => number);
  if (numbers.length > 0) {
    for (const [table, key] of [
      ["health", "endpoint"],
      ["choice", "endpoint"],
      ["endpoint", "number"],
    ] as const) {
      await tx.change(`DELETE FROM ${table} WHERE ${key} = ANY($1::integer[])`, [numbers]);
    }
  }
  return { pruned: numbers.length, next: rows.length < CHUNK ? null : String(rows.at(-1)!.number), numbers };
}
