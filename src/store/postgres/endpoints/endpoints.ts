/** Endpoints: their rows, changes to them, and the consequences of a change. */
import type { ExpiringCertificate } from "../../../domain/endpoints/auth.ts";
import type {
  DamagedTarget,
  DisabledReason,
  Endpoint,
  EndpointHealth,
  NamedEndpoint,
  NewEndpoint,
  Target,
} from "../../../domain/endpoints/endpoint.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import { isPattern } from "../../../domain/events/pattern.ts";
import type { ChangeSettings, EndpointQuery, EndpointStore, Page, Pruned, SettingsOf, TypeInUse } from "../../store.ts";
import { noteChoice } from "./choices.ts";
import { dropRequestsOf, EndpointRows, idOf, isOf, LIVE_ENDPOINT, type EndpointRow } from "./endpoint-rows.ts";
import type { Queries } from "../engine/database.ts";
import type { Lines } from "../ordering/lines.ts";
import type { Engine } from "../engine/engine.ts";
import { endpointList, type StoredStreak } from "../../lists/endpoints.ts";
import { pageOf, walkOf } from "../engine/page.ts";
import type { Health } from "./health.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Pending } from "../deliveries/pending.ts";
import { cancelOpen, pruneDeleted, type Swept } from "./sweep.ts";
import { targetOf } from "../../rows/endpoint-row.ts";

const CANCEL_AGAIN_MS = 1000;
/** The time to wait before the first background step, and between steps, so that others can commit first. */
const SWEEP_AFTER_MS = 100;
const GIVE_WAY_MS = 50;
/** The number of endpoints to name if a type is still in use. */
const NAMED = 3;
interface Parts {
  readonly health: Health;
  readonly idempotency: IdempotencyKeys;
  readonly lines: Lines;
  readonly pending: Pending;
}

export class PostgresEndpoints implements EndpointStore {
  readonly #engine: Engine;
  readonly #parts: Parts;
  readonly #rows: EndpointRows;
  /** The endpoints whose deliveries this process is cancelling. */
  readonly #sweeping = new Set<number>();
  #closed = false;

  constructor(engine: Engine, parts: Parts) {
    this.#engine = engine;
    this.#parts = parts;
    this.#rows = new EndpointRows(engine);
  }

