/** Reads of events, deliveries and attempts. */
import type { WhyFacts } from "../../../domain/events/why.ts";
import { dataOf } from "../../../domain/events/event.ts";
import type {
  Attempt,
  AttemptQuery,
  DeliveryQuery,
  DeliveryView,
  EndpointAttemptQuery,
  EventQuery,
  EventSummary,
  EventView,
  Names,
  Page,
  PageQuery,
  ReadStore,
  TenantQuery,
  TenantSummary,
} from "../../store.ts";
import {
  ATTEMPT,
  attemptOf,
  DELIVERY,
  deliveryOf,
  FROM_ATTEMPT,
  FROM_DELIVERY,
  fromKeys,
  lastAttempts,
  nameOf,
  type AttemptRow,
  type DeliveryRow,
} from "./attempts.ts";
import { type Engine } from "../engine/engine.ts";
import { pageOf, Values, walkOf } from "../engine/page.ts";
import { findEvent } from "../events/event-changes.ts";
import { hasMatch, isWanted, ofDelivery, ofEvent } from "./filters.ts";
import { keysOf } from "./sources.ts";
import { EVENT, labelsOf, summaryOf, type EventRow } from "./summaries.ts";
import { searching } from "./data-search.ts";
import { tenantWalk } from "./tenants.ts";
import { whyFacts } from "./why.ts";
import { attemptsOfDelivery, attemptsOfEndpoint, attemptsOfEvent } from "../../lists/attempts.ts";
import type { List } from "../../lists/list.ts";
import { pageOfTenants } from "../../lists/tenants.ts";
import { isOneOf, seeksResult, severalOf } from "../../lists/filters.ts";
import { attemptId, deliveryId, eventId, parseAttemptId, parseDeliveryId, parseEventId } from "../../rows/codes.ts";

/** The number of deliveries shown inside an event. */
const MAX_SHOWN = 100;
/** An attempt id holds the number in three characters. */
const ATTEMPT_NUMBERS = 32 ** 3;

const ATTEMPTS = { select: ATTEMPT, from: FROM_ATTEMPT };

const NOTHING: Page<never> = { data: [], nextCursor: null };

