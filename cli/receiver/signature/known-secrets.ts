/** Fetches secrets from the daemon in order to explain a signature that does not match. */
import type { Client } from "../../../src/client/client.ts";
import { ClientError } from "../../../src/client/client.ts";

/** The audit records each time a secret is read, so a search stays small. */
const MAX_SEARCHED = 50;

export interface OtherSecret {
  readonly whose: string;
  readonly secret: string;
}

/**
 * Returns the secrets that sign for an endpoint: `X-Service-Signature` has one, and during a rotation
 * `webhook-signature` has two.
 */
export async function secretsOf(client: Client, endpoint: string, isStandard: boolean) {
  const { signing_secret, next_signing_secret: next, switches_at } = await client.call("getSecret", { id: endpoint });
  if (next === undefined) return { secrets: [signing_secret], others: [] };
  if (isStandard) return { secrets: [signing_secret, next], others: [] };
  const whose = `the next secret of ${endpoint}, which takes over at ${switches_at}`;
  return { secrets: [signing_secret], others: [{ whose, secret: next }] };
}

/** Returns the public keys of the endpoint's tenant, which verify the entries `v1a` of `webhook-signature`. */
export async function publicKeysOf(client: Client, endpoint: string): Promise<string[]> {
  const { tenant } = await client.call("getEndpoint", { id: endpoint });
  const { public_key, next_public_key } = await client.call("getSigningKeys", { query: { tenant } });
  return [public_key, next_public_key ?? null].filter((key) => key !== null);
}

/** Returns the secrets of other endpoints that this caller may read. */
export async function otherSecrets(client: Client, but: string | undefined): Promise<OtherSecret[]> {
  const others: OtherSecret[] = [];
  try {
    let searched = 0;
    for await (const { id } of client.every("listEndpoints")) {
      if (id === but) continue;
      if (++searched > MAX_SEARCHED) break;
      const { signing_secret } = await client.call("getSecret", { id });
      others.push({ whose: `the secret of ${id}`, secret: signing_secret });
    }
  } catch (error) {
    // A secret that may not be read, or was deleted in the meantime, cannot help. The mismatch is reported anyway.
    if (!(error instanceof ClientError)) throw error;
  }
  return others;
}
