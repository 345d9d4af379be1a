/** Arguments and output shared by the commands about a tenant's signing keys. */
import type { SigningKeys } from "../../src/client/operations.ts";

export const TENANT = {
  type: "string",
  valueHint: "TENANT",
  description: "The tenant; needed only with a key for every tenant, and not for the tenant default",
} as const;

/** The query that names the tenant, for operations that concern one. */
export function queryOf({ tenant }: { readonly tenant: string | undefined }) {
  return tenant === undefined ? {} : { query: { tenant } };
}

export function fieldsOf(keys: SigningKeys): [name: string, value: string | null][] {
  const { public_key, next_public_key, switches_at, published } = keys;
  return [
    ["public key", public_key ?? "none; the first endpoint with the signature ed25519 makes it, or a rotation"],
    ["next", next_public_key ?? null],
    ["switches at", switches_at ?? null],
    ["published", published ? "yes, at /v1/webhooks/keys/jwks.json" : "no"],
  ];
}
