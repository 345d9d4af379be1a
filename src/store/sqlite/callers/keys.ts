import type { Database, Statement } from "better-sqlite3";
import { type ApiKey, type LinksAlive, linksRefusal, type NewApiKey } from "../../../domain/caller.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { KeyQuery, KeyStore, Page, Pruned } from "../../store.ts";
import type { Engine } from "../engine/engine.ts";
import { keyList } from "../../lists/callers.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import { CHUNK, CHUNK_SIZE } from "../engine/group-commit.ts";
import type { IdempotencyKeys } from "./idempotency.ts";
import { keyOf, madeByRevoked, type KeyRow } from "../../rows/key-row.ts";

interface End {
  readonly number: number;
  readonly id: string;
  /** The time at which it stops being valid. Null for never. */
  readonly ended_at: number | null;
}

const TOUCH_EVERY_MS = 60_000;
/** Many keys live only for minutes. The caches of keys and of their use are cleared at this size. */
const MAX_REMEMBERED = 10_000;

/** Reads and writes the rows of API keys. */
export class Keys {
  readonly #insert: Statement<unknown[]>;
  readonly #select: Statement<[string], KeyRow>;
  readonly #hasAdmin: Statement<[number], number>;
  readonly #lists: Statements;
  readonly #revoke: Statement<{ id: string; now: number }>;
  readonly #touch: Statement<[number, string]>;
  readonly #ends: Statement<[number, number], End>;
  readonly #delete: Statement<[number]>;
  readonly #deletePortal: Statement<[number, number]>;
  readonly #links: Statement<[number], number>;
  readonly #linksOfTenant: Statement<[number, string], number>;
  readonly #linksOfMaker: Statement<[number, string], number>;
  readonly #touched = new Map<string, number>();
  /** Every request needs its key. Only this process writes keys, and it removes a changed key from here. */
  readonly #known = new Map<string, ApiKey>();

