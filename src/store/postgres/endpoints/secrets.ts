/**
 * The signing secrets of an endpoint, and their rotation: `docs/interface.md` §5. The switch is a commit of its own
 * that nothing reverts, so that signing needs no clock.
 */
import type { NextSecret, SigningSecrets } from "../../../domain/endpoints/endpoint.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { Rotation, SecretStore } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import { nextSecretPlace, secretOf, secretPlace } from "../../rows/endpoint-row.ts";

interface Row {
  readonly id: string;
  readonly tenant: string;
  readonly secret: string;
  readonly next_secret: string | null;
  readonly switches_at: number | null;
}

const SELECT = "SELECT id, tenant, secret, next_secret, switches_at FROM endpoint";

export class PostgresSecrets implements SecretStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;

  constructor(engine: Engine, idempotency: IdempotencyKeys) {
    this.#engine = engine;
    this.#idempotency = idempotency;
  }

  async get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null> {
    const row = await find(this.#engine.database, tenant, id);
    return row === null ? null : this.#read(row);
  }

  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation> {
    return this.#idempotency.commit(once, now, (tx) => this.#begin(tx, tenant, id, next, now));
  }

  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation> {
    return this.#idempotency.commit(once, now, (tx) =>
      this.#end(tx, tenant, id, async (row) => {
        const next = this.#next(row);
        if (next !== null) await this.#takeOver(tx, row.id, next);
        return next !== null;
      }),
    );
  }

  abandon(tenant: string | null, id: string): Promise<Rotation> {
    return this.#engine.write((tx) =>
      this.#end(tx, tenant, id, async (row) => {
        if (this.#current(row) === null) return false;
        await this.#setNext(tx, id, null, null);
        return true;
      }),
    );
  }

  async switchDue(now: number): Promise<readonly string[]> {
    // This runs every second, so commit only if there is something to do.
    if ((await this.#dueBy(this.#engine.database, now, "")).length === 0) return [];
    return this.#engine.write(async (tx) => {
      const due = await this.#dueBy(tx, now, "FOR UPDATE");
      for (const { id, next } of due) await this.#takeOver(tx, id, next);
      return due.map(({ id }) => id);
    });
  }

  /**
   * Returns the due secrets among the first 500 rows that have any. Skips a secret that cannot be read: its endpoint is
   * damaged and waits, but the endpoints after it must not.
   */
  async #dueBy(queries: Queries, now: number, lock: "" | "FOR UPDATE") {
    const sql = `${SELECT} WHERE switches_at <= $1 AND (switches_at, id) > ($2, $3)
      ORDER BY switches_at, id LIMIT ${CHUNK} ${lock}`;
    for (let after: readonly [number, string] = [0, ""]; ;) {
      const rows = await queries.rows<Row>(sql, [now, ...after]);
      const due = rows.flatMap((row) => {
        const next = this.#next(row);
        return next === null ? [] : [{ id: row.id, next }];
      });
      if (due.length > 0 || rows.length < CHUNK) return due;
      const { switches_at, id } = rows.at(-1)!;
      after = [switches_at!, id];
    }
  }

  async #begin(tx: Queries, tenant: string | null, id: string, next: NextSecret, now: number): Promise<Rotation> {
    const row = await find(tx, tenant, id, "FOR UPDATE");
    if (row === null) return { result: "not_found" };
    const atOnce = next.switchesAt <= now;
    // Nothing is signed with a damaged secret beside the next one, so only a change at once may replace it.
    const isDamaged = this.#read(row) === "damaged";
    if (isDamaged && !atOnce) return { result: "damaged" };
    if (!isDamaged && row.next_secret !== null) return { result: "rotation_in_progress" };
    if (atOnce) await this.#takeOver(tx, id, next.secret);
    else await this.#setNext(tx, id, this.#engine.box.seal(next.secret, nextSecretPlace(id)), next.switchesAt);
    return this.#done(tx, id);
  }

  /** `end` returns false if it cannot proceed because secrets cannot be read. */
  async #end(tx: Queries, tenant: string | null, id: string, end: (row: Row) => Promise<boolean>): Promise<Rotation> {
    const row = await find(tx, tenant, id, "FOR UPDATE");
    if (row === null) return { result: "not_found" };
    if (row.next_secret === null) return { result: "not_rotating" };
    return (await end(row)) ? this.#done(tx, id) : { result: "damaged" };
  }

  async #takeOver(tx: Queries, id: string, secret: string): Promise<void> {
    await this.#engine.owner.tell(tx, { changed: [id] });
    await tx.change(
      `UPDATE endpoint SET secret = $2, secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE id = $1`,
      [id, this.#engine.box.seal(secret, secretPlace(id))],
    );
  }

  async #setNext(tx: Queries, id: string, sealed: string | null, switchesAt: number | null): Promise<void> {
    await this.#engine.owner.tell(tx, { changed: [id] });
    await tx.change("UPDATE endpoint SET next_secret = $2, switches_at = $3 WHERE id = $1", [id, sealed, switchesAt]);
  }

  async #done(tx: Queries, id: string): Promise<Rotation> {
    const row = await find(tx, null, id);
    const secrets = row === null ? "damaged" : this.#read(row);
    return secrets === "damaged" ? { result: "damaged" } : { result: "done", secrets };
  }

  #read(row: Row): SigningSecrets | "damaged" {
    const current = this.#current(row);
    if (current === null) return "damaged";
    if (row.next_secret === null || row.switches_at === null) return { current, next: null };
    const secret = this.#next(row);
    return secret === null ? "damaged" : { current, next: { secret, switchesAt: row.switches_at } };
  }

  #current({ id, secret }: Row): string | null {
    return secretOf(secret, secretPlace(id), this.#engine.box);
  }

  /** Also returns null if the secret cannot be read. */
  #next({ id, next_secret }: Row): string | null {
    return secretOf(next_secret, nextSecretPlace(id), this.#engine.box);
  }
}

async function find(
  queries: Queries,
  tenant: string | null,
  id: string,
  lock: "" | "FOR UPDATE" = "",
): Promise<Row | null> {
  const [row] = await queries.rows<Row>(`${SELECT} WHERE id = $1 AND deleted_at IS NULL ${lock}`, [id]);
  return row === undefined || (tenant !== null && row.tenant !== tenant) ? null : row;
}
