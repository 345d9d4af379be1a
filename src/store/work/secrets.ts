/**
 * The signing secrets of an endpoint, and their rotation: `docs/interface.md` §5. The switch is a commit of its own
 * that nothing reverts, so that signing needs no clock.
 */
import type { NextSecret, SigningSecrets } from "../../domain/endpoints/endpoint.ts";
import {
  abandoned,
  begun,
  completed,
  readable,
  type HeldSecrets,
  type RotationRefusal,
} from "../../domain/endpoints/rotation.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import { nextSecretPlace, secretOf, secretPlace } from "../rows/endpoint-row.ts";
import type { Rotation, SecretStore } from "../store.ts";
import { change, changed, rowsOf, type Work, type Workplace } from "./work.ts";

/** The number of rows of one look, and of secrets of one commit. */
const CHUNK = 500;

interface Row {
  readonly id: string;
  readonly tenant: string;
  readonly secret: string;
  readonly next_secret: string | null;
  readonly switches_at: number | null;
}

interface Due {
  readonly row: Row;
  readonly next: string;
}

export class Secrets implements SecretStore {
  readonly #place: Workplace;
  readonly #select: string;

  constructor(place: Workplace) {
    this.#place = place;
    const tenant = place.tenantName("e.tenant");
    this.#select = `SELECT e.id, ${tenant} AS tenant, e.secret, e.next_secret, e.switches_at FROM endpoint e`;
  }

  get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null> {
    return this.#place.read(() => this.#secrets(tenant, id));
  }

  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation> {
    return this.#place.commitOnce(once, now, () => this.#change(tenant, id, (held) => begun(held, next, now)));
  }

  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation> {
    return this.#place.commitOnce(once, now, () => this.#change(tenant, id, completed));
  }

  abandon(tenant: string | null, id: string): Promise<Rotation> {
    return this.#place.commit(() => this.#change(tenant, id, abandoned));
  }

  async switchDue(now: number): Promise<readonly string[]> {
    // This runs every second, so commit only if there is something to do.
    if ((await this.#place.read(() => this.#dueBy(now, ""))).length === 0) return [];
    return this.#place.commit(() => this.#switch(now));
  }

  *#switch(now: number): Work<readonly string[]> {
    const due = yield* this.#dueBy(now, this.#place.lock);
    for (const { row, next } of due) yield* this.#write(row, { current: next, next: null });
    return due.map(({ row }) => row.id);
  }

  *#secrets(tenant: string | null, id: string): Work<SigningSecrets | "damaged" | null> {
    const row = yield* this.#find(tenant, id);
    return row === null ? null : readable(this.#held(row));
  }

  /** Writes what `decide` returns, unless that is a refusal. */
  *#change(
    tenant: string | null,
    id: string,
    decide: (held: HeldSecrets) => SigningSecrets | RotationRefusal,
  ): Work<Rotation> {
    const row = yield* this.#find(tenant, id, this.#place.lock);
    if (row === null) return { result: "not_found" };
    const after = decide(this.#held(row));
    if (typeof after === "string") return { result: after };
    yield* this.#write(row, after);
    const secrets = yield* this.#secrets(null, id);
    return secrets === null || secrets === "damaged" ? { result: "damaged" } : { result: "done", secrets };
  }

  /** The secret in use changes only if another one takes over. */
  *#write({ id, tenant, secret }: Row, { current, next }: SigningSecrets): Work<void> {
    const { box } = this.#place;
    if (secretOf(secret, secretPlace(id), box) !== current) {
      const takeOver = "UPDATE endpoint SET secret = $2, secret_version = secret_version + 1 WHERE id = $1";
      yield* change(takeOver, id, box.seal(current, secretPlace(id)));
    }
    const sealed = next === null ? null : box.seal(next.secret, nextSecretPlace(id));
    const setNext = "UPDATE endpoint SET next_secret = $2, switches_at = $3 WHERE id = $1";
    yield* change(setNext, id, sealed, next?.switchesAt ?? null);
    yield* changed(tenant, [id]);
  }

  /** Skips a secret that cannot be read: its endpoint is damaged and waits, but the endpoints after it must not. */
  *#dueBy(now: number, lock: Workplace["lock"]): Work<readonly Due[]> {
    const sql = `${this.#select} WHERE e.switches_at <= $1 AND (e.switches_at, e.id) > ($2, $3)
      ORDER BY e.switches_at, e.id LIMIT ${CHUNK} ${lock}`;
    for (let after: readonly [number, string] = [0, ""]; ;) {
      const rows = yield* rowsOf<Row>(sql, now, ...after);
      const due = rows.flatMap((row) => {
        const next = this.#next(row);
        return next === null ? [] : [{ row, next }];
      });
      if (due.length > 0 || rows.length < CHUNK) return due;
      const { switches_at, id } = rows.at(-1)!;
      after = [switches_at!, id];
    }
  }

  *#find(tenant: string | null, id: string, lock: Workplace["lock"] = ""): Work<Row | null> {
    const [row] = yield* rowsOf<Row>(`${this.#select} WHERE e.id = $1 AND e.deleted_at IS NULL ${lock}`, id);
    return row === undefined || (tenant !== null && row.tenant !== tenant) ? null : row;
  }

  #held(row: Row): HeldSecrets {
    const current = secretOf(row.secret, secretPlace(row.id), this.#place.box);
    if (row.next_secret === null || row.switches_at === null) return { current, next: null };
    return { current, next: { secret: this.#next(row), switchesAt: row.switches_at } };
  }

  /** Also returns null if the secret cannot be read. */
  #next({ id, next_secret }: Row): string | null {
    return secretOf(next_secret, nextSecretPlace(id), this.#place.box);
  }
}
