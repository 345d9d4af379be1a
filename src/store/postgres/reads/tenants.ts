/** The list of tenants. */
import type { TenantQuery, TenantSummary } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { ofTenant } from "../statistics/counters.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { type TenantDialect, tenantList, type TenantRow } from "../../lists/tenants.ts";
import { MINUTE_MS } from "../../rows/counts.ts";

type ListedTenant = TenantRow & TenantSummary;

const TENANTS: TenantDialect = { counts: { endpoints: "endpoints", published: "published" }, name: 'name COLLATE "C"' };

export function tenantWalk(queries: Queries, query: TenantQuery): Walk<ListedTenant, TenantSummary> {
  const { tenant, since } = query;
  const list = tenantList<ListedTenant>(
    query,
    TENANTS,
    (place) => (values) =>
      `(SELECT s.*, (${place})::bigint AS place FROM (
       SELECT t.num, t.name,
         (SELECT count(*) FROM endpoint e WHERE e.tenant = t.name AND e.deleted_at IS NULL) AS endpoints,
         (SELECT coalesce(sum((e ->> 1)::bigint), 0)::bigint
          FROM counter c, json_array_elements(c.published::json) e
          WHERE c.subject = '${ofTenant("")}' || t.name AND c.minute >= ${values.add(Math.ceil(since / MINUTE_MS))})
         AS published
       FROM tenant t ${tenant === null ? "" : `WHERE t.name = ${values.add(tenant)}`}) s) t`,
  );
  return walkOf(queries, list, (rows) =>
    rows.map(({ name, endpoints, published }) => ({ name, endpoints, published })),
  );
}
