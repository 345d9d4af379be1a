/**
 * The signing secrets of an endpoint, and their rotation: `docs/interface.md` §5. The switch is a separate commit that
 * nothing reverts, so that signing needs no clock.
 */
import type { Statement } from "better-sqlite3";
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
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { EndpointIndex } from "../numbers/endpoint-index.ts";
import type { Box } from "../../rows/box.ts";
import { nextSecretPlace, secretOf, secretPlace } from "../../rows/endpoint-row.ts";
import type { Interned } from "../numbers/names.ts";

interface Row {
  readonly id: string;
  readonly tenant: number;
  readonly secret: string;
  readonly next_secret: string | null;
  readonly switches_at: number | null;
}

interface Parts {
  readonly tenants: Interned;
  readonly index: EndpointIndex;
  readonly idempotency: IdempotencyKeys;
}

export class SqliteSecrets implements SecretStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;
  readonly #tenants: Interned;
  readonly #index: EndpointIndex;
  readonly #box: Box;
  readonly #select: Statement<[string], Row>;
  readonly #due: Statement<[number], Row>;
  readonly #setNext: Statement<[string | null, number | null, string]>;
  readonly #switch: Statement<[string, string]>;

  constructor(engine: Engine, parts: Parts) {
    const { db } = engine;
    this.#engine = engine;
    this.#idempotency = parts.idempotency;
    this.#tenants = parts.tenants;
    this.#index = parts.index;
    this.#box = engine.box;
    const select = "SELECT id, tenant, secret, next_secret, switches_at FROM endpoint";
    this.#select = db.prepare(`${select} WHERE id = ? AND deleted_at IS NULL`);
    this.#due = db.prepare(`${select} WHERE switches_at <= ? ORDER BY switches_at`);
    this.#setNext = db.prepare("UPDATE endpoint SET next_secret = ?, switches_at = ? WHERE id = ?");
    this.#switch = db.prepare(
      `UPDATE endpoint SET secret = ?, secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE id = ?`,
    );
  }

  async get(tenant: string | null, id: string): Promise<SigningSecrets | "damaged" | null> {
    return this.#engine.read(() => this.#secrets(tenant, id));
  }

  rotate(tenant: string | null, id: string, next: NextSecret, now: number, once?: Once<Rotation>): Promise<Rotation> {
    return this.#idempotency.commit(once, now, () => this.#begin(tenant, id, next, now));
  }

  complete(tenant: string | null, id: string, now: number, once?: Once<Rotation>): Promise<Rotation> {
    const work = () => this.#change(tenant, id, completed, (row, { current }) => this.#takeOver(row, current));
    return this.#idempotency.commit(once, now, work);
  }

  async abandon(tenant: string | null, id: string): Promise<Rotation> {
    const work = () => this.#change(tenant, id, abandoned, () => this.#setNext.run(null, null, id));
    return this.#engine.commit.run(work);
  }

  async switchDue(now: number): Promise<readonly string[]> {
    // This runs every second, so commit only if there is something to do.
    if (this.#engine.read(() => this.#dueBy(now)).length === 0) return [];
    return this.#engine.commit.run(() => {
      const due = this.#dueBy(now);
      for (const { row, next } of due) this.#takeOver(row, next);
      return due.map(({ row }) => row.id);
    });
  }

  #secrets(tenant: string | null, id: string): SigningSecrets | "damaged" | null {
    const row = this.#find(tenant, id);
    return row === null ? null : readable(this.#held(row));
  }

  #begin(tenant: string | null, id: string, next: NextSecret, now: number): Rotation {
    const decide = (held: HeldSecrets) => begun(held, next, now);
    return this.#change(tenant, id, decide, (row, after) => {
      if (after.next === null) this.#takeOver(row, after.current);
      else this.#setNext.run(this.#box.seal(after.next.secret, nextSecretPlace(id)), after.next.switchesAt, id);
    });
  }

  /** Writes what `decide` returns, unless that is a refusal. */
  #change(
    tenant: string | null,
    id: string,
    decide: (held: HeldSecrets) => SigningSecrets | RotationRefusal,
    write: (row: Row, after: SigningSecrets) => void,
  ): Rotation {
    const row = this.#find(tenant, id);
    if (row === null) return { result: "not_found" };
    const after = decide(this.#held(row));
    if (typeof after === "string") return { result: after };
    write(row, after);
    return this.#done(id);
  }

  /** Skips a secret that cannot be read: its endpoint is damaged and waits, but the endpoints after it must not. */
  #dueBy(now: number) {
    const due: { readonly row: Row; readonly next: string }[] = [];
    for (const row of this.#due.iterate(now)) {
      const next = this.#next(row);
      if (next !== null && due.push({ row, next }) === CHUNK) break;
    }
    return due;
  }

  #find(tenant: string | null, id: string): Row | null {
    const row = this.#select.get(id);
    if (row === undefined) return null;
    return tenant === null || this.#tenants.nameIfAny(row.tenant) === tenant ? row : null;
  }

  #held(row: Row): HeldSecrets {
    const current = secretOf(row.secret, secretPlace(row.id), this.#box);
    if (row.next_secret === null || row.switches_at === null) return { current, next: null };
    return { current, next: { secret: this.#next(row), switchesAt: row.switches_at } };
  }

  /** Also returns null if the secret cannot be read. */
  #next({ id, next_secret }: Row): string | null {
    return secretOf(next_secret, nextSecretPlace(id), this.#box);
  }

  #takeOver({ id, tenant }: Row, secret: string): void {
    this.#switch.run(this.#box.seal(secret, secretPlace(id)), id);
    this.#index.changed(this.#tenants.nameIfAny(tenant) ?? "", id);
  }

  #done(id: string): Rotation {
    const secrets = this.#secrets(null, id);
    return secrets === null || secrets === "damaged" ? { result: "damaged" } : { result: "done", secrets };
  }
}
