/** The list of tenants. */
import type { TenantQuery, TenantSummary } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { Values, type Walk } from "../engine/page.ts";

type TenantRow = TenantSummary & { readonly num: number };

export function tenantWalk(queries: Queries, { order, sort, tenant }: TenantQuery): Walk<TenantRow, TenantSummary> {
  const [compare, way] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
  const ends = order === "oldest" ? [-Number.MAX_SAFE_INTEGER, 0] : [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const byEndpoints = sort === "endpoints";
  return {
    list: sort === undefined ? "tenants" : `tenants-by-${sort}`,
    start: byEndpoints ? ends : ends.slice(1),
    rows(after, limit) {
      const values = new Values();
      const num = `${values.add(after.at(-1))}::bigint`;
      const isStart = after.at(-1) === ends[1];
      const last = `SELECT l.name COLLATE "C" FROM tenant l WHERE l.num = ${num}`;
      const beyond = () => {
        if (sort === undefined) return `num ${compare} ${num}`;
        if (byEndpoints) return `(-endpoints, num) ${compare} (${values.add(after[0])}::bigint, ${num})`;
        return isStart ? `${num} IS NOT NULL` : `name COLLATE "C" ${compare} (${last})`;
      };
      const by = sort === undefined ? "" : byEndpoints ? `-endpoints ${way},` : `name COLLATE "C" ${way},`;
      return queries.rows<TenantRow>(
        `SELECT * FROM (
           SELECT t.num, t.name, (SELECT count(*) FROM endpoint e WHERE e.tenant = t.name AND e.deleted_at IS NULL)
             AS endpoints
           FROM tenant t ${tenant === null ? "" : `WHERE t.name = ${values.add(tenant)}`}
         ) s
         WHERE ${beyond()} ORDER BY ${by} num ${way} LIMIT ${values.add(limit)}`,
        values.all,
      );
    },
    keysOf: ({ num, endpoints }) => (byEndpoints ? [-endpoints, num] : [num]),
    look: async (rows) => rows.map(({ name, endpoints }) => ({ name, endpoints })),
  };
}
