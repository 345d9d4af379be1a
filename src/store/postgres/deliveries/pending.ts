/**
 * Counts the pending deliveries of each tenant, for `[limits] max_pending_per_tenant` and `[tenants.NAME] max_pending`.
 * The counters change in the transactions of the rows that they count, so a publish need not count the backlog. Each
 * node has a row for each tenant, so that nodes do not wait for each other's commits. The sum of the rows is the count.
 */
import type { Queries } from "../engine/database.ts";
import { FRESH, WAITING } from "../../rows/codes.ts";

/** The number of deliveries that became pending, less those that no longer are, by tenant. */
export type PendingChanges = ReadonlyMap<string, number>;

export class Pending {
  readonly #node: number;

  constructor(node: number) {
    this.#node = node;
  }

  /**
   * Call it inside the transaction that changes the deliveries. Nearly every commit sends this statement, so it joins
   * nothing.
   */
  async change(tx: Queries, changes: PendingChanges): Promise<void> {
    const some = [...changes].filter(([, by]) => by !== 0);
    if (some.length === 0) return;
    await tx.change(
      `INSERT INTO tenant_pending (tenant, node, deliveries)
       SELECT unnest($2::text[]), $1::smallint, unnest($3::bigint[])
       ON CONFLICT (tenant, node) DO UPDATE SET deliveries = tenant_pending.deliveries + excluded.deliveries`,
      [this.#node, some.map(([tenant]) => tenant), some.map(([, by]) => by)],
    );
  }

  async of(queries: Queries, tenants: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (tenants.length === 0) return new Map();
    const rows = await queries.rows<{ tenant: string; deliveries: number }>(
      `SELECT tenant, sum(deliveries)::bigint AS deliveries FROM tenant_pending
       WHERE tenant = ANY($1::text[]) GROUP BY tenant`,
      [tenants],
    );
    return new Map(rows.map(({ tenant, deliveries }) => [tenant, deliveries]));
  }

  /** Returns the tenants whose counters are wrong. Reads the index of all pending deliveries. */
  async wrong(queries: Queries): Promise<readonly string[]> {
    return (await queries.rows<{ tenant: string }>(OFF)).map(({ tenant }) => tenant);
  }

  /** Call it inside a transaction. Changes that others commit meanwhile are added to the corrected values. */
  async mend(tx: Queries): Promise<void> {
    // Two nodes that correct the same counters at the same time would correct them twice.
    await tx.rows("SELECT 1 FROM meta WHERE name = 'schema' FOR UPDATE");
    await tx.change(
      `INSERT INTO tenant_pending (tenant, node, deliveries) SELECT tenant, $1::smallint, missing FROM (${OFF}) o
       ON CONFLICT (tenant, node) DO UPDATE SET deliveries = tenant_pending.deliveries + excluded.deliveries`,
      [this.#node],
    );
  }
}

/** Counts `by` for each delivery, under its tenant. */
export function pendingOfEach(deliveries: Iterable<{ readonly tenant: string }>, by: 1 | -1): PendingChanges {
  const changes = new Map<string, number>();
  for (const { tenant } of deliveries) countIn(changes, tenant, by);
  return changes;
}

export function countIn(changes: Map<string, number>, tenant: string, by: number): void {
  changes.set(tenant, (changes.get(tenant) ?? 0) + by);
}

/** One statement sees the rows and the counters at the same moment, so any difference is a bug. */
const OFF = `
  SELECT tenant, sum(n)::bigint AS missing FROM (
    SELECT e.tenant, d.n FROM (
      SELECT endpoint, count(*) AS n FROM delivery WHERE status = ${WAITING} GROUP BY endpoint
      UNION ALL
      SELECT endpoint, count(*) FROM delivery WHERE status = ${FRESH} GROUP BY endpoint
    ) d JOIN endpoint e ON e.number = d.endpoint
    UNION ALL
    SELECT tenant, -deliveries FROM tenant_pending
  ) c GROUP BY tenant HAVING sum(n) <> 0`;