export class PostgresReads implements ReadStore {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async getEvent(tenant: string | null, id: string): Promise<EventView | null> {
    const { database } = this.#engine;
    const found = await findEvent(database, tenant, id);
    if (found === null) return null;
    const [labels, rows, bodies] = await Promise.all([
      labelsOf(database, [found.key]),
      database.rows<DeliveryRow>(`SELECT ${DELIVERY} FROM ${FROM_DELIVERY} WHERE d.event = $1 ORDER BY d.endpoint`, [
        found.key,
      ]),
      database.rows<{ body: Buffer | null }>("SELECT body FROM event WHERE key = $1", [found.key]),
    ]);
    const shown = rows.slice(0, MAX_SHOWN);
    const lasts = await lastAttempts(database, shown);
    const body = bodies[0]?.body ?? null;
    return {
      ...summaryOf(found, rows, labels, this.#engine.keys.times),
      data: body === null ? null : dataOf(body, id, found.type),
      deliveries: shown.map((row) => deliveryOf(row, lasts, this.#engine.keys.times)),
      deliveryCount: rows.length,
    };
  }

  whyFacts(tenant: string | null, event: string, endpoint: string): Promise<WhyFacts | "no_event" | "no_endpoint"> {
    return whyFacts(this.#engine, tenant, event, endpoint);
  }

  async listEvents(query: EventQuery): Promise<Page<EventSummary>> {
    const endpoint = await this.#numberOf(null, query.endpoint);
    if (endpoint === undefined) return NOTHING;
    const { low, high } = this.#engine.keys.times.within(query);
    const [start, end] = query.order === "oldest" ? [low, high] : [high, low];
    const walk = {
      list: "events",
      start: [start],
      rows: ([after]: readonly number[], limit: number) => this.#eventRows(query, endpoint, after!, end, limit),
      keysOf: (row: EventRow) => [row.key],
      look: (rows: readonly EventRow[]) => this.#lookAtEvents(rows, query, endpoint),
      ...searching(this.#engine.database.lists, {
        times: this.#engine.keys.times,
        query,
        end,
        rows: ([after], to) => this.#eventRows(query, endpoint, after!, to, null),
        eventOf: (row: EventRow) => row.key,
      }),
    };
    return pageOf(this.#engine, walk, query);
  }

  async listWholeEvents(query: EventQuery): Promise<Page<EventView>> {
    const page = await this.listEvents(query);
    const whole = await Promise.all(page.data.map(({ tenant, id }) => this.getEvent(tenant, id)));
    // An event may have been removed since the page was read.
    return { ...page, data: whole.filter((event) => event !== null) };
  }

  async getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null> {
    const row = await this.#findDelivery(tenant, id);
    return row === null
      ? null
      : deliveryOf(row, await lastAttempts(this.#engine.database.lists, [row]), this.#engine.keys.times);
  }

  async listDeliveries(query: DeliveryQuery): Promise<Page<DeliveryView>> {
    const endpoint = await this.#numberOf(null, query.endpoint);
    const event = query.event === undefined ? null : parseEventId(query.event);
    if (endpoint === undefined || (query.event !== undefined && event === null)) return NOTHING;
    const { low, high } = this.#engine.keys.times.within(query);
    const [start, end] = query.order === "oldest" ? [[low, Number.MAX_SAFE_INTEGER], high] : [[high, -1], low];
    const rows = ([key, minor]: readonly number[], to: number, limit: number | null) => {
      const values = new Values();
      const [compare, back, direction] = query.order === "oldest" ? [">", "<", "ASC"] : ["<", ">", "DESC"];
      const place = { endpoint, key: key!, minor: minor!, end: to, limit };
      const keys = keysOf("pairs", query, place, values);
      if (keys !== null) {
        const found = `SELECT ${DELIVERY} FROM ${fromKeys(keys)} ORDER BY k.event ${direction}, k.endpoint ${direction}`;
        return this.#engine.database.lists.rows<DeliveryRow>(found, values.all);
      }
      const [from, end] = [`${values.add(key)}::bigint`, `${values.add(to)}::bigint`];
      // Bound both columns, because the walk may follow either.
      const sql = `SELECT ${DELIVERY} FROM ${FROM_DELIVERY}
        WHERE (d.event, d.endpoint) ${compare} (${from}, ${values.add(minor)}::bigint) AND d.event ${back} ${end}
          AND e.key ${compare}= ${from} AND e.key ${back} ${end}
          ${ofEvent("e", query, values)} ${ofDelivery("d", query, endpoint, values)}
          ${event === null ? "" : `AND d.event = ${values.add(event.key)} AND e.random = ${values.add(event.random)}`}
        ORDER BY d.event ${direction}, d.endpoint ${direction} LIMIT ${values.add(limit)}`;
      return this.#engine.database.lists.rows<DeliveryRow>(sql, values.all);
    };
    const walk = {
      list: "deliveries",
      start,
      rows: (after: readonly number[], limit: number) => rows(after, end, limit),
      ...searching(this.#engine.database.lists, {
        times: this.#engine.keys.times,
        query,
        end,
        rows: (after, to) => rows(after, to, null),
        eventOf: (row: DeliveryRow) => row.event,
      }),
      keysOf: (row: DeliveryRow) => [row.event, row.endpoint],
      look: async (rows: readonly DeliveryRow[]) => {
        const lasts = await lastAttempts(this.#engine.database.lists, rows);
        return rows.map((row) =>
          isWanted(row, query, lasts) ? deliveryOf(row, lasts, this.#engine.keys.times) : null,
        );
      },
    };
    return pageOf(this.#engine, walk, query);
  }

  async getAttempt(tenant: string | null, id: string): Promise<Attempt | null> {
    const parsed = parseAttemptId(id);
    if (parsed === null) return null;
    const [row] = await this.#engine.database.lists.rows<AttemptRow & { tenant: string }>(
      `SELECT ${ATTEMPT}, e.tenant FROM ${FROM_ATTEMPT}
       WHERE a.event = $1 AND a.endpoint = $2 AND a.number % ${ATTEMPT_NUMBERS} = $3 ORDER BY a.number DESC LIMIT 1`,
      [parsed.event, parsed.endpoint, parsed.number],
    );
    if (row === undefined || (tenant !== null && row.tenant !== tenant)) return null;
    return attemptId(eventId(row.event, row.random), row.endpoint, row.number) === id ? attemptOf(row) : null;
  }

  async listAttempts(query: AttemptQuery): Promise<Page<Attempt> | null> {
    if ("event" in query) {
      const event = await findEvent(this.#engine.database.lists, query.tenant, query.event);
      return event && this.#attempts(attemptsOfEvent(ATTEMPTS, event.key, query), query);
    }
    const row = await this.#findDelivery(query.tenant, query.delivery);
    return row && this.#attempts(attemptsOfDelivery(ATTEMPTS, row, query), query);
  }

  async listEndpointAttempts(query: EndpointAttemptQuery): Promise<Page<Attempt> | null> {
    const endpoint = await this.#numberOf(query.tenant, query.endpoint);
    if (endpoint === undefined || endpoint === null) return null;
    const { low, high } = this.#engine.keys.times.within(query);
    const { name, isOfFailures, checks } = attemptsOfEndpoint(endpoint, query);
    const keys = (["started_at", "event", "number"] as const).map((column) => [`a.${column}`, column] as const);
    const where = [
      { table: "a", column: "endpoint", is: endpoint },
      `a.event > ${low} AND a.event < ${high}`,
      ...(isOfFailures ? ["a.outcome <> 0"] : []),
    ];
    return this.#attempts({ name, ...ATTEMPTS, order: query.order, keys, where, checks }, query);
  }

  #attempts(list: List<AttemptRow>, query: PageQuery): Promise<Page<Attempt>> {
    return pageOf(
      this.#engine,
      walkOf(this.#engine.database.lists, list, (rows) => rows.map(attemptOf)),
      query,
    );
  }

  async listTenants(query: TenantQuery): Promise<Page<TenantSummary>> {
    return pageOf(this.#engine, tenantWalk(this.#engine.database.lists, query), pageOfTenants(query));
  }

  async unknownName(
    tenant: string | null,
    { tenant: owner, type, endpoint, event }: Names,
  ): Promise<keyof Names | null> {
    const { database } = this.#engine;
    if (owner !== undefined) {
      const known = await database.rows(
        `SELECT 1 FROM tenant WHERE name = $1 UNION ALL (SELECT 1 FROM api_key WHERE tenant = $1 AND portal IS NULL LIMIT 1)`,
        [owner],
      );
      if (known.length === 0) return "tenant";
    }
    if (type !== undefined) {
      const known = await database.rows("SELECT 1 FROM event_type WHERE name = $1", [type]);
      if (known.length === 0) return "type";
    }
    if (endpoint !== undefined && (await this.#numberOf(tenant, endpoint)) === undefined) return "endpoint";
    return event !== undefined && (await findEvent(database, tenant, event)) === null ? "event" : null;
  }

  #eventRows(query: EventQuery, endpoint: number | null, after: number, end: number, limit: number | null) {
    const values = new Values();
    const [compare, back, direction] = query.order === "oldest" ? [">", "<", "ASC"] : ["<", ">", "DESC"];
    const keys = keysOf("events", query, { endpoint, key: after, minor: 0, end, limit }, values);
    if (keys !== null) {
      const sql = `SELECT ${EVENT} FROM ${keys} k
        CROSS JOIN LATERAL (SELECT * FROM event o WHERE o.key = k.event LIMIT 1) e ORDER BY k.event ${direction}`;
      return this.#engine.database.lists.rows<EventRow>(sql, values.all);
    }
    const statuses = severalOf(query.status);
    const seeksDelivery = endpoint !== null || seeksResult(query);
    // An unmatched event has no delivery.
    const unmatched = statuses.includes("unmatched") && !seeksDelivery ? "e.unmatched = 1" : null;
    const needs = seeksDelivery || statuses.some((status) => status !== "unmatched");
    // Add no value that the statement does not name, because the server would not know its type.
    const has = () =>
      `EXISTS (SELECT 1 FROM delivery d WHERE d.event = e.key ${ofDelivery("d", query, endpoint, values)})`;
    const wanted = [unmatched, needs ? has() : null].filter((one) => one !== null);
    const sql = `SELECT ${EVENT} FROM event e
      WHERE e.key ${compare} ${values.add(after)}::bigint AND e.key ${back} ${values.add(end)}::bigint
        ${ofEvent("e", query, values)}
        ${wanted.length === 0 ? "" : `AND (${wanted.join(" OR ")})`}
      ORDER BY e.key ${direction} LIMIT ${values.add(limit)}`;
    return this.#engine.database.lists.rows<EventRow>(sql, values.all);
  }

  async #lookAtEvents(rows: readonly EventRow[], query: EventQuery, endpoint: number | null) {
    const { database } = this.#engine;
    const keys = rows.map(({ key }) => key);
    const [labels, deliveries] = await Promise.all([
      labelsOf(database, keys),
      database.rows<DeliveryRow>(
        `SELECT ${DELIVERY} FROM ${FROM_DELIVERY}
         WHERE d.event = ANY($1::bigint[]) AND ($2::integer IS NULL OR d.endpoint = $2)`,
        [keys, endpoint],
      ),
    ]);
    const byEvent = Map.groupBy(deliveries, ({ event }) => event);
    const lasts = seeksResult(query) ? await lastAttempts(database, deliveries) : null;
    return rows.map((row) => {
      const own = byEvent.get(row.key) ?? [];
      const summary = summaryOf(row, own, labels, this.#engine.keys.times);
      if (query.status !== undefined && !isOneOf(summary.status, query.status)) return null;
      const hasResult = (lasts_: ReadonlyMap<string, AttemptRow>) =>
        own.some((delivery) => hasMatch(lasts_.get(nameOf(delivery)), query));
      return lasts === null || hasResult(lasts) ? summary : null;
    });
  }

  async #findDelivery(tenant: string | null, id: string): Promise<DeliveryRow | null> {
    const parsed = parseDeliveryId(id);
    if (parsed === null) return null;
    const [row] = await this.#engine.database.lists.rows<DeliveryRow>(
      `SELECT ${DELIVERY} FROM ${FROM_DELIVERY} WHERE d.event = $1 AND d.endpoint = $2`,
      [parsed.event, parsed.endpoint],
    );
    if (row === undefined || (tenant !== null && row.tenant !== tenant)) return null;
    return deliveryId(eventId(row.event, row.random), row.endpoint) === id ? row : null;
  }

  /** Returns null if no endpoint is named, and undefined if the tenant never had such an endpoint. */
  async #numberOf(tenant: string | null, id: string | undefined): Promise<number | null | undefined> {
    if (id === undefined) return null;
    const [row] = await this.#engine.database.lists.rows<{ number: number }>(
      "SELECT number FROM endpoint WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)",
      [id, tenant],
    );
    return row?.number;
  }
}