  /** Continues sweeps of its endpoints that a crash cut short, or that began with a commit that succeeded late. */
  async takeUp(): Promise<void> {
    const { database, owner } = this.#engine;
    const rows = await database.rows<{ number: number }>(
      `SELECT number FROM endpoint
       WHERE cancel_to IS NOT NULL AND ($1::smallint[] IS NULL OR slot = ANY($1::smallint[]))`,
      [owner.slots],
    );
    for (const { number } of rows) if (!this.#sweeping.has(number)) this.#cancelBehind(number);
  }

  add(endpoint: NewEndpoint, maxPerTenant: number, now: number, once?: Once<Endpoint>): Promise<Endpoint> {
    return this.#parts.idempotency.commit(once, now, (tx) => this.#rows.add(tx, endpoint, maxPerTenant, now));
  }

  async get(tenant: string | null, id: string): Promise<Endpoint | null> {
    const row = await this.#rows.find(this.#engine.database, tenant, id);
    return row === null ? null : this.#rows.read(row).endpoint;
  }

  async idOf(tenant: string, uid: string): Promise<string | null> {
    return idOf(this.#engine.database, tenant, uid);
  }

  async tenantOf(endpoint: string): Promise<string | null> {
    const sql = "SELECT tenant FROM endpoint WHERE id = $1";
    return (await this.#engine.database.rows<{ tenant: string }>(sql, [endpoint]))[0]?.tenant ?? null;
  }

  list(query: EndpointQuery): Promise<Page<Endpoint>> {
    const list = endpointList<EndpointRow & StoredStreak & { readonly place: number | null }>(query, {
      host: (url) => `(split_part(${url}, '://', 2) COLLATE "C")`,
      tenant: query.tenant,
      isOf: (row) => isOf(query.tenant, row),
      tenantOf: ({ tenant }) => tenant,
      isDamaged: (row) => this.#rows.read(row).endpoint.damaged !== null,
    });
    const show = (rows: readonly EndpointRow[]) => rows.map((row) => this.#rows.read(row).endpoint);
    return pageOf(this.#engine, walkOf(this.#engine.database.lists, list, show), query);
  }

  async typesInUse(known: readonly string[]): Promise<TypeInUse[]> {
    const rows = await this.#engine.database.rows<{ type: string; ids: string[] }>(
      `SELECT s.type, array_agg(e.id ORDER BY e.number) AS ids
       FROM subscription s JOIN endpoint e ON e.number = s.endpoint
       WHERE e.deleted_at IS NULL AND s.type <> ALL($1::text[]) GROUP BY s.type ORDER BY s.type COLLATE "C"`,
      [known],
    );
    const exact = rows.filter(({ type }) => !isPattern(type));
    return exact.map(({ type, ids }) => ({ type, endpoints: ids.length, some: ids.slice(0, NAMED) }));
  }

  expiring(before: number, limit: number): Promise<readonly ExpiringCertificate[]> {
    return this.#engine.database.rows<ExpiringCertificate>(
      `SELECT id AS endpoint, tenant, url, certificate_until AS "notAfter" FROM endpoint
       WHERE certificate_until < $1 ORDER BY certificate_until, number LIMIT $2`,
      [before, limit],
    );
  }

  async target(endpoint: string): Promise<Target | DamagedTarget | null> {
    const [row] = await this.#engine.database.rows<EndpointRow>(LIVE_ENDPOINT, [endpoint]);
    return row === undefined ? null : targetOf(row, this.#rows.read(row));
  }

  async update(
    tenant: string | null,
    id: string,
    change: ChangeSettings,
    now: number,
    held: "release" | "cancel" = "release",
  ): Promise<Endpoint | null> {
    const updated = await this.#engine.write(async (tx) => {
      const done = await this.#rows.update(tx, tenant, id, change, held, now);
      if (done !== null) await this.#tell(tx, id, done.resumed);
      return done;
    });
    if (updated === null) return null;
    if (updated.resumed) await this.#parts.health.restart({ id, number: updated.number });
    if (held === "cancel") this.#cancelBehind(updated.number);
    return updated.endpoint;
  }

  async put(
    named: NamedEndpoint,
    settingsOf: SettingsOf,
    maxPerTenant: number,
    now: number,
  ): Promise<{ readonly endpoint: Endpoint; readonly isNew: boolean }> {
    const put = await this.#engine.write(async (tx) => {
      const id = await idOf(tx, named.tenant, named.uid);
      // Another node may delete the endpoint in between.
      const updated = id === null ? null : await this.#rows.update(tx, null, id, settingsOf, "release", now);
      if (id !== null && updated !== null) {
        await this.#tell(tx, id, updated.resumed);
        return updated;
      }
      const endpoint = await this.#rows.add(tx, { ...settingsOf(null, null), ...named }, maxPerTenant, now);
      return { endpoint, number: null, resumed: false };
    });
    if (put.number !== null && put.resumed)
      await this.#parts.health.restart({ id: put.endpoint.id, number: put.number });
    return { endpoint: put.endpoint, isNew: put.number === null };
  }

  judgeUpdate(tenant: string | null, id: string, change: ChangeSettings): Promise<boolean> {
    return this.#engine.write(async (tx) => (await this.#rows.judge(tx, tenant, id, change)) !== null);
  }

  judgePut(named: NamedEndpoint, settingsOf: SettingsOf, maxPerTenant: number): Promise<void> {
    return this.#engine.write(async (tx) => {
      const id = await idOf(tx, named.tenant, named.uid);
      if (id !== null && (await this.#rows.judge(tx, null, id, settingsOf)) !== null) return;
      await this.#rows.requireRoom(tx, { ...settingsOf(null, null), ...named }, maxPerTenant);
    });
  }

