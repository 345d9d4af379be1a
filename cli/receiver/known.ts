/** What the daemon knows about a signature: whose secrets there are. */
import type { Client } from "../../src/client/client.ts";
import { ClientError } from "../../src/client/client.ts";

/** Reading a secret is written into the audit, so a search stays small. */
const MAX_SEARCHED = 50;

export interface OtherSecret {
  readonly whose: string;
  readonly secret: string;
}

/** What signs for an endpoint: `X-Service-Signature`, or both of a rotation `webhook-signature`. */
export async function secretsOf(client: Client, endpoint: string, isStandard: boolean) {
  const { signing_secret, next_signing_secret: next, switches_at } = await client.call("getSecret", { id: endpoint });
  if (next === undefined) return { secrets: [signing_secret], others: [] };
  if (isStandard) return { secrets: [signing_secret, next], others: [] };
  const whose = `the next secret of ${endpoint}, which takes over at ${switches_at}`;
  return { secrets: [signing_secret], others: [{ whose, secret: next }] };
}

/** Those of other endpoints, as far as this caller may read them. */
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
    // What is not allowed, or is gone meanwhile, cannot help; the mismatch is said all the same.
    if (!(error instanceof ClientError)) throw error;
  }
  return others;
}
