/** Idempotency keys, and the responses that they stand for. Requests without a key skip this class. */
import type { Statement } from "better-sqlite3";
import { WebhookdError } from "../../../domain/errors.ts";
import type { EventDraft } from "../../../domain/events/event.ts";
import {
  IdempotencyMismatch,
  type Idempotency,
  type KeyedRequest,
  type Once,
} from "../../../domain/events/idempotency.ts";
import { LASTING } from "../../../domain/outbox/key.ts";
import type { Remembered } from "../../../domain/events/routing.ts";
import type { IdempotencyStore, LastingKey, Publication } from "../../store.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK, CHUNK_SIZE, type WorkSize } from "../engine/group-commit.ts";
import type { Box } from "../../rows/box.ts";
import type { Interned } from "../numbers/names.ts";

type Row = [tenant: number, key: string, fingerprint: Uint8Array, expiresAt: number, answer: string];

interface Found {
  readonly fingerprint: Buffer;
  readonly answer: string;
}

export class IdempotencyKeys implements IdempotencyStore {
  readonly #engine: Engine;
  readonly #tenants: Interned;
  readonly #box: Box;
  readonly #select: Statement<[number, string, number], Found>;
  readonly #insert: Statement<Row>;
  readonly #delete: Statement<[number, string]>;
  readonly #expired: Statement<[number]>;
  readonly #prune: Statement<[number]>;
  readonly #lasting: Statement<[number, number, number], { tenant: number; key: string; expires_at: number }>;

  constructor(engine: Engine, tenants: Interned) {
    const { box, db } = engine;
    this.#engine = engine;
    this.#box = box;
    this.#tenants = tenants;
    this.#select = db.prepare(
      "SELECT fingerprint, answer FROM idempotency WHERE tenant = ? AND key = ? AND expires_at > ?",
    );
    this.#insert = db.prepare(
      "INSERT OR IGNORE INTO idempotency (tenant, key, fingerprint, expires_at, answer) VALUES (?, ?, ?, ?, ?)",
    );
    this.#delete = db.prepare("DELETE FROM idempotency WHERE tenant = ? AND key = ?");
    this.#expired = db.prepare("SELECT 1 FROM idempotency WHERE expires_at <= ? LIMIT 1");
    this.#prune = db.prepare(
      `DELETE FROM idempotency WHERE num IN (
         SELECT num FROM idempotency INDEXED BY idempotency_expires
         WHERE expires_at <= ? ORDER BY expires_at LIMIT ${CHUNK})`,
    );
    this.#lasting = db.prepare(
      `SELECT tenant, key, expires_at FROM idempotency INDEXED BY idempotency_expires
       WHERE expires_at > ? AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
    );
  }

  async recall(request: KeyedRequest, now: number): Promise<string | null> {
    const known = this.#engine.read(() => this.#find(request.tenant, request, now));
    if (known instanceof WebhookdError) throw known;
    return known;
  }

  async remember(request: KeyedRequest, answer: string): Promise<void> {
    await this.#engine.commit.run(() => this.#remember(request.tenant, request, answer));
  }

  async prune(now: number): Promise<number> {
    // This runs every minute, so commit only if there is something to remove.
    if (!this.#engine.read(() => this.#expired.get(now) !== undefined)) return 0;
    return this.#engine.commit.run(() => this.#prune.run(now).changes, CHUNK_SIZE);
  }

  async lasting(after: number, until: number, limit: number): Promise<readonly LastingKey[]> {
    return this.#engine.read(() =>
      this.#lasting
        .all(LASTING + after, LASTING + until, limit)
        .map(({ tenant, key, expires_at: at }) => ({ tenant: this.#tenants.name(tenant), key, usedAt: at - LASTING })),
    );
  }

  async forget(keys: readonly LastingKey[]): Promise<void> {
    const work = () => {
      for (const { tenant, key } of keys) this.#delete.run(this.#tenants.number(tenant), key);
    };
    await this.#engine.commit.run(work, CHUNK_SIZE);
  }

  /** Commits work that may be refused, once per idempotency key. */
  async commit<T>(once: Once<T> | undefined, now: number, work: () => T | WebhookdError, size?: WorkSize): Promise<T> {
    return this.#engine.commitOrRefuse(() => this.#once(once, now, work), size);
  }

  /** Returns the response, null if the key is free, or an error if another request used it. */
  #find(tenant: string, request: Idempotency, now: number): string | IdempotencyMismatch | null {
    const row = this.#row(tenant, request.key, now);
    if (row === undefined) return null;
    return this.#isOf(row, request) ? row.answer : new IdempotencyMismatch(null);
  }

  #row(tenant: string, key: string, now: number): Found | undefined {
    const number = this.#tenants.find(tenant);
    return number === undefined ? undefined : this.#select.get(number, key, now);
  }

  #isOf(row: Found, { fingerprint }: Idempotency): boolean {
    return row.fingerprint.equals(this.#box.mark(fingerprint));
  }

  /** Call it inside a transaction. */
  #remember(tenant: string, { key, fingerprint, expiresAt }: Idempotency, answer: string): void {
    // A body may contain a weak secret, which its plain hash would allow a reader of the file or a backup to guess.
    const mark = this.#box.mark(fingerprint);
    const row: Row = [this.#tenants.number(tenant), key, mark, expiresAt, answer];
    if (this.#insert.run(...row).changes === 1) return;
    // The row has expired, or belongs to an item of the batch that has this key.
    this.#delete.run(row[0], key);
    this.#insert.run(...row);
  }

  /**
   * Does the work once, inside a transaction. Returns a refusal instead of throwing it, as always in a shared commit.
   */
  #once<T>(request: Once<T> | undefined, now: number, work: () => T | WebhookdError): T | WebhookdError {
    if (request === undefined) return work();
    const known = this.#find(request.tenant, request, now);
    if (known !== null) return typeof known === "string" ? underWay() : known;
    const result = work();
    const answer = result instanceof WebhookdError ? null : request.answer(result);
    if (answer !== null) this.#remember(request.tenant, request, answer);
    return result;
  }

  /**
   * Returns, for each draft, what its key was used for. Null if it has no key, or an unused one. Call it inside a
   * transaction.
   */
  remembered(drafts: readonly EventDraft[], now: number): readonly (Remembered<Publication> | null)[] {
    return drafts.map(({ tenant, idempotency }) => {
      const row = idempotency === undefined ? undefined : this.#row(tenant, idempotency.key, now);
      if (row === undefined) return null;
      return this.#isOf(row, idempotency!) ? { isSame: true, answer: publicationOf(row.answer) } : { isSame: false };
    });
  }

  /** Call it inside a transaction. */
  published(request: KeyedRequest, { id, type, createdAt, deliveries }: Publication): void {
    this.#remember(request.tenant, request, JSON.stringify([id, type, createdAt, deliveries]));
  }
}

function publicationOf(answer: string): Publication {
  const [id, type, createdAt, deliveries] = JSON.parse(answer) as [string, string, number, number];
  return { id, type, createdAt, deliveries, fresh: [], waiting: [], duplicate: true };
}

function underWay(): WebhookdError {
  const detail = "the same request has just been answered elsewhere; repeat it to get that answer";
  return new WebhookdError("overloaded", detail, { retryAfterSeconds: 1 });
}
