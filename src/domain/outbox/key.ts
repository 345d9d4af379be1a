/**
 * The idempotency keys of rows. Such a key must not expire while its row is in the application's table, so no time is
 * set for it: it is removed once the row is gone.
 */

/** Callers of the API cannot use such a key, because theirs contain no spaces. */
export function outboxKey(outbox: string, digest: string, row: string): string {
  return `outbox ${outbox} ${digest} ${row}`;
}

const KEY = /^outbox (\S+) \S+ ([^]*)$/;

/** Returns the outbox and the row of a key. Null for any other key. */
export function rowOfKey(key: string): { readonly outbox: string; readonly row: string } | null {
  const [, outbox, row] = KEY.exec(key) ?? [];
  return outbox === undefined || row === undefined ? null : { outbox, row };
}

/** Keys that expire after this instant are removed by their outbox, not by time. */
export const LASTING = 4e15;

/** Returns the expiry of a key that lasts, from which the store can tell when it was used. */
export function lastingFrom(now: number): number {
  return LASTING + now;
}

/**
 * A key is kept for at least this long after its use. A row is published within seconds of being read, or not at all, so by
 * then no process can still be publishing a row that another one has published and deleted.
 */
export const KEPT_MS = 5 * 60_000;
/** A row that was read longer ago is not published. It is read again. */
export const CLAIM_MS = 60_000;
