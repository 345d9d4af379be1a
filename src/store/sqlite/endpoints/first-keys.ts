/** Creates the first private key of a tenant, in the transaction of the endpoint that needs it. */
import type { Database, Statement } from "better-sqlite3";
import { needsPrivateKey, type Signature } from "../../../domain/endpoints/endpoint.ts";
import type { Box } from "../../rows/box.ts";
import { firstKey } from "../../rows/signing-key-row.ts";
import type { Interned } from "../numbers/names.ts";

interface Sealing {
  readonly box: Box;
  readonly random: (bytes: number) => Uint8Array;
}

export class FirstKeys {
  readonly #tenants: Interned;
  readonly #box: Box;
  readonly #random: (bytes: number) => Uint8Array;
  readonly #has: Statement<[number], number>;
  readonly #insert: Statement<[number, string]>;

  constructor(db: Database, tenants: Interned, { box, random }: Sealing) {
    this.#tenants = tenants;
    this.#box = box;
    this.#random = random;
    this.#has = db.prepare<[number], number>("SELECT 1 FROM signing_key WHERE tenant = ?").pluck();
    this.#insert = db.prepare("INSERT INTO signing_key (tenant, private_key) VALUES (?, ?)");
  }

  makeFor(endpoint: { readonly signatures: readonly Signature[] }, tenant: string): void {
    if (!needsPrivateKey(endpoint)) return;
    const number = this.#tenants.number(tenant);
    if (this.#has.get(number) === undefined) this.#insert.run(number, firstKey(tenant, this.#box, this.#random));
  }
}
