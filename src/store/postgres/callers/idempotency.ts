/** Idempotency keys, and the responses that they stand for. Requests without a key skip this class. */
import type { WebhookdError } from "../../../domain/errors.ts";
import { WebhookdError as Refusal } from "../../../domain/errors.ts";
import {
  IdempotencyMismatch,
  type Idempotency,
  type KeyedRequest,
  type Once,
} from "../../../domain/events/idempotency.ts";
import type { Remembered } from "../../../domain/events/routing.ts";
import { CLAIM_MS, LASTING } from "../../../domain/outbox/key.ts";
import type { IdempotencyStore, LastingKey } from "../../store.ts";
import { Outrun, type Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";

interface Row {
  readonly tenant: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  readonly expires_at: number;
  readonly answer: string;
}

/** A key, and the response to store under it. */
export interface ToRemember extends KeyedRequest {
  readonly text: string;
}

export class IdempotencyKeys implements IdempotencyStore {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async recall(request: KeyedRequest, now: number): Promise<string | null> {
    const known = await this.known(this.#engine.database, [request]);
    const answer = this.answerOf(known, request, now);
    if (answer instanceof Refusal) throw answer;
    // A server may have committed the response although its standby does not have it. A further commit waits for the
    // standby.
    if (answer !== null) await this.#engine.write(async () => {});
    return answer;
  }

  async remember(request: KeyedRequest, answer: string): Promise<void> {
    await this.#engine.write((tx) => this.write(tx, [{ ...request, text: answer }], Number.MAX_SAFE_INTEGER));
  }

  async prune(now: number): Promise<number> {
    return this.#engine.write((tx) =>
      tx.change(
        `DELETE FROM idempotency WHERE (tenant, key) IN (
           SELECT tenant, key FROM idempotency WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${CHUNK})`,
        [now],
      ),
    );
  }

  async lasting(after: number, until: number, limit: number): Promise<readonly LastingKey[]> {
    const rows = await this.#engine.database.rows<Pick<Row, "tenant" | "key" | "expires_at">>(
      `SELECT tenant, key, expires_at FROM idempotency
       WHERE expires_at > $1 AND expires_at <= $2 ORDER BY expires_at LIMIT $3`,
      [LASTING + after, LASTING + until, limit],
    );
    return rows.map(({ tenant, key, expires_at: at }) => ({ tenant, key, usedAt: at - LASTING }));
  }

  async forget(keys: readonly LastingKey[]): Promise<void> {
    await this.#engine.write((tx) =>
      tx.change(
        `DELETE FROM idempotency AS i USING unnest($1::text[], $2::text[]) AS k (tenant, key)
         WHERE i.tenant = k.tenant AND i.key = k.key`,
        [keys.map(({ tenant }) => tenant), keys.map(({ key }) => key)],
      ),
    );
  }

  /** Runs a transaction of work that may be refused, once per idempotency key. */
  commit<T>(once: Once<T> | undefined, now: number, work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#engine.write((tx) => this.once(tx, once, now, () => work(tx)));
  }

  async once<T>(tx: Queries, once: Once<T> | undefined, now: number, work: () => Promise<T>): Promise<T> {
    if (once === undefined) return work();
    const known = this.answerOf(await this.known(tx, [once]), once, now);
    if (known !== null) throw typeof known === "string" ? underWay() : known;
    const result = await work();
    const text = once.answer(result);
    if (text !== null) await this.write(tx, [{ ...once, text }], now);
    return result;
  }

  async known(queries: Queries, requests: readonly Pick<KeyedRequest, "tenant" | "key">[]): Promise<Map<string, Row>> {
    const rows = await queries.rows<Row>(
      `SELECT i.* FROM unnest($1::text[], $2::text[]) AS k (tenant, key)
       JOIN idempotency i ON i.tenant = k.tenant AND i.key = k.key`,
      [requests.map(({ tenant }) => tenant), requests.map(({ key }) => key)],
    );
    return new Map(rows.map((row) => [nameOf(row), row]));
  }

  /** Returns the response, null if the key is free, or an error if another request used it. */
  answerOf(
    known: ReadonlyMap<string, Row>,
    request: Idempotency & { readonly tenant: string },
    now: number,
  ): string | null | IdempotencyMismatch {
    const remembered = this.remembered(known, request, now);
    if (remembered === null) return null;
    return remembered.isSame ? remembered.answer : new IdempotencyMismatch(null);
  }

  /** Returns what the key was used for, or null if it is free. */
  remembered(
    known: ReadonlyMap<string, Row>,
    request: Idempotency & { readonly tenant: string },
    now: number,
  ): Remembered<string> | null {
    const row = known.get(nameOf(request));
    if (row === undefined || row.expires_at <= now) return null;
    const isSame = row.fingerprint.equals(this.#engine.box.mark(request.fingerprint));
    return isSame ? { isSame, answer: row.answer } : { isSame };
  }

  /**
   * Replaces expired rows, and, for the key of a batch, the row that the same transaction wrote for an item with that
   * key. If another node took a key in the meantime, the whole transaction is repeated with that known. A lasting key
   * must be written soon after its row was read: a process that was suspended for longer may publish a row that another
   * one has published and deleted, and whose key is forgotten.
   */
  async write(tx: Queries, all: readonly ToRemember[], now: number): Promise<void> {
    if (all.length === 0) return;
    const written = await tx.change(
      `INSERT INTO idempotency (tenant, key, fingerprint, expires_at, answer)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[])
         AS k (tenant, key, fingerprint, expires_at, answer)
       WHERE k.expires_at < ${LASTING}
         OR k.expires_at > ${LASTING - CLAIM_MS} + extract(epoch FROM clock_timestamp()) * 1000
       ON CONFLICT (tenant, key) DO UPDATE
         SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, answer = excluded.answer
         WHERE idempotency.expires_at <= $6 OR idempotency.xmin = pg_current_xact_id()::xid`,
      [
        all.map(({ tenant }) => tenant),
        all.map(({ key }) => key),
        // A body may contain a weak secret, which its plain hash would allow a reader of a backup to guess.
        all.map(({ fingerprint }) => this.#engine.box.mark(fingerprint)),
        all.map(({ expiresAt }) => expiresAt),
        all.map(({ text }) => text),
        now,
      ],
    );
    if (written < all.length) throw new Outrun("an idempotency key was taken in the meantime");
  }
}

export function nameOf({ tenant, key }: Pick<KeyedRequest, "tenant" | "key">): string {
  return `${tenant} ${key}`;
}

function underWay(): WebhookdError {
  const detail = "the same request has just been answered elsewhere; repeat it to get that answer";
  return new Refusal("overloaded", detail, { retryAfterSeconds: 1 });
}
