/** The audit log as callers see it. */
import * as v from "valibot";
import { AUDIT_ACTIONS } from "../../domain/audit.ts";
import { Count, described, id, Instant, pageOf, titled } from "./wire.ts";

export const AuditRecord = titled(
  "AuditRecord",
  v.object({
    at: Instant,
    actor: described(v.string(), "The key that was used, or `socket` for whoever opened the unix socket."),
    uid: described(
      v.nullable(Count),
      "Of a caller over the unix socket, as the kernel says it; null of a key, and where the kernel cannot be asked.",
    ),
    user: described(v.nullable(v.string()), "The login name of that uid in /etc/passwd; null without one."),
    tenant: described(v.string(), "Whose data it was about, a name or `*`."),
    action: v.picklist(AUDIT_ACTIONS),
    object: described(v.nullable(v.string()), "The id of what it was done to; null for the daemon as a whole."),
    request_id: id("req"),
    outcome: described(
      v.string(),
      "`ok`, `repeated` for an idempotency key that had been used before, or the code of the refusal.",
    ),
  }),
);

export const AuditPage = pageOf(AuditRecord);

export const anAuditRecord = {
  at: "2026-11-20T09:50:00.000Z",
  actor: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  uid: null,
  user: null,
  tenant: "default",
  action: "endpoint.register",
  object: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  request_id: "req_06fbqxvx8q1r2s3t4v5w6x7y8z",
  outcome: "ok",
};
