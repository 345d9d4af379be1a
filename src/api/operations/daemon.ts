import * as v from "valibot";
import type { Operation, ReplyShape } from "../operation.ts";
import { anAuditRecord, AuditPage } from "../schemas/audit.ts";
import { aRekeying, Rekeyed } from "../schemas/secret-key.ts";
import { aBackup, aPause, aStatus, aTenant, Backup, PauseAnswer, Status, TenantPage } from "../schemas/status.ts";
import { AnyObject, aPageOf } from "../schemas/wire.ts";

export const getDescription: Operation = {
  id: "getDescription",
  tag: "Daemon",
  summary: "Read this description as OpenAPI 3.1",
  replies: { 200: { description: "The description.", schema: AnyObject, example: { openapi: "3.1.0" } } },
};

export const readDocs: Operation = {
  id: "readDocs",
  tag: "Daemon",
  summary: "Read this description as a page",
  description: "One HTML page that loads nothing and runs nothing: save it and open it anywhere.",
  replies: {
    200: {
      description: "The page.",
      schema: v.string(),
      example: "<!doctype html>…",
      type: "text/html; charset=utf-8",
    },
  },
};

export const getMetrics: Operation = {
  id: "getMetrics",
  tag: "Daemon",
  summary: "Read the metrics in Prometheus's text format",
  description:
    "All of them take a key of every tenant (`*`). A key of one tenant gets the series of that tenant's endpoints alone.",
  replies: {
    200: {
      description: "The metrics.",
      schema: v.string(),
      example: "# HELP webhookd_paused Whether the brake is on.\n# TYPE webhookd_paused gauge\nwebhookd_paused 0\n",
      type: "text/plain; version=0.0.4; charset=utf-8",
    },
  },
};

export const listAudit: Operation = {
  id: "listAudit",
  tag: "Daemon",
  summary: "List who did what",
  description: "Every change and every look at a secret, refused ones too; never what the change held.",
  replies: {
    200: { description: "A page of it.", schema: AuditPage, example: aPageOf(anAuditRecord), headers: ["link"] },
  },
};

function word(description: string, ...words: [string, ...string[]]): ReplyShape {
  return { description, schema: v.picklist(words), example: words[0], type: "text/plain; charset=utf-8" };
}

export const getHealth: Operation = {
  id: "getHealth",
  tag: "Daemon",
  summary: "Ask whether the process answers",
  replies: { 200: word("It does.", "ok") },
};

export const getReadiness: Operation = {
  id: "getReadiness",
  tag: "Daemon",
  summary: "Ask whether publishes are taken",
  description:
    "It says nothing of sending: a node that cannot reach receivers takes publishes, keeps them and stays `ready`. The header `X-Webhookd-Not-Sending` then names the reasons, as `not_sending` of `GET /v1/status` does; it is absent while all goes on. The header `X-Webhookd-Storage` is there while something is the matter with the store that refuses no publish yet: `damaged` after the database was mended, `log_growing` while the write-ahead log cannot be emptied and takes the disk.",
  replies: {
    200: word("They are.", "ready"),
    503: word("They are not, and why.", "draining", "disk_full", "store_unavailable"),
  },
};

export const getStatus: Operation = {
  id: "getStatus",
  tag: "Daemon",
  summary: "Look at the daemon as a whole",
  replies: { 200: { description: "How it is.", schema: Status, example: aStatus } },
};

export const pauseDaemon: Operation = {
  id: "pauseDaemon",
  tag: "Daemon",
  summary: "Stop all attempts",
  description:
    "The brake: no attempt starts after this answer, tests and those that were asked for included, through any restart, until somebody resumes. What is on the wire is recorded, and publishes go on. Once it is on, it stays as it was put on.",
  example: { reason: aPause.reason },
  replies: { 200: { description: "It is on.", schema: PauseAnswer, example: { paused: aPause } } },
};

export const resumeDaemon: Operation = {
  id: "resumeDaemon",
  tag: "Daemon",
  summary: "Let attempts go on",
  description: "What fell due meanwhile is attempted now, at the pace that each endpoint takes.",
  replies: { 200: { description: "The brake is off.", schema: PauseAnswer, example: { paused: null } } },
};

export const listTenants: Operation = {
  id: "listTenants",
  tag: "Daemon",
  summary: "List tenants",
  description: "Everyone for whom something was ever registered or published.",
  replies: {
    200: { description: "A page of them.", schema: TenantPage, example: aPageOf(aTenant), headers: ["link"] },
  },
};

export const createBackup: Operation = {
  id: "createBackup",
  tag: "Daemon",
  summary: "Make a backup",
  description:
    "Into `[backup] dir`, while publishes go on: all that was answered before this request is in it. Answered once the file is whole, checked and durable; older ones beyond `[backup] keep` are gone then. It holds signing secrets sealed, and the key to them only where a passphrase seals that: else it cannot be used without a copy of `secret.key`.",
  example: { passphrase: "correct horse battery staple" },
  replies: { 201: { description: "It is made.", schema: Backup, example: aBackup } },
  problems: ["backup_running", "backup_failed"],
};

export const rekey: Operation = {
  id: "rekey",
  tag: "Daemon",
  summary: "Change secret.key",
  description:
    "Seals everything that is secret in the store with a new key, while publishes and deliveries go on; no endpoint's secret changes. Killed at any step, the next start finishes it, or goes on with the key of before. Asked again while it is being done, it is the same change; a backup that is asked for meanwhile waits. Make a backup afterwards: one that was made before opens with the key that was sealed into it, or with the file `kept`.",
  replies: { 200: { description: "It is changed.", schema: Rekeyed, example: aRekeying } },
  problems: ["backup_running", "key_not_changeable", "rekey_failed"],
};
