/** The private keys of tenants, and how one takes over from another: `docs/interface.md` §5. */
import type { Statement } from "better-sqlite3";
import type { NextSecret, SigningSecrets } from "../../../domain/endpoints/endpoint.ts";
import { abandoned, completed, type HeldSecrets, type RotationRefusal } from "../../../domain/endpoints/rotation.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { KeyRotation, SigningKeys, SigningKeyStore, SwitchedKey } from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Engine } from "../engine/engine.ts";
import { CHUNK } from "../engine/group-commit.ts";
import {
  heldKeys,
  readKeys,
  rotatedKeys,
  rotationDone,
  sealedKeys,
  USES_KEYS,
  type SigningKeyRow,
} from "../../rows/signing-key-row.ts";
import type { Interned } from "../numbers/names.ts";

interface DueRow extends SigningKeyRow {
  readonly tenant: number;
}

interface Due {
  readonly tenant: string;
  readonly after: SigningSecrets;
}

interface Parts {
  readonly tenants: Interned;
  readonly idempotency: IdempotencyKeys;
}

export class SqliteSigningKeys implements SigningKeyStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;
  readonly #tenants: Interned;
  readonly #select: Statement<[number], SigningKeyRow>;
  readonly #due: Statement<[number], DueRow>;
  readonly #put: Statement<[number, string, string | null, number | null]>;
  readonly #publish: Statement<[number, number]>;
  readonly #endpoints: Statement<[number], string>;

  constructor(engine: Engine, { tenants, idempotency }: Parts) {
    const { db } = engine;
    this.#engine = engine;
    this.#idempotency = idempotency;
    this.#tenants = tenants;
    this.#select = db.prepare("SELECT * FROM signing_key WHERE tenant = ?");
    this.#due = db.prepare("SELECT * FROM signing_key WHERE switches_at <= ? ORDER BY switches_at, tenant");
    this.#put = db.prepare(
      `INSERT INTO signing_key (tenant, private_key, next_private_key, switches_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (tenant) DO UPDATE SET private_key = excluded.private_key,
         next_private_key = excluded.next_private_key, switches_at = excluded.switches_at`,
    );
    this.#publish = db.prepare("UPDATE signing_key SET published = ? WHERE tenant = ?");
    this.#endpoints = db
      .prepare<[number], string>(
        `SELECT e.id FROM endpoint e INDEXED BY endpoint_tenant
         WHERE e.tenant = ? AND e.deleted_at IS NULL AND ${USES_KEYS} ORDER BY e.number`,
      )
      .pluck();
  }

  async get(tenant: string): Promise<SigningKeys | "damaged" | null> {
    return this.#engine.read(() => this.#keys(tenant));
  }

  rotate(tenant: string, next: NextSecret, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    const { box } = this.#engine;
    return this.#idempotency.commit(once, now, () =>
      this.#write(tenant, rotatedKeys(this.#find(tenant), tenant, { box, next, now })),
    );
  }

  complete(tenant: string, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    return this.#idempotency.commit(once, now, () => this.#end(tenant, completed));
  }

  abandon(tenant: string): Promise<KeyRotation> {
    return this.#engine.commit.run(() => this.#end(tenant, abandoned));
  }

  publish(tenant: string, published: boolean): Promise<boolean> {
    return this.#engine.commit.run(() => {
      const number = this.#tenants.find(tenant);
      return number !== undefined && this.#publish.run(Number(published), number).changes === 1;
    });
  }

  async switchDue(now: number): Promise<readonly SwitchedKey[]> {
    // This runs every second, so commit only if there is something to do.
    if (this.#engine.read(() => this.#dueBy(now)).length === 0) return [];
    return this.#engine.commit.run(() =>
      this.#dueBy(now).map(({ tenant, after }) => {
        this.#set(tenant, after);
        return { tenant, endpoints: this.#endpointsOf(tenant) };
      }),
    );
  }

  /** Skips a next key that cannot be read, so that it does not hold up the others. */
  #dueBy(now: number): Due[] {
    const due: Due[] = [];
    for (const row of this.#due.iterate(now)) {
      const tenant = this.#tenants.nameIfAny(row.tenant);
      if (tenant === undefined) continue;
      const after = completed(heldKeys(row, tenant, this.#engine.box));
      if (typeof after !== "string" && due.push({ tenant, after }) === CHUNK) break;
    }
    return due;
  }

  #end(tenant: string, end: (held: HeldSecrets) => SigningSecrets | RotationRefusal): KeyRotation {
    const row = this.#find(tenant);
    if (row === undefined) return { result: "not_found" };
    return this.#write(tenant, end(heldKeys(row, tenant, this.#engine.box)));
  }

  #write(tenant: string, after: SigningSecrets | RotationRefusal): KeyRotation {
    if (typeof after === "string") return { result: after };
    this.#set(tenant, after);
    return rotationDone(this.#keys(tenant), this.#endpointsOf(tenant));
  }

  #set(tenant: string, after: SigningSecrets): void {
    const { private_key, next_private_key, switches_at } = sealedKeys(after, tenant, this.#engine.box);
    this.#put.run(this.#tenants.number(tenant), private_key, next_private_key, switches_at);
  }

  #endpointsOf(tenant: string): string[] {
    return this.#endpoints.all(this.#tenants.number(tenant));
  }

  #keys(tenant: string): SigningKeys | "damaged" | null {
    const row = this.#find(tenant);
    return row === undefined ? null : readKeys(row, tenant, this.#engine.box);
  }

  #find(tenant: string): SigningKeyRow | undefined {
    const number = this.#tenants.find(tenant);
    return number === undefined ? undefined : this.#select.get(number);
  }
}
