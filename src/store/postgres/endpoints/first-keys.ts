/** The first private key of a tenant. */
import { needsPrivateKey, type Signature } from "../../../domain/endpoints/endpoint.ts";
import type { Queries } from "../engine/database.ts";
import type { Engine } from "../engine/engine.ts";
import { firstKey } from "../../rows/signing-key-row.ts";

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
  // A rotation by another node waits until this endpoint is there to be notified, or has committed already.
  await tx.rows("SELECT 1 FROM signing_key WHERE tenant = $1 FOR SHARE", [tenant]);
}
