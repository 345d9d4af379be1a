/**
 * Finds deliveries of a list that were not delivered in indexes that contain nothing else, in the order of events for
 * each endpoint. None of these indexes contains a plain success.
 */
import type { DeliveryQuery, EventQuery } from "../../store.ts";
import type { Values } from "../engine/page.ts";
import { ofEvent, ofResult } from "./filters.ts";
import { seeksLabel } from "../../rows/labels.ts";
import { seeksFailure, severalOf } from "../../lists/filters.ts";
import { CANCELLED, DELIVERED, FAILED, FRESH, SHADOWED, triggerCode, WAITING } from "../../rows/codes.ts";

/** The rows of a list: deliveries, or events. */
export type Of = "pairs" | "events";

export interface Place {
  /** Null means any endpoint. */
  readonly endpoint: number | null;
  /** The rows after `key`, or deliveries after `(key, minor)`, and before the event `end`. */
  readonly key: number;
  readonly minor: number;
  readonly end: number;
  /** Null means no limit. */
  readonly limit: number | null;
}

interface Source {
  /** The statements before it, with `own`: each endpoint, and the part of the index that is read for it. */
  readonly own: string;
  readonly columns: readonly string[];
  /** SQL for the rows `r` of one row `o` of `own`, in the order of their events. */
  readonly from: string;
}

const UNDELIVERED = [WAITING, FAILED, CANCELLED, SHADOWED];
const TEST = triggerCode("test");
/** Keeps a condition from becoming a join, which the planner might begin at its other end. */
const ALONE = "OFFSET 0";

/**
 * Conditions for each shown status, on a stored status `s.status` and an endpoint `p`. For some statuses, each row
 * decides alone.
 */
const SHOWN: Readonly<Record<string, { readonly stored: readonly number[]; readonly where: string }>> = {
  pending: { stored: [FRESH, WAITING], where: "p.enabled = 1 AND p.deleted_at IS NULL" },
  held: { stored: [FRESH, WAITING], where: "p.enabled = 0 AND p.deleted_at IS NULL" },
  failed: { stored: [FAILED], where: "TRUE" },
  cancelled: { stored: [FRESH, WAITING], where: "(p.deleted_at IS NOT NULL OR p.cancel_to IS NOT NULL)" },
  delivered: { stored: [DELIVERED], where: "TRUE" },
  shadowed: { stored: [SHADOWED], where: "TRUE" },
};

/**
 * SQL for at most `limit` rows `event, endpoint`, or each `event` once, in the order of the list. Null if no such index
 * contains all rows sought.
 */
export function keysOf(of: Of, query: EventQuery | DeliveryQuery, place: Place, values: Values): string | null {
  const statuses = severalOf<string>(query.status);
  const isElse = query.data !== undefined || query.test === true || "event" in query || seeksLabel(query);
  const isAnywhere = !seeksFailure(query) && (statuses.length === 0 || statuses.includes("delivered"));
  if (isElse || (isAnywhere && place.endpoint === null)) return null;
  // One index has the rows of all endpoints.
  const isOne = /^(failed|unmatched)$/.test(statuses.join()) && !seeksFailure(query);
  if (isOne && query.tenant === null && place.endpoint === null) return null;
  return new Keys(of, query, place, values).sql();
}

class Keys {
  readonly #of: Of;
  readonly #query: EventQuery | DeliveryQuery;
  readonly #values: Values;
  readonly #statuses: readonly string[];
  readonly #oldest: boolean;
  readonly #direction: "ASC" | "DESC";
  readonly #key: string;
  readonly #minor: string | null;
  readonly #end: string;
  readonly #limit: string;
  /** Conditions on `p` that select the endpoints. */
  readonly #whose: string;
  readonly #isAll: boolean;
  /** True if a single delivery must meet all conditions. */
  readonly #isOfOne: boolean;
  /** Conditions on the event, with the table that they need. */
  readonly #event: (key: string) => string;

