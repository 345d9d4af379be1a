/** The key that seals what is secret in the store. */
import * as v from "valibot";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { Count, described, id, titled } from "../pipeline/shapes.ts";

export const Rekeyed = titled(
  "Rekeyed",
  v.object({
    resealed: described(Count, "How many endpoints are now sealed with the new key, including that of the alerts."),
    secret_key_file: described(
      v.string(),
      "Where the new key is: a path on the daemon's host. Copy it to another host.",
    ),
    key_id: described(v.string(), "Names the new key without revealing it."),
    kept: described(
      v.nullable(v.string()),
      "Where the old key is. Older backups need it, unless it is sealed into them. Null if its file was gone.",
    ),
    damaged: described(v.array(id("ep")), "Endpoints that could not be unsealed before either. They are unchanged."),
  }),
);

export const aRekeying = {
  resealed: 3,
  secret_key_file: "/var/lib/webhookd/secret.key",
  key_id: "1f0c9a7e",
  kept: "/var/lib/webhookd/secret.key.old-83b2d7c4",
  damaged: [],
};

export const rekey: Operation = {
  id: "rekey",
  tag: "Daemon",
  summary: "Change secret.key",
  description:
    "Seals all secrets in the store with a new key, while publishes and deliveries go on. No endpoint's secret changes. If the process is killed at any step, the next start finishes the change or goes on with the old key. A second request meanwhile joins the same change, and a backup waits for it. Make a backup afterwards: an older one opens with the key that was sealed into it, or with the file `kept`.",
  replies: { 200: { description: "It is changed.", schema: Rekeyed, example: aRekeying } },
  problems: ["backup_running", "key_not_changeable", "rekey_failed"],
};

export function secretKeyRoutes({ store, log }: ApiParts): Route[] {
  async function changeKey({ principal }: Call): Promise<Reply> {
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
      operation: rekey,
      handle: changeKey,
    },
  ];
}
