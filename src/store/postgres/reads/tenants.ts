/** The list of tenants. */
import type { TenantQuery, TenantSummary } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { ofTenant } from "../statistics/counters.ts";
import { Values, type Walk } from "../engine/page.ts";
import { MINUTE_MS } from "../../rows/counts.ts";

type TenantRow = TenantSummary & { readonly num: number };

export function tenantWalk(
  queries: Queries,
  { order, sort, tenant, since }: TenantQuery,
): Walk<TenantRow, TenantSummary> {
  const [compare, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
  const ends = order === "oldest" ? [-Number.MAX_SAFE_INTEGER, 0] : [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const place = sort === "endpoints" || sort === "published" ? sort : null;
  return {
    list: sort === undefined ? "tenants" : `tenants-by-${sort}`,
    start: place !== null ? ends : ends.slice(1),
    rows(after, limit) {
      const values = new Values();
      const num = `${values.add(after.at(-1))}::bigint`;
      const isStart = after.at(-1) === ends[1];
      const last = `SELECT l.name COLLATE "C" FROM tenant l WHERE l.num = ${num}`;
      const beyond = () => {
        if (sort === undefined) return `num ${compare} ${num}`;
        if (place !== null) return `(-${place}, num) ${compare} (${values.add(after[0])}::bigint, ${num})`;
        return isStart ? `${num} IS NOT NULL` : `name COLLATE "C" ${compare} (${last})`;
      };
      const by =
        sort === undefined ? "" : place !== null ? `-${place} ${direction},` : `name COLLATE "C" ${direction},`;
      return queries.rows<TenantRow>(
        `SELECT * FROM (
           SELECT t.num, t.name, (SELECT count(*) FROM endpoint e WHERE e.tenant = t.name AND e.deleted_at IS NULL)
             AS endpoints,
             (SELECT coalesce(sum((e ->> 1)::bigint), 0)::bigint
              FROM counter c, json_array_elements(c.published::json) e
              WHERE c.subject = '${ofTenant("")}' || t.name AND c.minute >= ${values.add(Math.ceil(since / MINUTE_MS))})
             AS published
           FROM tenant t ${tenant === null ? "" : `WHERE t.name = ${values.add(tenant)}`}
         ) s
         WHERE ${beyond()} ORDER BY ${by} num ${direction} LIMIT ${values.add(limit)}`,
        values.all,
      );
    },
    keysOf: ({ num, ...row }) => (place !== null ? [-row[place], num] : [num]),
    look: async (rows) => rows.map(({ name, endpoints, published }) => ({ name, endpoints, published })),
  };
}
