/**
 * The signing secrets of an endpoint, and their rotation: `docs/interface.md` §5. The switch is a separate commit that
 * nothing reverts, so that signing needs no clock.
 */
import type { NextSecret, SigningSecrets } from "../../../domain/endpoints/endpoint.ts";
import {
  abandoned,
  begun,
  completed,
  readable,
  type HeldSecrets,
  type RotationRefusal,
} from "../../../domain/endpoints/rotation.ts";
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
      this.#change(tx, tenant, id, completed, ({ current }) => this.#takeOver(tx, id, current)),
    );
  }

  abandon(tenant: string | null, id: string): Promise<Rotation> {
    return this.#engine.write((tx) => this.#change(tx, tenant, id, abandoned, () => this.#setNext(tx, id, null, null)));
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

  #begin(tx: Queries, tenant: string | null, id: string, next: NextSecret, now: number): Promise<Rotation> {
    const decide = (held: HeldSecrets) => begun(held, next, now);
    return this.#change(tx, tenant, id, decide, async (after) => {
      if (after.next === null) return this.#takeOver(tx, id, after.current);
      const sealed = this.#engine.box.seal(after.next.secret, nextSecretPlace(id));
      return this.#setNext(tx, id, sealed, after.next.switchesAt);
    });
  }

  /** Writes what `decide` returns, unless that is a refusal. */
  async #change(
    tx: Queries,
    tenant: string | null,
    id: string,
    decide: (held: HeldSecrets) => SigningSecrets | RotationRefusal,
    write: (after: SigningSecrets) => Promise<void>,
  ): Promise<Rotation> {
    const row = await find(tx, tenant, id, "FOR UPDATE");
    if (row === null) return { result: "not_found" };
    const after = decide(this.#held(row));
    if (typeof after === "string") return { result: after };
    await write(after);
    return this.#done(tx, id);
  }

  async #takeOver(tx: Queries, id: string, secret: string): Promise<void> {
    await this.#engine.owner.notify(tx, { changed: [id] });
    await tx.change(
      `UPDATE endpoint SET secret = $2, secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE id = $1`,
      [id, this.#engine.box.seal(secret, secretPlace(id))],
    );
  }

  async #setNext(tx: Queries, id: string, sealed: string | null, switchesAt: number | null): Promise<void> {
    await this.#engine.owner.notify(tx, { changed: [id] });
    await tx.change("UPDATE endpoint SET next_secret = $2, switches_at = $3 WHERE id = $1", [id, sealed, switchesAt]);
  }

  async #done(tx: Queries, id: string): Promise<Rotation> {
    const row = await find(tx, null, id);
    const secrets = row === null ? "damaged" : this.#read(row);
    return secrets === "damaged" ? { result: "damaged" } : { result: "done", secrets };
  }

  #read(row: Row): SigningSecrets | "damaged" {
    return readable(this.#held(row));
  }

  #held(row: Row): HeldSecrets {
    const current = secretOf(row.secret, secretPlace(row.id), this.#engine.box);
    if (row.next_secret === null || row.switches_at === null) return { current, next: null };
    return { current, next: { secret: this.#next(row), switchesAt: row.switches_at } };
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
