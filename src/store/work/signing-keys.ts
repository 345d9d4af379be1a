/** The private keys of tenants, and how one takes over from another: `docs/interface.md` §5. */
import type { NextSecret, SigningSecrets } from "../../domain/endpoints/endpoint.ts";
import { abandoned, completed, type HeldSecrets, type RotationRefusal } from "../../domain/endpoints/rotation.ts";
import type { Once } from "../../domain/events/idempotency.ts";
import {
  heldKeys,
  readKeys,
  rotatedKeys,
  rotationDone,
  sealedKeys,
  USES_KEYS,
  type SigningKeyRow,
} from "../rows/signing-key-row.ts";
import type { KeyRotation, SigningKeys as Keys, SigningKeyStore, SwitchedKey } from "../store.ts";
import { addedTenant, change, changed, rowsOf, tenantKey, type TenantKey, type Work, type Workplace } from "./work.ts";

/** The number of rows of one look, and of keys of one commit. */
const CHUNK = 500;

interface DueRow extends SigningKeyRow {
  readonly tenant: TenantKey;
  readonly name: string;
}

interface Due {
  readonly tenant: string;
  readonly after: SigningSecrets;
}

export class SigningKeys implements SigningKeyStore {
  readonly #place: Workplace;

  constructor(place: Workplace) {
    this.#place = place;
  }

  get(tenant: string): Promise<Keys | "damaged" | null> {
    return this.#place.read(() => this.#keys(tenant));
  }

  rotate(tenant: string, next: NextSecret, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    return this.#place.commitOnce(once, now, () => this.#rotate(tenant, next, now));
  }

  complete(tenant: string, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    return this.#place.commitOnce(once, now, () => this.#end(tenant, completed));
  }

  abandon(tenant: string): Promise<KeyRotation> {
    return this.#place.commit(() => this.#end(tenant, abandoned));
  }

  publish(tenant: string, published: boolean): Promise<boolean> {
    return this.#place.commit(() => this.#publish(tenant, published));
  }

  async switchDue(now: number): Promise<readonly SwitchedKey[]> {
    // Asked each second: a commit is only for when there is something to do.
    if ((await this.#place.read(() => this.#dueBy(now, ""))).length === 0) return [];
    return this.#place.commit(() => this.#switch(now));
  }

  *#rotate(tenant: string, next: NextSecret, now: number): Work<KeyRotation> {
    const row = yield* this.#find(tenant, this.#place.lock);
    return yield* this.#write(tenant, rotatedKeys(row, tenant, { box: this.#place.box, next, now }));
  }

  *#end(tenant: string, end: (held: HeldSecrets) => SigningSecrets | RotationRefusal): Work<KeyRotation> {
    const row = yield* this.#find(tenant, this.#place.lock);
    if (row === undefined) return { result: "not_found" };
    return yield* this.#write(tenant, end(heldKeys(row, tenant, this.#place.box)));
  }

  *#publish(tenant: string, published: boolean): Work<boolean> {
    const key = yield* tenantKey(tenant);
    if (key === undefined) return false;
    const sql = "UPDATE signing_key SET published = $2 WHERE tenant = $1";
    return (yield* change(sql, key, Number(published))) === 1;
  }

  *#switch(now: number): Work<readonly SwitchedKey[]> {
    const switched: SwitchedKey[] = [];
    for (const { tenant, after } of yield* this.#dueBy(now, this.#place.lock)) {
      switched.push({ tenant, endpoints: yield* this.#set(tenant, after) });
    }
    return switched;
  }

  /** A next key that cannot be read does not take over, and does not keep the others waiting. */
  *#dueBy(now: number, lock: Workplace["lock"]): Work<readonly Due[]> {
    const name = this.#place.tenantName("k.tenant");
    const sql = `SELECT k.*, ${name} AS name FROM signing_key k
      WHERE k.switches_at <= $1 AND (k.switches_at, k.tenant) > ($2, $3)
      ORDER BY k.switches_at, k.tenant LIMIT ${CHUNK} ${lock}`;
    for (let last: readonly [number, TenantKey] = [0, this.#place.firstTenant]; ;) {
      const rows = yield* rowsOf<DueRow>(sql, now, ...last);
      const due = rows.flatMap((row) => {
        const after = completed(heldKeys(row, row.name, this.#place.box));
        return typeof after === "string" ? [] : [{ tenant: row.name, after }];
      });
      if (due.length > 0 || rows.length < CHUNK) return due;
      const { switches_at, tenant } = rows.at(-1)!;
      last = [switches_at!, tenant];
    }
  }

  *#write(tenant: string, after: SigningSecrets | RotationRefusal): Work<KeyRotation> {
    if (typeof after === "string") return { result: after };
    const endpoints = yield* this.#set(tenant, after);
    return rotationDone(yield* this.#keys(tenant), endpoints);
  }

  /** Returns the endpoints that the keys sign for. */
  *#set(tenant: string, after: SigningSecrets): Work<readonly string[]> {
    const { private_key, next_private_key, switches_at } = sealedKeys(after, tenant, this.#place.box);
    const key = yield* addedTenant(tenant);
    yield* change(
      `INSERT INTO signing_key (tenant, private_key, next_private_key, switches_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (tenant) DO UPDATE SET private_key = excluded.private_key,
         next_private_key = excluded.next_private_key, switches_at = excluded.switches_at`,
      key,
      private_key,
      next_private_key,
      switches_at,
    );
    const rows = yield* rowsOf<{ id: string }>(
      `SELECT e.id FROM endpoint e WHERE e.tenant = $1 AND e.deleted_at IS NULL AND ${USES_KEYS} ORDER BY e.number`,
      key,
    );
    const endpoints = rows.map(({ id }) => id);
    yield* changed(tenant, endpoints);
    return endpoints;
  }

  *#keys(tenant: string): Work<Keys | "damaged" | null> {
    const row = yield* this.#find(tenant);
    return row === undefined ? null : readKeys(row, tenant, this.#place.box);
  }

  *#find(tenant: string, lock: Workplace["lock"] = ""): Work<SigningKeyRow | undefined> {
    const key = yield* tenantKey(tenant);
    if (key === undefined) return undefined;
    return (yield* rowsOf<SigningKeyRow>(`SELECT * FROM signing_key WHERE tenant = $1 ${lock}`, key))[0];
  }
}
