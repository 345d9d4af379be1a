/** API keys and the audit log. */
import { OF_NUMBERS } from "../../rows/key-times.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditEntry, AuditRecord } from "../../../domain/caller.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import { type ApiKey, type LinksAlive, linksRefusal, type NewApiKey } from "../../../domain/caller.ts";
import type { AuditQuery, AuditStore, KeyQuery, KeyStore, Page, Pruned } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import { pageOf, walkOf } from "../engine/page.ts";
import { auditList, keyList, recordOf } from "../../lists/callers.ts";
import type { IdempotencyKeys } from "./idempotency.ts";
import { keyOf, madeByRevoked, type KeyRow } from "../../rows/key-row.ts";
import { parseDeliveryId, parseEventId } from "../../rows/codes.ts";

const TOUCH_EVERY_MS = 60_000;
/** Many keys live only for minutes, so the cache of their use is cleared at this size. */
const MAX_REMEMBERED = 10_000;

export class PostgresKeys implements KeyStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;
  readonly #touched = new Map<string, number>();
  readonly #asked = new Map<string, Promise<ApiKey | null>>();

  constructor(engine: Engine, idempotency: IdempotencyKeys) {
    this.#engine = engine;
    this.#idempotency = idempotency;
  }

  async add(key: NewApiKey, now: number, once?: Once<void>, maxLinks?: number): Promise<void> {
    await this.#idempotency.commit(once, now, async (tx) => {
      const refusal = maxLinks === undefined ? null : linksRefusal(await linksBeside(tx, key, now), maxLinks);
      if (refusal !== null) throw refusal;
      await addKey(tx, key, this.#engine.numbers.next(now), now);
    });
  }

  async countLinks(now: number): Promise<number> {
    const [row] = await this.#engine.database.rows<{ count: number }>(`SELECT count(*) AS count ${ALIVE}`, [now]);
    return Number(row!.count);
  }

  /**
   * Reads the key once for all requests of a turn of the event loop, after they have arrived, so that none misses a
   * revocation.
   */
  get(id: string): Promise<ApiKey | null> {
    let asked = this.#asked.get(id);
    if (asked === undefined) {
      asked = nextTurn().then(() => this.#read(id));
      this.#asked.set(id, asked);
    }
    return asked;
  }

  async #read(id: string): Promise<ApiKey | null> {
    this.#asked.delete(id);
    const [row] = await this.#engine.database.rows<KeyRow>("SELECT * FROM api_key WHERE id = $1", [id]);
    return row === undefined ? null : keyOf(row);
  }

  list(query: KeyQuery): Promise<Page<ApiKey>> {
    const walk = walkOf(this.#engine.database.lists, keyList(query), (rows) => rows.map(keyOf));
    return pageOf(this.#engine, walk, query);
  }

  async hasAdmin(now: number): Promise<boolean> {
    const rows = await this.#engine.database.rows(
      `SELECT 1 FROM api_key WHERE tenant = '*' AND scopes LIKE '%"admin"%' AND revoked_at IS NULL
         AND (expires_at IS NULL OR expires_at > $1) LIMIT 1`,
      [now],
    );
    return rows.length > 0;
  }

  revoke(id: string, now: number): Promise<boolean> {
    return this.#engine.write(async (tx) => {
      // Another node may be adding a link of this key. The lock waits for it, so that the next statement finds the
      // link.
      await tx.rows("SELECT 1 FROM api_key WHERE id = $1 FOR UPDATE", [id]);
      const sql = "UPDATE api_key SET revoked_at = coalesce(revoked_at, $2::bigint) WHERE id = $1 OR made_by = $1";
      return (await tx.change(sql, [id, now])) > 0;
    });
  }

  prune(before: number, from: string | null): Promise<Pruned> {
    return this.#engine.write(async (tx) => {
      const rows = await tx.rows<{ number: number; ended_at: number | null }>(
        `SELECT number, least(expires_at, revoked_at) AS ended_at FROM api_key WHERE number > $1
         ORDER BY number LIMIT ${CHUNK}`,
        [from === null ? -1 : Number(from)],
      );
      const ended = rows.filter(({ ended_at: at }) => at !== null && at < before).map(({ number }) => number);
      const pruned = await tx.change("DELETE FROM api_key WHERE number = ANY($1::bigint[])", [ended]);
      return { pruned, next: rows.length < CHUNK ? null : String(rows.at(-1)!.number) };
    });
  }

  prunePortal(before: number): Promise<number> {
    const some = `SELECT number FROM api_key WHERE portal IS NOT NULL AND expires_at < $1 LIMIT ${CHUNK}`;
    return this.#engine.write((tx) => tx.change(`DELETE FROM api_key WHERE number IN (${some})`, [before]));
  }

  touch(id: string, now: number): void {
    const last = this.#touched.get(id);
    if (last !== undefined && Math.abs(now - last) < TOUCH_EVERY_MS) return;
    if (this.#touched.size >= MAX_REMEMBERED) this.#touched.clear();
    this.#touched.set(id, now);
    const work = this.#engine.write((tx) => tx.change("UPDATE api_key SET last_used_at = $2 WHERE id = $1", [id, now]));
    // A failed write makes the publishes and records in the same transaction fail too, so ignore the error here.
    work.catch(() => {});
  }
}

