/** The audit log: who asked for what change, and what came of it. Never what the change held: no secret, no payload. */
import type { ErrorCode } from "../errors.ts";

/** A route that changes something, or shows a secret, names one of these. Publishes are not audited. */
export const AUDIT_ACTIONS = [
  "endpoint.register",
  "endpoint.update",
  "endpoint.put",
  "endpoint.delete",
  "endpoint.test",
  "secret.read",
  "secret.rotate",
  "secret.complete",
  "secret.abandon",
  "event.retry",
  "event.cancel",
  "event.erase",
  "delivery.attempt",
  "job.create",
  "job.pause",
  "job.resume",
  "job.cancel",
  "key.create",
  "key.revoke",
  "portal_link.create",
  "daemon.pause",
  "daemon.resume",
  "node.drain",
  "node.resume",
  "backup.create",
  "secret_key.rekey",
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export interface AuditEntry {
  /** `key_…`, or `socket` for whoever opened the unix socket. */
  readonly actor: string;
  /** Of a caller over the unix socket, as the kernel says it; null of a key, and where the kernel cannot be asked. */
  readonly uid: number | null;
  /** The login name of that uid, as it was then; null without one. */
  readonly user: string | null;
  /** Whose data it was about, one name or `*`; null where only the object can tell. */
  readonly tenant: string | null;
  readonly action: AuditAction;
  /** The id of what it was done to; null for the daemon as a whole, and for what never came to be. */
  readonly object: string | null;
  readonly requestId: string;
  /** `repeated`: an idempotency key had been used before, so nothing was done. Else the code of the refusal. */
  readonly outcome: "ok" | "repeated" | ErrorCode;
}

/** As it was written down. */
export interface AuditRecord extends AuditEntry {
  /** `*` where nobody could tell. */
  readonly tenant: string;
  readonly at: number;
}
