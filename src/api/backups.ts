/** Backups on demand. */
import type { BackupFile } from "../store/store.ts";
import { formatInstant } from "./instant.ts";
import { createBackup } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Reply, type Route } from "./route.ts";
import { BackupDraft } from "./schemas/status.ts";
import { requireEveryTenant } from "./tenant.ts";
import { readJson } from "./validation.ts";

export function backupRoutes({ backups }: ApiParts): Route[] {
  async function create({ principal, body }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const { passphrase } = body.length === 0 ? {} : readJson(body, BackupDraft);
    return json(201, presentBackup(await backups.make(passphrase)));
  }

  return [
    {
      method: "POST",
      path: "/v1/backups",
      access: "admin",
      body: { maxBytes: 64 * 1024, schema: BackupDraft, optional: true },
      audit: "backup.create",
      operation: createBackup,
      handle: create,
    },
  ];
}

export function presentBackup({ at, ...facts }: BackupFile) {
  return { ...facts, at: formatInstant(at) };
}
