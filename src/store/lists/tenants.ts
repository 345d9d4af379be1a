/** The list of tenants. */
import type { SortOf } from "../../domain/lists.ts";
import type { PageQuery, TenantQuery } from "../store.ts";
import type { List } from "./list.ts";

export interface TenantRow {
  readonly num: number;
  readonly name: string;
  readonly place: number | null;
}

/** SQL for the two counts, by which the tenant with the most comes first, and for the name as it sorts. */
export interface TenantDialect {
  readonly counts: Readonly<Record<Exclude<SortOf<"tenants">, "name">, string>>;
  readonly name: string;
}

/** `rows` is SQL for the tenants `t` of the query with `place`, which is `@place` there. */
export function tenantList<Row extends TenantRow>(
  { order, sort }: TenantQuery,
  { counts, name }: TenantDialect,
  rows: (place: string) => List<Row>["from"],
): List<Row> {
  const place = sort === undefined || sort === "name" ? null : counts[sort];
  return {
    name: sort === undefined ? "tenants" : `tenants-by-${sort}`,
    select: "*",
    from: rows(place === null ? "NULL" : `-(${place})`),
    order,
    keys: [...(place === null ? [] : [["place", "place"] as const]), ["num", "num"]],
    ...(sort === "name" && {
      text: { sql: name, ofLast: (num: string) => `SELECT ${name}, l.num FROM tenant l WHERE l.num = ${num}` },
    }),
  };
}

/** A cursor goes on in the same list a minute later, although the events of another hour are counted then. */
export function pageOfTenants(query: TenantQuery): PageQuery {
  const { since: _, ...page } = query;
  return page;
}
