/**
 * Decides which calls get a row of the audit log and which are only counted in one, so that a caller in a loop cannot
 * fill the disk.
 */
import type { AuditEntry } from "./caller.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The first `rows` calls of a kind in each window get their own rows. The last of these rows counts the remaining
 * calls.
 */
export interface FoldRule {
  readonly kind: string;
  readonly rows: number;
  readonly windowMs: number;
}

/**
 * A kind is what one caller does to one object, with one outcome. A refused call may name any object, so the object is
 * not part of its kind. A read or a repeated request changes nothing, so its first and last time are enough. The first
 * three changes a minute get rows, which is more than anybody makes by hand.
 */
export function foldRuleOf({ actor, uid, action, object, outcome, tenant }: AuditEntry): FoldRule {
  const kind = `${actor} ${uid ?? ""} ${action} ${outcome}`;
  if (outcome !== "ok" && outcome !== "repeated") return { kind, rows: 3, windowMs: MINUTE_MS };
  const isIdle = outcome === "repeated" || action === "secret.read";
  return {
    // An act on a tenant as a whole has no object.
    kind: `${kind} ${object ?? tenant ?? ""}`,
    ...(isIdle ? { rows: 1, windowMs: HOUR_MS } : { rows: 3, windowMs: MINUTE_MS }),
  };
}

/** Limits the rows for all refused calls of one caller, whatever their kind. */
export const REFUSED_ROWS = { rows: 30, windowMs: MINUTE_MS };
