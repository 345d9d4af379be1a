/** Reads attempts: one by its id, or those of an event, a delivery or an endpoint. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import type { Attempt, EndpointAttemptQuery, PageQuery } from "../../store.ts";
import { AttemptsByTime, placeOf, type ListedRow } from "../attempts/attempts-by-time.ts";
import { type Attempts } from "../attempts/attempts.ts";
import type { Deliveries, FoundDelivery } from "../deliveries/deliveries.ts";
import type { FoundEvent } from "../events/events.ts";
import { attemptsOfDelivery, attemptsOfEndpoint, attemptsOfEvent } from "../../lists/attempts.ts";
import { checkOf } from "../../lists/conditions.ts";
import { type Walk, walkOf } from "../engine/page.ts";
import { Statements } from "../engine/statements.ts";
import { beyond, beyondAcross, FAILURES } from "../lists/merged-keys.ts";
import { type Order } from "../lists/sources.ts";
import { ATTEMPTS, JOINED, NUMBER } from "../attempts/attempt-columns.ts";
import type { AttemptRow } from "../../rows/attempt-row.ts";
import { eventId, parseAttemptId } from "../../rows/codes.ts";

type BothWays<Row> = Readonly<Record<Order, Statement<unknown[], Row>>>;
const ALL = { select: "*", from: `${ATTEMPTS} a` };

export class AttemptLists {
  readonly #attempts: Attempts;
  readonly #deliveries: Deliveries;
  readonly #numbered: Statement<[number, number, number], AttemptRow>;
  readonly #statements: Statements;
  readonly #ofEndpoint: BothWays<ListedRow>;
  readonly #failures: BothWays<ListedRow>;
  readonly #times: StoredTimes;

  constructor(db: Database, { attempts, deliveries }: { attempts: Attempts; deliveries: Deliveries }) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    this.#statements = new Statements(db);
    this.#attempts = attempts;
    this.#deliveries = deliveries;
    const bothWays = <Row>(sql: (order: Order, way: string, compare: string) => string): BothWays<Row> => ({
      newest: db.prepare<unknown[], Row>(sql("newest", "DESC", "<")),
      oldest: db.prepare<unknown[], Row>(sql("oldest", "ASC", ">")),
    });
    // An id contains the last bits of the number.
    this.#numbered = db.prepare(
      `SELECT * FROM ${ATTEMPTS} WHERE event = ? AND endpoint = ? AND number & 32767 = ? ORDER BY number DESC LIMIT 1`,
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

  ofEvent({ id, key }: FoundEvent, query: PageQuery): Walk<AttemptRow, Attempt> {
    return walkOf(this.#statements, attemptsOfEvent(ALL, key, query), (row) => this.#attempts.view(id, row));
  }

  ofDelivery({ event: id, row }: FoundDelivery, query: PageQuery): Walk<AttemptRow, Attempt> {
    return walkOf(this.#statements, attemptsOfDelivery(ALL, row, query), (one) => this.#attempts.view(id, one));
  }

  ofEndpoint(endpoint: number, query: EndpointAttemptQuery): Walk<ListedRow, Attempt> {
    const { order } = query;
    const { name, isOfFailures, checks } = attemptsOfEndpoint(endpoint, query);
    const { low, high } = this.#times.now.within(query);
    const byEvent = (isOfFailures ? this.#failures : this.#ofEndpoint)[order];
    const { late } = this.#attempts;
    const found = new AttemptsByTime({
      order,
      low,
      high,
      byEvent: (key, minor, end, limit) => byEvent.all({ endpoint, key, minor, end, limit }),
      late: ([at, event, number], limit) =>
        (isOfFailures ? [true] : [true, false]).flatMap((failed) =>
          late.page(order, failed, { endpoint, at: at!, event: event!, number: number!, limit }),
        ),
    });
    const meets = checkOf(checks);
    const isWanted = (row: ListedRow): row is Extract<ListedRow, AttemptRow> =>
      row.number !== null && row.event > low && row.event < high && meets(row);
    return {
      list: name,
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
