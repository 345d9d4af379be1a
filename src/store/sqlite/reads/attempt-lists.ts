/** Reads attempts: one by its id, or those of an event, a delivery or an endpoint. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { Attempt, EndpointAttemptQuery, PageQuery } from "../../store.ts";
import { AttemptsByTime, placeOf, type ListedRow } from "../attempts/attempts-by-time.ts";
import { type Attempts } from "../attempts/attempts.ts";
import type { Deliveries, FoundDelivery } from "../deliveries/deliveries.ts";
import type { FoundEvent } from "../events/events.ts";
import type { Walk } from "../engine/page.ts";
import { beyond, beyondAcross, FAILURES } from "../attempts/merged-keys.ts";
import { type Order } from "../attempts/sources.ts";
import { ATTEMPTS, JOINED, NUMBER } from "../attempts/attempt-columns.ts";
import type { AttemptRow } from "../../rows/attempt-row.ts";
import { matches, seeksFailure } from "../../rows/filters.ts";
import { outcomeCode, triggerCode, eventId, parseAttemptId } from "../../rows/codes.ts";

type Statements<Row> = Readonly<Record<Order, Statement<unknown[], Row>>>;
const TEST = triggerCode("test");

export class AttemptLists {
  readonly #attempts: Attempts;
  readonly #deliveries: Deliveries;
  readonly #numbered: Statement<[number, number, number], AttemptRow>;
  readonly #ofEvent: Statements<AttemptRow>;
  readonly #ofDelivery: Statements<AttemptRow>;
  readonly #ofEndpoint: Statements<ListedRow>;
  readonly #failures: Statements<ListedRow>;
  readonly #times: StoredTimes;

  constructor(db: Database, { attempts, deliveries }: { attempts: Attempts; deliveries: Deliveries }) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#attempts = attempts;
    this.#deliveries = deliveries;
    const bothWays = <Row>(sql: (order: Order, way: string, compare: string) => string): Statements<Row> => ({
      newest: db.prepare<unknown[], Row>(sql("newest", "DESC", "<")),
      oldest: db.prepare<unknown[], Row>(sql("oldest", "ASC", ">")),
    });
    // An id contains the last bits of the number.
    this.#numbered = db.prepare(
      `SELECT * FROM ${ATTEMPTS} WHERE event = ? AND endpoint = ? AND number & 32767 = ? ORDER BY number DESC LIMIT 1`,
    );
    this.#ofEvent = bothWays(
      (_, way, compare) =>
        `SELECT * FROM ${ATTEMPTS} WHERE event = @event AND (started_at, endpoint, number) ${compare} (@key, @minor, @last)
         ORDER BY started_at ${way}, endpoint ${way}, number ${way} LIMIT @limit`,
    );
    this.#ofDelivery = bothWays(
      (_, way, compare) =>
        `SELECT * FROM ${ATTEMPTS} WHERE event = @event AND endpoint = @endpoint AND number ${compare} @key
         ORDER BY number ${way} LIMIT @limit`,
    );
    this.#ofEndpoint = bothWays(
      (order, way) =>
        `SELECT ${JOINED}, e.random
         FROM delivery d INDEXED BY delivery_endpoint
         LEFT JOIN attempt a ON a.event = d.event AND a.endpoint = d.endpoint
         JOIN event e ON e.key = d.event
         WHERE d.endpoint = @endpoint AND ${beyondAcross(order, "d.event", NUMBER)}
         ORDER BY d.event ${way}, a.number ${way} LIMIT @limit`,
    );
    this.#failures = bothWays(
      (order, way) =>
        `SELECT a.*, e.random FROM (
           SELECT event, endpoint, number FROM ${FAILURES.from}
           WHERE ${FAILURES.where} AND ${beyond(order, "event", "number")}
           ORDER BY event ${way}, number ${way} LIMIT @limit
         ) s
         CROSS JOIN attempt a ON a.event = s.event AND a.endpoint = s.endpoint AND a.number = s.number
         CROSS JOIN event e ON e.key = s.event
         ORDER BY s.event ${way}, s.number ${way}`,
    );
  }

  get(tenant: string | null, id: string): Attempt | null {
    const parsed = parseAttemptId(id);
    const row = parsed === null ? undefined : this.#numbered.get(parsed.event, parsed.endpoint, parsed.number);
    if (row === undefined) return null;
    const found = this.#deliveries.at(tenant, row.event, row.endpoint);
    const attempt = found === null ? null : this.#attempts.view(found.event, row);
    return attempt?.id === id ? attempt : null;
  }

  ofEvent({ id, key: event }: FoundEvent, { order }: PageQuery): Walk<AttemptRow, Attempt> {
    const statement = this.#ofEvent[order];
    return {
      list: `attempts-${event}`,
      start: Array<number>(3).fill(order === "oldest" ? -1 : Number.MAX_SAFE_INTEGER),
      rows: ([key, minor, last], limit) => statement.all({ event, key, minor, last, limit }),
      keysOf: (row) => [row.started_at, row.endpoint, row.number],
      has: () => true,
      look: (row) => ({ item: this.#attempts.view(id, row), rows: 0 }),
    };
  }

  ofDelivery({ event: id, row: { event, endpoint } }: FoundDelivery, { order }: PageQuery): Walk<AttemptRow, Attempt> {
    const statement = this.#ofDelivery[order];
    return {
      list: `attempts-${event}-${endpoint}`,
      start: [order === "oldest" ? -1 : Number.MAX_SAFE_INTEGER],
      rows: ([key], limit) => statement.all({ event, endpoint, key, limit }),
      keysOf: (row) => [row.number],
      has: () => true,
      look: (row) => ({ item: this.#attempts.view(id, row), rows: 0 }),
    };
  }

  ofEndpoint(endpoint: number, query: EndpointAttemptQuery): Walk<ListedRow, Attempt> {
    const { order, outcome, test } = query;
    const { low, high } = this.#times.now.within(query);
    const failures = seeksFailure(query) || (outcome !== undefined && outcome !== "succeeded");
    const byEvent = (failures ? this.#failures : this.#ofEndpoint)[order];
    const { late } = this.#attempts;
    const found = new AttemptsByTime({
      order,
      low,
      high,
      byEvent: (key, minor, end, limit) => byEvent.all({ endpoint, key, minor, end, limit }),
      late: ([at, event, number], limit) =>
        (failures ? [true] : [true, false]).flatMap((failed) =>
          late.page(order, failed, { endpoint, at: at!, event: event!, number: number!, limit }),
        ),
    });
    const isWanted = (row: ListedRow): row is Extract<ListedRow, AttemptRow> =>
      row.number !== null &&
      row.event > low &&
      row.event < high &&
      (outcome === undefined || row.outcome === outcomeCode(outcome)) &&
      (test === undefined || test === (row.trigger === TEST)) &&
      matches(row, query);
    return {
      list: `attempts-of-${endpoint}-by-time`,
      start: Array<number>(3).fill(order === "oldest" ? -1 : Number.MAX_SAFE_INTEGER),
      rows: (after, limit) => found.beyond(after, limit),
      keysOf: placeOf,
      has: isWanted,
      look: (row) => ({
        item: isWanted(row) ? this.#attempts.view(eventId(row.event, row.random), row) : null,
        rows: 0,
      }),
    };
  }
}
