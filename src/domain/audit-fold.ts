/** Which calls have a row of the audit log each, and which are counted in one: a caller in a loop must not fill the disk. */
import type { AuditEntry } from "./caller.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Of calls of one kind within so long, so many have rows of their own; the last of these counts the others. */
export interface FoldRule {
  readonly kind: string;
  readonly rows: number;
  readonly windowMs: number;
}

/**
 * A kind is what one caller does to one object, with one outcome. A refused call may name any object, so its kind has
 * none. A read or a repeated request changes nothing: its time is told by the first and the last. Of changes the first
 * three a minute have rows, more than anybody makes by hand.
 */
export function foldRuleOf({ actor, uid, action, object, outcome }: AuditEntry): FoldRule {
  const kind = `${actor} ${uid ?? ""} ${action} ${outcome}`;
  if (outcome !== "ok" && outcome !== "repeated") return { kind, rows: 3, windowMs: MINUTE_MS };
  const isIdle = outcome === "repeated" || action === "secret.read";
  return {
    kind: `${kind} ${object ?? ""}`,
    ...(isIdle ? { rows: 1, windowMs: HOUR_MS } : { rows: 3, windowMs: MINUTE_MS }),
  };
}

/** Refused calls of one caller that have rows, whatever they are. */
export const REFUSED_ROWS = { rows: 30, windowMs: MINUTE_MS };
