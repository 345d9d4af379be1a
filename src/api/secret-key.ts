/** The key that seals what is secret in the store. */
import { rekey as rekeyOperation } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { requireEveryTenant } from "./pipeline/access.ts";

export function secretKeyRoutes({ store, log }: ApiParts): Route[] {
  async function rekey({ principal }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const { keyFile, keyId, ...rest } = await store.operations.rekey();
    const answer = { secret_key_file: keyFile, key_id: keyId, ...rest };
    log.warn({ ...answer }, "everything is sealed with a new secret.key");
    return json(200, answer);
  }

  return [
    {
      method: "POST",
      path: "/v1/secret-key/rekey",
      access: "admin",
      audit: "secret_key.rekey",
      operation: rekeyOperation,
      handle: rekey,
    },
  ];
}