const ALIVE = "FROM api_key WHERE portal IS NOT NULL AND revoked_at IS NULL AND expires_at > $1";

async function linksBeside(tx: Queries, { tenant, portal }: NewApiKey, now: number): Promise<LinksAlive> {
  const [row] = await tx.rows<{ tenant: number; maker: number }>(
    `SELECT (SELECT count(*) ${ALIVE} AND tenant = $2) AS tenant, (SELECT count(*) ${ALIVE} AND made_by = $3) AS maker`,
    [now, tenant, portal?.madeBy ?? null],
  );
  return { ofTenant: Number(row!.tenant), ofMaker: Number(row!.maker) };
}

export async function addKey(tx: Queries, key: NewApiKey, number: number, now: number): Promise<void> {
  const { id, name, hash, scopes, tenant, expiresAt, portal = null } = key;
  if (portal !== null && portal.madeBy !== null) {
    const sql = "SELECT revoked_at IS NOT NULL AS revoked FROM api_key WHERE id = $1 FOR SHARE";
    const [maker] = await tx.rows<{ revoked: boolean }>(sql, [portal.madeBy]);
    if (maker?.revoked === true) throw madeByRevoked();
  }
  const link = [portal && JSON.stringify(portal), portal?.madeBy ?? null];
  await tx.change(
    `INSERT INTO api_key (number, id, name, hash, scopes, tenant, created_at, expires_at, portal, made_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [number, id, name, Buffer.from(hash), JSON.stringify(scopes), tenant, now, expiresAt, ...link],
  );
}

const UNKNOWN = "*";

export class PostgresAudit implements AuditStore {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  add(entry: AuditEntry, now: number): Promise<number> {
    const { actor, uid, user, action, object, requestId, outcome } = entry;
    return this.#engine.write(async (tx) => {
      const tenant = entry.tenant ?? (object === null ? undefined : await ownerOf(tx, object)) ?? UNKNOWN;
      const slowing = this.#engine.slowDown(tx, OF_NUMBERS, now);
      if (slowing !== null) await slowing;
      const row = this.#engine.numbers.next(now);
      await tx.change(
        `INSERT INTO audit (key, actor, uid, "user", tenant, action, object, request, outcome)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [row, actor, uid, user, tenant, action, object, requestId, outcome],
      );
      return row;
    });
  }

  count(row: number, more: number, lastAt: number): Promise<boolean> {
    const sql =
      "UPDATE audit SET count = count + $2::integer, last_at = greatest(last_at, $3::bigint) WHERE key = $1::bigint";
    return this.#engine.write(async (tx) => (await tx.change(sql, [row, more, lastAt])) > 0);
  }

  list(query: AuditQuery): Promise<Page<AuditRecord>> {
    const { times } = this.#engine.numbers;
    const list = auditList(query, times);
    const walk = walkOf(this.#engine.database.lists, list, (rows) => rows.map((row) => recordOf(row, times)));
    return pageOf(this.#engine, walk, query);
  }

  prune(before: number): Promise<number> {
    return this.#engine.write((tx) =>
      tx.change(`DELETE FROM audit WHERE key IN (SELECT key FROM audit WHERE key < $1 ORDER BY key LIMIT ${CHUNK})`, [
        this.#engine.numbers.times.firstKeyAt(before),
      ]),
    );
  }
}

/** Returns the tenant to which the object belongs or belonged, by the prefix of its id. */
async function ownerOf(tx: Queries, id: string): Promise<string | undefined> {
  const one = async (sql: string, values: unknown[]) => (await tx.rows<{ tenant: string }>(sql, values))[0]?.tenant;
  const ofEvent = (key: number, random: string) =>
    one("SELECT tenant FROM event WHERE key = $1 AND random LIKE $2 || '%'", [key, random]);
  switch (id.slice(0, id.indexOf("_"))) {
    case "ep":
      return one("SELECT tenant FROM endpoint WHERE id = $1", [id]);
    case "key":
      return one("SELECT tenant FROM api_key WHERE id = $1", [id]);
    case "job":
      return one("SELECT tenant FROM job WHERE id = $1", [id]);
    case "evt": {
      const parsed = parseEventId(id);
      return parsed === null ? undefined : ofEvent(parsed.key, parsed.random);
    }
    case "dlv": {
      // A delivery's id contains the beginning of the random part of its event's id.
      const parsed = parseDeliveryId(id);
      return parsed === null ? undefined : ofEvent(parsed.event, parsed.check);
    }
    default:
      return undefined;
  }
}
