/** Backups on demand. */
import type { BackupFile } from "../store/store.ts";
import { formatInstant } from "./instant.ts";
import { createBackup } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Reply, type Route } from "./route.ts";
import { requireEveryTenant } from "./tenant.ts";

export function backupRoutes({ backups }: ApiParts): Route[] {
  async function create({ principal }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    return json(201, presentBackup(await backups.make()));
  }

  return [
    {
      method: "POST",
      path: "/v1/backups",
      access: "admin",
      audit: "backup.create",
      operation: createBackup,
      handle: create,
    },
  ];
}

export function presentBackup({ file, at, bytes, schema, endpoints, events }: BackupFile) {
  return { file, at: formatInstant(at), bytes, schema, endpoints, events };
}
