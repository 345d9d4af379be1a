/** Backups on demand. */
import * as v from "valibot";
import { formatInstant } from "../../domain/time/instant.ts";
import { MIN_PASSPHRASE, MAX_PASSPHRASE } from "../../domain/keys/passphrase.ts";
import type { BackupFile } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { titled, described, Instant, Count } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/validation.ts";

export const BackupDraft = titled(
  "BackupDraft",
  v.strictObject({
    passphrase: v.optional(
      described(
        v.pipe(
          v.string(),
          v.minLength(MIN_PASSPHRASE, `too_few: must be at least ${MIN_PASSPHRASE} characters`),
          v.maxLength(MAX_PASSPHRASE, `too_long: must be at most ${MAX_PASSPHRASE} characters`),
        ),
        "Seals `secret.key` into the backup, which can then be restored with this alone. It is not stored. By default `[backup] seal_with_file` is used, if it is set.",
      ),
    ),
  }),
);

export const Backup = titled(
  "Backup",
  v.object({
    file: described(v.string(), "Its path on the daemon's host; the file is named after the time."),
    at: Instant,
    bytes: Count,
    schema: Count,
    endpoints: described(Count, "How many it holds, without deleted ones."),
    events: described(Count, "How many it holds."),
    sha256: described(v.string(), "Of the whole file, in hexadecimal."),
    sealed: described(v.boolean(), "Whether `secret.key` is in it, sealed with a passphrase."),
  }),
);

export const aBackup = {
  file: "/var/backups/webhookd/webhookd-20261120T090000123Z.db",
  at: "2026-11-20T09:00:00.123Z",
  bytes: 73_400_320,
  schema: 1,
  endpoints: 3,
  events: 60_213,
  sha256: "5f1d7a84db00d2fce00b31a7fc73224f8c4e2c9bd0a15bfa9f5ac6f3ce2d46b1",
  sealed: true,
};

export const createBackup: Operation = {
  id: "createBackup",
  tag: "Daemon",
  summary: "Make a backup",
  description:
    "Into `[backup] dir`, while publishes go on. Everything that was answered before this request is in it. The answer comes once the file is complete, checked and durable, and older ones beyond `[backup] keep` are removed. Signing secrets in it are sealed. `secret.key` is in it only if a passphrase seals it; otherwise you need a copy of `secret.key` to use the backup.",
  example: { passphrase: "correct horse battery staple" },
  replies: { 201: { description: "It is made.", schema: Backup, example: aBackup } },
  problems: ["backup_running", "backup_failed"],
};

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