  constructor(db: Database) {
    this.#lists = new Statements(db);
    this.#insert = db.prepare(
      "INSERT INTO api_key (id, name, hash, scopes, tenant, created_at, expires_at, portal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    );
    this.#select = db.prepare("SELECT * FROM api_key WHERE id = ?");
    this.#hasAdmin = db
      .prepare<[number], number>(
        `SELECT EXISTS (SELECT 1 FROM api_key WHERE tenant = '*' AND scopes LIKE '%"admin"%' AND revoked_at IS NULL
           AND (expires_at IS NULL OR expires_at > ?))`,
      )
      .pluck();
    this.#revoke = db.prepare(
      `UPDATE api_key SET revoked_at = @now WHERE revoked_at IS NULL AND (id = @id OR portal ->> 'madeBy' = @id)`,
    );
    this.#touch = db.prepare("UPDATE api_key SET last_used_at = ? WHERE id = ?");
    this.#ends = db.prepare(
      `SELECT number, id, min(coalesce(expires_at, revoked_at), coalesce(revoked_at, expires_at)) AS ended_at
       FROM api_key WHERE number > ? ORDER BY number LIMIT ?`,
    );
    this.#delete = db.prepare("DELETE FROM api_key WHERE number = ?");
    this.#deletePortal = db.prepare(
      `DELETE FROM api_key WHERE number IN
         (SELECT number FROM api_key WHERE portal IS NOT NULL AND expires_at < ? LIMIT ?)`,
    );
    const alive = "SELECT count(*) FROM api_key WHERE portal IS NOT NULL AND revoked_at IS NULL AND expires_at > ?";
    this.#links = db.prepare<[number], number>(alive).pluck();
    this.#linksOfTenant = db.prepare<[number, string], number>(`${alive} AND tenant = ?`).pluck();
    this.#linksOfMaker = db.prepare<[number, string], number>(`${alive} AND portal ->> 'madeBy' = ?`).pluck();
  }

  countLinks(now: number): number {
    return this.#links.get(now)!;
  }

  /** Counts the existing links, to decide about a new one. */
  linksBeside({ tenant, portal }: NewApiKey, now: number): LinksAlive {
    const maker = portal?.madeBy ?? null;
    return {
      ofTenant: this.#linksOfTenant.get(now, tenant)!,
      ofMaker: maker === null ? 0 : this.#linksOfMaker.get(now, maker)!,
    };
  }

  isMadeByRevoked({ portal = null }: NewApiKey): boolean {
    const maker = portal === null || portal.madeBy === null ? null : this.get(portal.madeBy);
    return maker !== null && maker.revokedAt !== null;
  }

  add({ id, name, hash, scopes, tenant, expiresAt, portal = null }: NewApiKey, now: number): void {
    const link = portal && JSON.stringify(portal);
    this.#insert.run(id, name, hash, JSON.stringify(scopes), tenant, now, expiresAt, link);
  }

  get(id: string): ApiKey | null {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const row = this.#select.get(id);
    if (row === undefined) return null;
    const key = keyOf(row);
    if (this.#known.size >= MAX_REMEMBERED) this.forget();
    this.#known.set(id, key);
    return key;
  }

  list(query: KeyQuery): Walk<KeyRow, ApiKey> {
    return walkOf(this.#lists, keyList(query), keyOf);
  }

  hasAdmin(now: number): boolean {
    return this.#hasAdmin.get(now) === 1;
  }

  revoke(id: string, now: number): boolean {
    this.forget();
    return this.#revoke.run({ now, id }).changes > 0 || this.#select.get(id) !== undefined;
  }

  /** Returns true at most once a minute for each key, so that not every use is written. */
  isWorthNoting(id: string, now: number): boolean {
    const last = this.#touched.get(id);
    if (last !== undefined && Math.abs(now - last) < TOUCH_EVERY_MS) return false;
    if (this.#touched.size >= MAX_REMEMBERED) this.#touched.clear();
    this.#touched.set(id, now);
    return true;
  }

  touch(id: string, now: number): void {
    this.#known.delete(id);
    this.#touch.run(now, id);
  }

  /** Call it inside a transaction. */
  prune(before: number, from: string | null): Pruned {
    const candidates = this.#ends.all(from === null ? -1 : Number(from), CHUNK);
    let pruned = 0;
    for (const { number, id, ended_at } of candidates) {
      if (ended_at === null || ended_at >= before) continue;
      this.#known.delete(id);
      pruned += this.#delete.run(number).changes;
    }
    return { pruned, next: candidates.length < CHUNK ? null : String(candidates.at(-1)!.number) };
  }

  prunePortal(before: number): number {
    this.forget();
    return this.#deletePortal.run(before, CHUNK).changes;
  }

  /** The cached keys may come from a transaction that was undone. */
  forget(): void {
    this.#known.clear();
  }
}

export class SqliteKeys implements KeyStore {
  readonly #engine: Engine;
  readonly #keys: Keys;
  readonly #idempotency: IdempotencyKeys;

  constructor(engine: Engine, idempotency: IdempotencyKeys) {
    this.#engine = engine;
    this.#keys = engine.mirror(new Keys(engine.db));
    this.#idempotency = idempotency;
  }

  async add(key: NewApiKey, now: number, once?: Once<void>, maxLinks?: number): Promise<void> {
    const refusal = () => {
      if (this.#keys.isMadeByRevoked(key)) return madeByRevoked();
      return maxLinks === undefined ? null : linksRefusal(this.#keys.linksBeside(key, now), maxLinks);
    };
    const add = () => refusal() ?? this.#keys.add(key, now);
    await this.#idempotency.commit(once, now, add);
  }

  async get(id: string): Promise<ApiKey | null> {
    return this.#engine.read(() => this.#keys.get(id));
  }

  async list(query: KeyQuery): Promise<Page<ApiKey>> {
    return this.#engine.pages.of(() => this.#keys.list(query), query);
  }

  async countLinks(now: number): Promise<number> {
    return this.#engine.read(() => this.#keys.countLinks(now));
  }

  async hasAdmin(now: number): Promise<boolean> {
    return this.#engine.read(() => this.#keys.hasAdmin(now));
  }

  async revoke(id: string, now: number): Promise<boolean> {
    return this.#engine.commit.run(() => this.#keys.revoke(id, now));
  }

  async prune(before: number, from: string | null): Promise<Pruned> {
    return this.#engine.commit.run(() => this.#keys.prune(before, from), CHUNK_SIZE);
  }

  async prunePortal(before: number): Promise<number> {
    return this.#engine.commit.run(() => this.#keys.prunePortal(before), CHUNK_SIZE);
  }

  touch(id: string, now: number): void {
    if (!this.#keys.isWorthNoting(id, now)) return;
    const work = this.#engine.commit.run(() => this.#keys.touch(id, now), { events: 0, deliveries: 1, patient: true });
    // A failed commit rejects for the other work in it too, so ignore the error here.
    work.catch(() => {});
  }
}
