/** The list of endpoints. */
import { type Standing, standingOf } from "../../domain/endpoints/standing.ts";
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

type Row = Omit<EndpointRow, "tenant"> & StoredStreak & { readonly place: number | null };

/** The streak as it was last written, null in an endpoint that was never tried. */
export interface StoredStreak {
  readonly consecutive_failures: number | null;
  readonly last_success_at: number | null;
  readonly last_failure_at: number | null;
}

/** The states of endpoints that fail, which few do: an index on failures finds them. */
const FAILS: readonly Standing[] = ["failing", "retrying"];

/** `host` is SQL for the host in a URL; `tenant` stands for the query's tenant, and `tenantOf` for the one of a row. */
export interface EndpointDialect<R> {
  readonly host: (url: string) => string;
  readonly tenant: Value | null;
  readonly isOf: (row: R) => boolean;
  readonly tenantOf: (row: R) => string | undefined;
  readonly isDamaged: (row: R) => boolean;
}

export function endpointList<R extends Row>(query: EndpointQuery, dialect: EndpointDialect<R>): List<R> {
  const { order, sort, uid, ids, type } = query;
  const { host, isOf, tenant, tenantOf, isDamaged } = dialect;
  const standings = typeof query.standing === "string" ? [query.standing] : query.standing;
  const stands = (row: R) =>
    standingOf({
      isDamaged: isDamaged(row),
      isEnabled: row.enabled === 1,
      failuresInARow: row.consecutive_failures ?? 0,
      lastSuccessAt: row.last_success_at,
      lastFailureAt: row.last_failure_at,
    });
  const place = sort === undefined || sort === "host" ? null : NUMBERS[sort];
  const match = query.match?.toLowerCase();
  const says = (row: R, text: string) =>
    [row.id, row.url, row.uid, row.description, tenantOf(row)].some(
      (one) => one?.toLowerCase().includes(text) === true,
    );
  return {
    name: sort === undefined ? "endpoints" : `endpoints-by-${sort}`,
    select: `e.*, ${KEYS}, h.consecutive_failures, h.last_success_at, h.last_failure_at, ${place ?? "NULL"} AS place`,
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
      ...(standings?.every((one) => FAILS.includes(one)) === true ? ["h.consecutive_failures > 0"] : []),
    ],
    checks: conditionsOf("endpoints", query, { of: "endpoint", as: "e" }),
    has: (row) =>
      isOf(row) &&
      (ids === undefined || ids.includes(row.id)) &&
      (match === undefined || says(row, match)) &&
      (standings === undefined || standings.includes(stands(row))) &&
      (type === undefined || chooses(stringsOf(row.events) ?? [], type)),
  };
}
