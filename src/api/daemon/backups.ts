/**
 * Routes that make a backup, show what would be lost without one, and change the key that seals the secrets in the
 * store and its backups.
 */
import * as v from "valibot";
import type { Endpoint } from "../../domain/endpoints/endpoint.ts";
import { MAX_PASSPHRASE, MIN_PASSPHRASE } from "../../passphrase.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import type { BackupFile, Damage as StoredDamage } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { Count, described, id, Instant, titled } from "../pipeline/shapes.ts";
import { readJson } from "../pipeline/body.ts";

export const Damage = titled(
  "Damage",
  v.object({
    at: described(Instant, "When it was found."),
    file: described(
      v.string(),
      "The damaged database or log, which is kept. `damaged_database` is null once you have removed or moved it.",
    ),
    pages: described(
      v.array(v.object({ name: v.string(), pages: v.array(Count) })),
      "Damaged pages by table or index, as far as they were checked.",
    ),
    lost: described(
      v.array(
        v.object({
          table: v.string(),
          rows: described(v.nullable(Count), "How many rows could not be read; null if unknown."),
          from: described(v.nullable(Instant), "When the first of their events was received; null if unknown."),
          until: described(v.nullable(Instant), "When the last of their events was received; null if unknown."),
        }),
      ),
      "What could not be read and is lost; empty if nothing is lost.",
    ),
    log: described(
      v.nullable(
        v.object({
          file: described(v.string(), "A copy of the damaged log."),
          transactions: described(Count, "How many commits stood behind the damage. Each holds one request or more."),
          pages: described(Count, "How many pages these wrote."),
        }),
      ),
      "What of the write-ahead log is lost, because it stood behind damage; null if the log was whole.",
    ),
  }),
);

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
        "Seals `secret.key` into the backup, which can then be restored with this passphrase alone. The passphrase is not stored. By default `[backup] seal_with_file` is used, if it is set.",
      ),
    ),
  }),
);

export const Backup = titled(
  "Backup",
  v.object({
    file: described(v.string(), "Its path on the daemon's host; the file name contains the time."),
    at: Instant,
    bytes: Count,
    schema: Count,
    endpoints: described(Count, "How many endpoints it contains, not counting deleted ones."),
    events: described(Count, "How many events it contains."),
    sha256: described(v.string(), "The hash of the whole file, in hexadecimal."),
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
    "Writes a backup into `[backup] dir` while events are still accepted. It contains everything that was answered before this request. The call returns once the file is complete, checked and durable, and older backups beyond `[backup] keep` have been removed. Signing secrets in it are sealed. `secret.key` is in it only if a passphrase seals it; otherwise you need a copy of `secret.key` to use the backup.",
  example: { passphrase: "correct horse battery staple" },
  replies: { 201: { description: "The backup is complete.", schema: Backup, example: aBackup } },
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
      growth: "folds",
      operation: createBackup,
      handle: create,
    },
  ];
}

export function presentBackup({ at, ...facts }: BackupFile) {
  return { ...facts, at: formatInstant(at) };
}

export const Rekeyed = titled(
  "Rekeyed",
  v.object({
    resealed: described(Count, "How many endpoints are now sealed with the new key, including the one for alerts."),
    secret_key_file: described(v.string(), "The path of the new key on the daemon's host. Copy it to another host."),
    key_id: described(v.string(), "Identifies the new key without revealing it."),
    kept: described(
      v.nullable(v.string()),
      "The path of the old key. Older backups need it, unless it is sealed into them. Null if its file was missing.",
    ),
    damaged: described(
      v.array(id("ep")),
      "Endpoints whose secrets or headers could not be unsealed with the old key either. They are unchanged.",
    ),
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
    "Seals all secrets in the store with a new key, while events are still accepted and delivered. No endpoint's secret changes. If the process is killed at any step, the next start finishes the change or keeps the old key. A second request in the meantime joins the same change, and a backup waits until it is done. Make a backup afterwards: an older one still needs the old key, from the file `kept` or sealed into that backup.",
  replies: { 200: { description: "The key has been changed.", schema: Rekeyed, example: aRekeying } },
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
      growth: "folds",
      operation: rekey,
      handle: changeKey,
    },
  ];
}

export function presentDamage({ at, file, pages, lost, log }: StoredDamage) {
  return {
    at: formatInstant(at),
    file,
    pages,
    lost: lost.map(({ table, rows, from, until }) => {
      return { table, rows, from: formatInstantOrNull(from), until: formatInstantOrNull(until) };
    }),
    log,
  };
}

/** The answer names at most this many damaged endpoints. */
const NAMED = 20;

export function presentDamaged(all: readonly Endpoint[]) {
  const endpoints = all.slice(0, NAMED).map(({ id, tenant, url, damaged }) => ({
    endpoint: id,
    tenant,
    url,
    parts: damaged?.parts ?? [],
    reason: damaged?.reason ?? "",
  }));
  return { total: all.length, endpoints };
}