  disable(id: string, url: string, reason: DisabledReason, now: number): Promise<boolean> {
    return this.#engine.write(async (tx) => {
      const [row] = await tx.rows<EndpointRow>(`${LIVE_ENDPOINT} FOR UPDATE`, [id]);
      if (row === undefined || row.enabled === 0 || row.url !== url) return false;
      const sql = "UPDATE endpoint SET enabled = 0, disabled_reason = $2, updated_at = $3 WHERE number = $1";
      await tx.change(sql, [row.number, reason, now]);
      await dropRequestsOf(tx, row.number);
      await noteChoice(tx, row.number, "changed", now);
      await this.#tell(tx, id);
      return true;
    });
  }

  async delete(tenant: string | null, id: string, now: number): Promise<boolean> {
    const number = await this.#engine.write(async (tx) => {
      // The lock is explained at `KEPT`.
      await tx.rows("SELECT 1 FROM endpoint WHERE id = $1 FOR UPDATE", [id]);
      const row = await this.#rows.find(tx, tenant, id);
      if (row === null) return null;
      await tx.change(
        `UPDATE endpoint SET deleted_at = $2, cancel_to = ${Number.MAX_SAFE_INTEGER}, headers = NULL, auth = NULL,
           certificate_until = NULL, secret = NULL, next_secret = NULL, switches_at = NULL WHERE number = $1`,
        [row.number, now],
      );
      await tx.change("DELETE FROM subscription WHERE endpoint = $1", [row.number]);
      await dropRequestsOf(tx, row.number);
      await tx.change("DELETE FROM held_key WHERE endpoint = $1", [row.number]);
      await noteChoice(tx, row.number, "deleted", now);
      await this.#tell(tx, id);
      return row.number;
    });
    if (number === null) return false;
    // The endpoint is deleted. Report that even if its deliveries cannot be rewritten now.
    await this.#cancelOpen(number).catch(() => this.#cancelLater(number));
    return true;
  }

  async prune(before: number, from: string | null): Promise<Pruned> {
    const { pruned, next, numbers } = await this.#engine.write((tx) => pruneDeleted(tx, before, from));
    for (const number of numbers) this.#parts.health.forget(number);
    return { pruned, next };
  }

  async health(tenant: string | null, id: string): Promise<EndpointHealth | null> {
    const row = await this.#rows.find(this.#engine.database, tenant, id);
    return row === null ? null : this.#parts.health.of(row);
  }

  async healthOf(ids: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>> {
    const rows = await this.#engine.database.lists.rows<EndpointRow>(
      "SELECT * FROM endpoint WHERE id = ANY($1::text[]) AND deleted_at IS NULL",
      [ids],
    );
    return this.#parts.health.ofAll(rows);
  }

  async failingSince(endpoint: string): Promise<number | null> {
    const sql = "SELECT number FROM endpoint WHERE id = $1";
    const [row] = await this.#engine.database.rows<{ number: number }>(sql, [endpoint]);
    return row === undefined ? null : (await this.#parts.health.streak(row.number)).failingSince;
  }

  close(): void {
    this.#closed = true;
  }

  #tell(tx: Queries, id: string, isResumed = false): Promise<void> {
    return this.#engine.owner.notify(tx, isResumed ? { resumed: [id] } : { changed: [id] });
  }

  /** Cancels a chunk per transaction, so that a million deliveries delay nobody else's commit. */
  async #cancelOpen(endpoint: number): Promise<void> {
    this.#sweeping.add(endpoint);
    let swept: Swept | null = null;
    do {
      const from: Swept | null = swept;
      swept = await this.#engine.write((tx) => cancelOpen(tx, this.#parts, endpoint, from, this.#engine.clock.now()));
    } while (swept !== null);
    this.#sweeping.delete(endpoint);
  }

  /** Runs in the background. If the process stops, the next owner of the endpoint continues. */
  #cancelBehind(endpoint: number, from: Swept | null = null): void {
    this.#sweeping.add(endpoint);
    this.#engine.clock.after(from === null ? SWEEP_AFTER_MS : GIVE_WAY_MS, () => {
      if (this.#closed) return;
      this.#engine
        .write((tx) => cancelOpen(tx, this.#parts, endpoint, from, this.#engine.clock.now()))
        .then((next) => (next === null ? this.#sweeping.delete(endpoint) : this.#cancelBehind(endpoint, next)))
        .catch(() => this.#cancelLater(endpoint));
    });
  }

  #cancelLater(endpoint: number): void {
    if (!this.#closed) this.#engine.clock.after(CANCEL_AGAIN_MS, () => this.#cancelBehind(endpoint));
  }
}
