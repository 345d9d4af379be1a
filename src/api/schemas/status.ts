/** The daemon as a whole, as operators see it. */
import * as v from "valibot";
import { MAX_PASSPHRASE, MIN_PASSPHRASE } from "../../domain/passphrase.ts";
import { HALT_REASONS } from "../../domain/pause.ts";
import { line } from "../endpoint-schema.ts";
import { DamagedParts, DamagedReason } from "./endpoint.ts";
import { Count, described, id, Instant, pageOf, Tenant, titled } from "./wire.ts";

export const PauseRequest = titled(
  "PauseRequest",
  v.strictObject({
    reason: v.pipe(
      described(line(256), "What for; whoever comes next will want to know."),
      v.check((text) => text.trim() !== "", "invalid_type: must say why"),
      v.metadata({ minLength: 1 }),
    ),
  }),
);

export const Pause = titled(
  "Pause",
  v.object({
    reason: v.string(),
    by: described(v.string(), "The key that was used, `socket`, `serve --paused`, or `restore`."),
    at: Instant,
    saved: described(v.boolean(), "False when the disk did not take it: a restart forgets it, until there is space."),
  }),
);

export const Halt = titled(
  "Halt",
  v.object({
    reason: described(
      v.picklist(HALT_REASONS),
      "`operator`: the brake is on. `unrecorded`: results of attempts cannot be written down. `unreachable`: nothing can be reached, or this host has no route or no DNS. `shortage`: attempts cannot be made for want of file descriptors, memory or the like. `stopping`: the daemon stops.",
    ),
    since: Instant,
    detail: described(v.string(), "Why, in a sentence."),
  }),
);

const Paused = described(v.nullable(Pause), "While the brake is on, since when and why; null while it is off.");

export const PauseAnswer = titled("PauseAnswer", v.object({ paused: Paused }));

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
        "Seals `secret.key` into the copy, which can then be restored with nothing but this. It is kept nowhere. Left out: `[backup] seal_with_file` is used, if there is one.",
      ),
    ),
  }),
);

export const Backup = titled(
  "Backup",
  v.object({
    file: described(v.string(), "Its path on the daemon's host, named by its instant."),
    at: Instant,
    bytes: Count,
    schema: Count,
    endpoints: described(Count, "How many it holds; deleted ones do not count."),
    events: described(Count, "How many it holds."),
    sha256: described(v.string(), "Of the whole file, in hexadecimal."),
    sealed: described(v.boolean(), "Whether `secret.key` is in it, sealed with a passphrase."),
  }),
);

export const Damage = titled(
  "Damage",
  v.object({
    at: described(Instant, "When it was found."),
    file: described(v.string(), "The damaged database, which is kept; once it is removed or moved, this is null."),
    pages: described(
      v.array(v.object({ name: v.string(), pages: v.array(Count) })),
      "Damaged pages by table or index, as far as they were looked for.",
    ),
    lost: described(
      v.array(
        v.object({
          table: v.string(),
          rows: described(v.nullable(Count), "How many rows could not be read; null when nothing says so."),
          from: described(v.nullable(Instant), "The events that they are about were received from then,"),
          until: described(v.nullable(Instant), "until then; null when that is not known."),
        }),
      ),
      "What could not be read and is gone; empty when nothing is.",
    ),
  }),
);

