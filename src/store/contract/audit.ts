/** The audit trail. */
import type { AuditAction, AuditEntry, AuditRecord } from "../../domain/audit.ts";
import type { Page, PageQuery, Period } from "./lists.ts";

export interface AuditStore {
  /** A tenant left open becomes that of the object, if it is or was in the store, else `*`. */
  add(entry: AuditEntry, now: number): Promise<void>;
  /** In the order in which they were written down. A tenant's page leaves out those of `*`. */
  list(query: AuditQuery): Promise<Page<AuditRecord>>;
  /** Removes at most 500 of the entries from before that instant, oldest first; how many. Fewer: there are no more. */
  prune(before: number): Promise<number>;
}

export interface AuditQuery extends PageQuery, Period {
  readonly action?: AuditAction;
}
