/** The private keys of tenants, and how one takes over from another: `docs/interface.md` §5. */
import {
  needsPrivateKey,
  type NextSecret,
  type Signature,
  type SigningSecrets,
} from "../../../domain/endpoints/endpoint.ts";
import { abandoned, completed, type HeldSecrets, type RotationRefusal } from "../../../domain/endpoints/rotation.ts";
import type { Once } from "../../../domain/events/idempotency.ts";
import type { KeyRotation, SigningKeys, SigningKeyStore, SwitchedKey } from "../../store.ts";
import type { IdempotencyKeys } from "../callers/idempotency.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK, type Engine } from "../engine/engine.ts";
import {
  firstKey,
  heldKeys,
  readKeys,
  rotatedKeys,
  rotationDone,
  sealedKeys,
  USES_KEYS,
  type SigningKeyRow,
} from "../../rows/signing-key-row.ts";

interface DueRow extends SigningKeyRow {
  readonly tenant: string;
}

interface Due {
  readonly tenant: string;
  readonly after: SigningSecrets;
}

/** Makes the first key of a tenant, in the transaction of the endpoint that needs it. */
export async function makeFirstKey(
  tx: Queries,
  { box, random }: Pick<Engine, "box" | "random">,
  endpoint: { readonly signatures: readonly Signature[] },
  tenant: string,
): Promise<void> {
  if (!needsPrivateKey(endpoint)) return;
  await tx.change("INSERT INTO signing_key (tenant, private_key) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
    tenant,
    firstKey(tenant, box, random),
  ]);
  // A rotation by another node waits until this endpoint can be notified, or has already committed.
  await tx.rows("SELECT 1 FROM signing_key WHERE tenant = $1 FOR SHARE", [tenant]);
}

export class PostgresSigningKeys implements SigningKeyStore {
  readonly #engine: Engine;
  readonly #idempotency: IdempotencyKeys;

  constructor(engine: Engine, idempotency: IdempotencyKeys) {
    this.#engine = engine;
    this.#idempotency = idempotency;
  }

  get(tenant: string): Promise<SigningKeys | "damaged" | null> {
    return this.#keys(this.#engine.database, tenant);
  }

  rotate(tenant: string, next: NextSecret, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    const { box } = this.#engine;
    return this.#idempotency.commit(once, now, async (tx) => {
      const row = await find(tx, tenant, "FOR UPDATE");
      return this.#write(tx, tenant, rotatedKeys(row, tenant, { box, next, now }));
    });
  }

  complete(tenant: string, now: number, once?: Once<KeyRotation>): Promise<KeyRotation> {
    return this.#idempotency.commit(once, now, (tx) => this.#end(tx, tenant, completed));
  }

  abandon(tenant: string): Promise<KeyRotation> {
    return this.#engine.write((tx) => this.#end(tx, tenant, abandoned));
  }

  async publish(tenant: string, published: boolean): Promise<boolean> {
    const sql = "UPDATE signing_key SET published = $2 WHERE tenant = $1";
    return (await this.#engine.write((tx) => tx.change(sql, [tenant, Number(published)]))) === 1;
  }

  async switchDue(now: number): Promise<readonly SwitchedKey[]> {
    // This runs every second, so commit only if there is something to do.
    if ((await this.#dueBy(this.#engine.database, now, "")).length === 0) return [];
    return this.#engine.write(async (tx) => {
      const switched: SwitchedKey[] = [];
      for (const { tenant, after } of await this.#dueBy(tx, now, "FOR UPDATE")) {
        await this.#set(tx, tenant, after);
        switched.push({ tenant, endpoints: await this.#tell(tx, tenant) });
      }
      return switched;
    });
  }

  /** Skips a next key that cannot be read, so that it does not hold up the others. */
  async #dueBy(queries: Queries, now: number, lock: "" | "FOR UPDATE"): Promise<Due[]> {
    const sql = `SELECT * FROM signing_key WHERE switches_at <= $1 AND (switches_at, tenant) > ($2, $3)
      ORDER BY switches_at, tenant LIMIT ${CHUNK} ${lock}`;
    for (let last: readonly [number, string] = [0, ""]; ;) {
      const rows = await queries.rows<DueRow>(sql, [now, ...last]);
      const due = rows.flatMap((row) => {
        const after = completed(heldKeys(row, row.tenant, this.#engine.box));
        return typeof after === "string" ? [] : [{ tenant: row.tenant, after }];
      });
      if (due.length > 0 || rows.length < CHUNK) return due;
      const { switches_at, tenant } = rows.at(-1)!;
      last = [switches_at!, tenant];
    }
  }

  async #end(
    tx: Queries,
    tenant: string,
    end: (held: HeldSecrets) => SigningSecrets | RotationRefusal,
  ): Promise<KeyRotation> {
    const row = await find(tx, tenant, "FOR UPDATE");
    if (row === undefined) return { result: "not_found" };
    return this.#write(tx, tenant, end(heldKeys(row, tenant, this.#engine.box)));
  }

  async #write(tx: Queries, tenant: string, after: SigningSecrets | RotationRefusal): Promise<KeyRotation> {
    if (typeof after === "string") return { result: after };
    await this.#set(tx, tenant, after);
    const endpoints = await this.#tell(tx, tenant);
    return rotationDone(await this.#keys(tx, tenant), endpoints);
  }

  async #set(tx: Queries, tenant: string, after: SigningSecrets): Promise<void> {
    const { private_key, next_private_key, switches_at } = sealedKeys(after, tenant, this.#engine.box);
    await tx.change(
      `INSERT INTO signing_key (tenant, private_key, next_private_key, switches_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT (tenant) DO UPDATE SET private_key = excluded.private_key,
         next_private_key = excluded.next_private_key, switches_at = excluded.switches_at`,
      [tenant, private_key, next_private_key, switches_at],
    );
  }

  /** Notifies the nodes of the endpoints that the keys sign for, once the row is locked. */
  async #tell(tx: Queries, tenant: string): Promise<string[]> {
    const rows = await tx.rows<{ id: string }>(
      `SELECT e.id FROM endpoint e WHERE e.tenant = $1 AND e.deleted_at IS NULL AND ${USES_KEYS} ORDER BY e.number`,
      [tenant],
    );
    const endpoints = rows.map(({ id }) => id);
    await this.#engine.owner.notify(tx, { changed: endpoints });
    return endpoints;
  }

  async #keys(queries: Queries, tenant: string): Promise<SigningKeys | "damaged" | null> {
    const row = await find(queries, tenant);
    return row === undefined ? null : readKeys(row, tenant, this.#engine.box);
  }
}

async function find(
  queries: Queries,
  tenant: string,
  lock: "" | "FOR UPDATE" = "",
): Promise<SigningKeyRow | undefined> {
  return (await queries.rows<SigningKeyRow>(`SELECT * FROM signing_key WHERE tenant = $1 ${lock}`, [tenant]))[0];
}
