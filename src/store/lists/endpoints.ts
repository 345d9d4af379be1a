/** The list of endpoints. */
import { chooses } from "../../domain/events/pattern.ts";
import { type EndpointRow, stringsOf } from "../rows/endpoint-row.ts";
import { KEYS } from "../rows/signing-key-row.ts";
import type { EndpointQuery, EndpointSort } from "../store.ts";
import { conditionsOf, ofTenant, type Value } from "./conditions.ts";
import type { List } from "./list.ts";

/** SQL over `endpoint e LEFT JOIN health h`. The endpoint with the lowest number comes first. */
const NUMBERS: Readonly<Record<Exclude<EndpointSort, "host">, string>> = {
  failing: "-coalesce(h.consecutive_failures, 0)",
  last_success: "coalesce(h.last_success_at, 0)",
  last_failure: "-coalesce(h.last_failure_at, 0)",
};

type Row = Omit<EndpointRow, "tenant"> & { readonly place: number | null };

/** `host` is SQL for the host in a URL; `tenant` stands for the query's tenant, and `tenantOf` for the one of a row. */
export interface EndpointDialect<R> {
  readonly host: (url: string) => string;
  readonly tenant: Value | null;
  readonly isOf: (row: R) => boolean;
  readonly tenantOf: (row: R) => string | undefined;
}

export function endpointList<R extends Row>(query: EndpointQuery, dialect: EndpointDialect<R>): List<R> {
  const { order, sort, uid, ids, type } = query;
  const { host, isOf, tenant, tenantOf } = dialect;
  const place = sort === undefined || sort === "host" ? null : NUMBERS[sort];
  const match = query.match?.toLowerCase();
  const says = (row: R, text: string) =>
    [row.id, row.url, row.uid, row.description, tenantOf(row)].some(
      (one) => one?.toLowerCase().includes(text) === true,
    );
  return {
    name: sort === undefined ? "endpoints" : `endpoints-by-${sort}`,
    select: `e.*, ${KEYS}, ${place ?? "NULL"} AS place`,
    from: "endpoint e LEFT JOIN health h ON h.endpoint = e.number",
    order,
    keys: [...(place === null ? [] : [[place, "place"] as const]), ["e.number", "number"]],
    ...(sort === "host" && {
      text: {
        sql: host("e.url"),
        ofLast: (number: string) => `SELECT ${host("l.url")}, l.number FROM endpoint l WHERE l.number = ${number}`,
      },
    }),
    where: [
      "e.deleted_at IS NULL",
      ...ofTenant(tenant, "e"),
      ...(uid === undefined ? [] : [{ table: "e", column: "uid", is: uid }]),
    ],
    checks: conditionsOf("endpoints", query, { of: "endpoint", as: "e" }),
    has: (row) =>
      isOf(row) &&
      (ids === undefined || ids.includes(row.id)) &&
      (match === undefined || says(row, match)) &&
      (type === undefined || chooses(stringsOf(row.events) ?? [], type)),
  };
}