export const Status = titled(
  "Status",
  v.object({
    version: v.string(),
    schema: described(Count, "The number of the store's schema."),
    state: described(
      v.picklist(["ready", "draining", "disk_full", "store_unavailable"]),
      "As `/readyz` says it: whether publishes are taken. The brake does not change it.",
    ),
    started_at: Instant,
    uptime_seconds: Count,
    paused: Paused,
    not_sending: described(
      v.array(Halt),
      "Every reason why nothing is sent now, or less than could be; empty while all goes on. No delivery loses an attempt by any of them.",
    ),
    oldest_due_at: described(
      v.nullable(Instant),
      "When the oldest delivery fell due that is due, and neither held nor attempted since; null when none is.",
    ),
    deliveries: described(
      v.nullable(v.object({ pending: Count, held: Count, failed: Count })),
      "Deliveries that are pending, held or failed now, whenever that began, as counted within the last 30 s; null while they are not counted yet.",
    ),
    data: described(
      v.object({ dir: v.string(), secret_key_file: v.string() }),
      "Where its store is, and the key that opens what is sealed in it: paths on the daemon's host.",
    ),
    disk: v.object({
      free_bytes: described(Count, "What may still be written, with what is free inside the database."),
      floor_bytes: described(Count, "With less, publishes are refused (507)."),
    }),
    database: v.object({
      bytes: Count,
      wal_bytes: Count,
      wal_trouble: described(
        v.nullable(v.string()),
        "Why the write-ahead log grows, in a sentence; null while it does not. It takes disk until that is mended.",
      ),
    }),
    damaged_database: described(
      v.nullable(Damage),
      "When the database was found damaged: what could be read is in a new one, which is in use. Null while there is no such damage to look into.",
    ),
    backup: v.object({
      every_seconds: described(Count, "0: only on demand."),
      dir: v.string(),
      last: described(v.nullable(Backup), "The latest that is whole; null when there is none."),
      failure: described(
        v.nullable(v.object({ at: Instant, detail: v.string() })),
        "Why the last try failed; null once one succeeded.",
      ),
    }),
    damaged_endpoints: described(
      v.object({
        total: Count,
        endpoints: v.array(
          v.object({ endpoint: id("ep"), tenant: Tenant, url: v.string(), parts: DamagedParts, reason: DamagedReason }),
        ),
      }),
      "Endpoints of which something cannot be read, twenty of them by name: nothing is sent to them until that is mended.",
    ),
    departures: described(
      v.array(v.string()),
      "A sentence for each constant of the specification that the configuration changes.",
    ),
    retry_delays_seconds: described(v.array(v.number()), "The ladder: what is waited after each failure, in turn."),
    dev: described(v.boolean(), "Whether it runs with `--dev`: endpoints may be plain http on this machine."),
    sender_threads: described(Count, "Threads that send; 0: the main one does."),
    careful: described(
      v.boolean(),
      "Whether deliveries are marked before they are dialled, after deaths in quick succession.",
    ),
    socket_uid_trouble: described(
      v.nullable(v.string()),
      "Why the audit log has no uid of callers over the unix socket; null when it has, as far as is known.",
    ),
  }),
);

export const TenantSummary = titled(
  "TenantSummary",
  v.object({ name: Tenant, endpoints: described(Count, "How many it has; deleted ones do not count.") }),
);

export const TenantPage = pageOf(TenantSummary);

export const aTenant = { name: "default", endpoints: 3 };

export const aPause = {
  reason: "the receiver's operators asked for it",
  by: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  at: "2026-11-20T09:50:00.000Z",
  saved: true,
};

export const aHalt = {
  reason: "unreachable",
  since: "2026-11-20T09:50:00.000Z",
  detail: "no DNS resolver could be reached",
} as const;

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

export const aStatus = {
  version: "1.0.0",
  schema: 1,
  state: "ready",
  started_at: "2026-11-20T08:00:00.000Z",
  uptime_seconds: 6600,
  paused: null,
  not_sending: [],
  oldest_due_at: null,
  deliveries: { pending: 9, held: 4, failed: 12 },
  data: { dir: "/var/lib/webhookd", secret_key_file: "/var/lib/webhookd/secret.key" },
  disk: { free_bytes: 52_613_349_376, floor_bytes: 536_870_912 },
  database: { bytes: 73_400_320, wal_bytes: 4_124_152, wal_trouble: null },
  damaged_database: null,
  backup: { every_seconds: 86_400, dir: "/var/backups/webhookd", last: aBackup, failure: null },
  damaged_endpoints: { total: 0, endpoints: [] },
  departures: [],
  retry_delays_seconds: [30, 120, 600, 3600, 21_600, 86_400],
  dev: false,
  sender_threads: 1,
  careful: false,
  socket_uid_trouble: null,
};
