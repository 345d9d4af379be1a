/** The lists of API keys and of the audit log. */
import type { AuditEntry, AuditRecord } from "../../domain/caller.ts";
import type { KeyTimes } from "../rows/key-times.ts";
import type { KeyRow } from "../rows/key-row.ts";
import type { AuditQuery, KeyQuery } from "../store.ts";
import { conditionsOf, ofTenant } from "./conditions.ts";
import { between, type List } from "./list.ts";

export function keyList({ tenant, order, portal }: KeyQuery): List<KeyRow> {
  return {
    name: "keys",
    select: "*",
    from: "api_key",
    order,
    keys: [["number", "number"]],
    where: ofTenant(tenant),
    has: (row) => portal === undefined || portal === (row.portal !== null),
  };
}

export interface AuditRow {
  readonly key: number;
  readonly actor: string;
  readonly uid: number | null;
  readonly user: string | null;
  readonly tenant: string;
  readonly action: AuditRecord["action"];
  readonly object: string | null;
  readonly request: string;
  readonly outcome: AuditEntry["outcome"];
  readonly count: number;
  readonly last_at: number | null;
}

export function auditList(query: AuditQuery, times: KeyTimes): List<AuditRow> {
  const { tenant, order } = query;
  return {
    name: "audit",
    select: "*",
    from: "audit",
    order,
    keys: [["key", "key"]],
    ...between(order, times.within(query)),
    where: ofTenant(tenant),
    checks: conditionsOf("audit", query, { of: "audit" }),
  };
}

export function recordOf(
  { key, request: requestId, last_at: lastAt, ...rest }: AuditRow,
  times: KeyTimes,
): AuditRecord {
  const at = times.madeAt(key);
  return { ...rest, at, lastAt: lastAt ?? at, requestId };
}