  constructor(of: Of, query: EventQuery | DeliveryQuery, place: Place, values: Values) {
    this.#of = of;
    this.#query = query;
    this.#values = values;
    this.#statuses = severalOf<string>(query.status);
    this.#oldest = query.order === "oldest";
    this.#direction = this.#oldest ? "ASC" : "DESC";
    this.#key = `${values.add(place.key)}::bigint`;
    this.#minor = of === "events" ? null : `${values.add(place.minor)}::bigint`;
    this.#end = `${values.add(place.end)}::bigint`;
    this.#limit = `${values.add(place.limit)}::bigint`;
    const { endpoint } = place;
    const { tenant, type, test } = query;
    this.#isOfOne = of === "pairs" || endpoint !== null;
    this.#isAll = tenant === null && endpoint === null;
    this.#whose = [
      tenant === null ? "TRUE" : `p.tenant = ${values.add(tenant)}`,
      ...(endpoint === null ? [] : [`p.number = ${values.add(endpoint)}::integer`]),
    ].join(" AND ");
    const conditions = ofEvent("e", { tenant: null, type, test }, values);
    this.#event = (key) =>
      conditions === "" ? "" : ` AND EXISTS (SELECT 1 FROM event e WHERE e.key = ${key} ${conditions} ${ALONE})`;
  }

  sql(): string {
    const arms: string[] = [];
    const isOf = (some: string) => this.#statuses.includes(some);
    const failure = seeksFailure(this.#query);
    // Few of the deliveries that ever failed are waiting or cancelled.
    const isStated = this.#statuses.length > 0 && !isOf("delivered");
    const isOpen = isStated && !isOf("failed");
    const source = failure && !isOpen ? this.#results() : isStated ? this.#states() : this.#endpoint();
    const isUnmatched = this.#of === "events" && isOf("unmatched") && !failure && !this.#isOfOne;
    const isFresh = isStated && (!failure || (isOpen && this.#of === "events"));
    if (isFresh && (isOf("pending") || isOf("held") || isOf("cancelled"))) arms.push(this.#fresh());
    if (isUnmatched) arms.push(this.#unmatched());
    const names = source.columns.join();
    const [edgeOf, compare, less] = this.#oldest ? ["max", "<=", ">"] : ["min", ">=", "<"];
    const ordered = `ORDER BY r.event ${this.#direction}`;
    const keys = this.#of === "events" ? "event" : "event, number AS endpoint";
    const distinct = this.#of === "events" ? "DISTINCT" : "";
    // Reads some rows of each endpoint. For endpoints that have more, reads the others that come before the last wanted
    // row.
    return `(
      WITH RECURSIVE ${source.own},
      few AS MATERIALIZED (SELECT ceil(${this.#limit} / greatest(count(*), 1)::numeric)::bigint + 1 AS few FROM own),
      first AS MATERIALIZED (
        SELECT ${names}, f.event FROM own o CROSS JOIN LATERAL (
          SELECT r.event ${source.from} AND ${this.#beyond("r.event", "o.number")}
          ${ordered} LIMIT (SELECT few FROM few)) f),
      edge AS MATERIALIZED (
        SELECT event FROM (SELECT ${distinct} event FROM first) s ORDER BY event ${this.#direction} OFFSET ${this.#limit} - 1 LIMIT 1),
      more AS MATERIALIZED (
        SELECT ${names}, ${edgeOf}(event) AS event FROM first GROUP BY ${names} HAVING count(*) = (SELECT few FROM few)),
      keys AS (
        SELECT ${keys} FROM first
        UNION ALL
        SELECT f.event${this.#of === "events" ? "" : ", o.number"} FROM more o CROSS JOIN LATERAL (
          SELECT r.event ${source.from} AND r.event ${less} o.event AND ${this.#before("r.event")}
            AND r.event ${compare} coalesce((SELECT event FROM edge), ${this.#end})
          ${ordered} LIMIT ${this.#limit}) f
        ${arms.map((arm) => `UNION ALL (${arm})`).join("\n")})
      SELECT ${distinct} ${this.#of === "events" ? "event" : "event, endpoint"} FROM keys
      ORDER BY event ${this.#direction}${this.#of === "events" ? "" : `, endpoint ${this.#direction}`} LIMIT ${this.#limit})`;
  }

  /** Uses one bound on each side, where the index scan begins and ends. */
  #beyond(event: string, number: string): string {
    const [compare, sign, over] = this.#oldest ? [">", "+", "<="] : ["<", "-", ">="];
    const before = this.#before(event);
    if (this.#minor === null) return `${event} ${compare} ${this.#key} AND ${before}`;
    return `${event} ${compare}= ${this.#key} ${sign} (${number} ${over} ${this.#minor})::integer AND ${before}`;
  }

  #before(event: string): string {
    return `${event} ${this.#oldest ? "<" : ">"} ${this.#end}`;
  }

  /** Waiting, failed, cancelled or shadowed deliveries. */
  #states(): Source {
    const wanted = this.#shown("s.status", [["cancelled", CANCELLED]]);
    const some = UNDELIVERED.join();
    const own = this.#isAll
      ? `hop (number, status) AS (
           SELECT -1, 0
           UNION ALL
           SELECT n.endpoint, n.status FROM hop h CROSS JOIN LATERAL (
             SELECT d.endpoint, d.status::integer FROM delivery d
             WHERE d.status IN (${some}) AND (d.endpoint, d.status) > (h.number, h.status)
             ORDER BY d.endpoint, d.status LIMIT 1) n),
         own AS MATERIALIZED (
           SELECT s.number, s.status FROM hop s JOIN endpoint p ON p.number = s.number WHERE (${wanted}))`
      : `own AS MATERIALIZED (
           SELECT p.number, s.status FROM endpoint p
           CROSS JOIN (VALUES (${UNDELIVERED.join("), (")})) s (status) WHERE ${this.#whose} AND (${wanted}))`;
    return {
      own,
      columns: ["number", "status"],
      from: `FROM delivery r WHERE r.endpoint = o.number AND r.status = o.status AND r.status IN (${some})
        ${this.#result("r")} ${this.#event("r.event")}`,
    };
  }

  /** All deliveries of one endpoint. */
  #endpoint(): Source {
    const stored = this.#statuses.flatMap((name) => [
      ...(SHOWN[name]?.stored ?? []),
      ...(name === "cancelled" ? [CANCELLED] : []),
    ]);
    return {
      own: `own AS MATERIALIZED (SELECT p.number FROM endpoint p WHERE ${this.#whose})`,
      columns: ["number"],
      from: `FROM delivery r WHERE r.endpoint = o.number
        ${stored.length === 0 ? "" : `AND r.status IN (${stored.join()})`} ${this.#event("r.event")}`,
    };
  }

  /** Deliveries by the result of their last attempt. */
  #results(): Source {
    const code = "coalesce(a.status_code, 0)";
    const { error, statusCode } = this.#query;
    const values = this.#values;
    const sought = [
      error === undefined ? "" : ` AND h.error = ANY(${values.add(severalOf(error))}::text[])`,
      statusCode === undefined
        ? ""
        : ` AND h.code BETWEEN ${values.add(statusCode.least)}::integer AND ${values.add(statusCode.most)}::integer`,
    ].join("");
    const [from, place, columns] = this.#isAll
      ? ["SELECT -1, ''::text, -1", "(h.number, h.error, h.code)", `(a.endpoint, a.error, ${code})`]
      : [
          `SELECT p.number, ''::text, -1 FROM endpoint p WHERE ${this.#whose}`,
          "(h.error, h.code)",
          `(a.error, ${code})`,
        ];
    const isSome = this.#of === "pairs" && this.#statuses.length > 0;
    const endpoints = this.#statuses.map((status) =>
      status === "cancelled" ? "TRUE" : (SHOWN[status]?.where ?? "FALSE"),
    );
    return {
      own: `hop (number, error, code) AS (
          ${from}
          UNION ALL
          SELECT n.endpoint, n.error, n.code FROM hop h CROSS JOIN LATERAL (
            SELECT a.endpoint, a.error, ${code} AS code FROM attempt a
            WHERE a.outcome <> 0 ${this.#isAll ? "" : "AND a.endpoint = h.number"} AND ${columns} > ${place}
            ORDER BY ${this.#isAll ? "a.endpoint, " : ""}a.error, ${code} LIMIT 1) n),
        own AS MATERIALIZED (
          SELECT h.number, h.error, h.code FROM hop h JOIN endpoint p ON p.number = h.number
          WHERE h.code >= 0 ${sought} ${isSome ? `AND (${endpoints.join(" OR ")})` : ""})`,
      columns: ["number", "error", "code"],
      from: `FROM attempt r WHERE r.outcome <> 0 AND r.endpoint = o.number AND r.error = o.error
        AND coalesce(r.status_code, 0) = o.code
        AND NOT EXISTS (
          SELECT 1 FROM attempt l WHERE l.event = r.event AND l.endpoint = r.endpoint AND l.number > r.number ${ALONE})
        ${this.#statuses.length === 0 ? "" : this.#ofStatus()} ${this.#event("r.event")}`,
    };
  }

  /** Tests the last attempt of the delivery, or, for an event, of any of its deliveries. */
  #result(d: string): string {
    if (!seeksFailure(this.#query)) return "";
    const last = (of: string) => `(
      SELECT a.outcome <> 0 ${ofResult("a", this.#query, this.#values)} FROM attempt a
      WHERE a.event = ${of}.event AND a.endpoint = ${of}.endpoint ORDER BY a.number DESC LIMIT 1)`;
    if (this.#isOfOne) return `AND ${last(d)}`;
    return `AND EXISTS (SELECT 1 FROM delivery x WHERE x.event = ${d}.event AND ${last("x")} ${ALONE})`;
  }

  /** Tests for an event whether any of its deliveries has the status. */
  #ofStatus(): string {
    const wanted = this.#shown("s.status", [["cancelled", CANCELLED]]);
    const same = this.#isOfOne ? "AND s.endpoint = r.endpoint" : "";
    return `AND EXISTS (
      SELECT 1 FROM delivery s JOIN endpoint p ON p.number = s.endpoint WHERE s.event = r.event ${same} AND (${wanted}) ${ALONE})`;
  }

  #shown(status: string, more: readonly (readonly [string, number])[]): string {
    const all = this.#statuses.flatMap((name) => {
      const known = SHOWN[name];
      const own = known === undefined ? [] : [`${status} IN (${known.stored.join()}) AND ${known.where}`];
      return [...own, ...more.filter(([of]) => of === name).map(([, stored]) => `${status} = ${stored}`)];
    });
    return all.length === 0 ? "FALSE" : all.join(" OR ");
  }

  /** Deliveries that were never attempted: as many as nodes have in memory, all in one index. */
  #fresh(): string {
    const wanted = this.#statuses.flatMap((name) => (name === "pending" ? "TRUE" : (SHOWN[name]?.where ?? [])));
    const numbers = `SELECT p.number FROM endpoint p WHERE ${this.#whose} AND (${wanted.join(" OR ")})`;
    const only = this.#isAll && wanted.includes("TRUE") ? "" : `AND f.endpoint = ANY(ARRAY(${numbers}))`;
    const isPending = !this.#statuses.includes("held") && !this.#statuses.includes("cancelled");
    const enabled = isPending
      ? `AND (f.trigger = ${TEST} OR EXISTS (SELECT 1 FROM endpoint p WHERE p.number = f.endpoint AND p.enabled = 1))`
      : "";
    const order =
      this.#of === "events"
        ? `f.event ${this.#direction}`
        : `f.event ${this.#direction}, f.endpoint ${this.#direction}`;
    const columns = this.#of === "events" ? "DISTINCT f.event" : "f.event, f.endpoint";
    const [place, from] =
      this.#minor === null ? ["f.event", this.#key] : ["(f.event, f.endpoint)", `(${this.#key}, ${this.#minor})`];
    const beyond = `${place} ${this.#oldest ? ">" : "<"} ${from}`;
    return `SELECT ${columns} FROM delivery f WHERE f.status = ${FRESH} ${only}
      AND ${beyond} AND ${this.#before("f.event")} ${enabled} ${this.#result("f")} ${this.#event("f.event")} ORDER BY ${order} LIMIT ${this.#limit}`;
  }

  #unmatched(): string {
    const { tenant, type, test } = this.#query;
    return `SELECT e.key FROM event e WHERE e.unmatched = 1 AND ${this.#beyond("e.key", "")}
      ${ofEvent("e", { tenant, type, test }, this.#values)} ORDER BY e.key ${this.#direction} LIMIT ${this.#limit}`;
  }
}
