/** Finds the deliveries of a job's set, a page at a time, by the narrowest index. */
import { OF_EVENTS } from "../../rows/key-times.ts";
import { StoredTimes } from "../numbers/keys.ts";
import type { Database, Statement } from "better-sqlite3";
import { statusesOf } from "../../../domain/deliveries/job.ts";
import { isMeant } from "../../../domain/deliveries/job-step.ts";
import { leftBecause } from "../../../domain/deliveries/withdrawal.ts";
import { matches } from "../../../domain/events/filter/evaluate.ts";
import { subjectOf } from "../../../domain/events/filter/subject.ts";
import { chosenOf, isPattern } from "../../../domain/events/pattern.ts";
import type { JobSet } from "../../store.ts";
import type { Attempts } from "../attempts/attempts.ts";
import type { DataSearch } from "../lists/data-search.ts";
import type { Labels } from "../lists/labels.ts";
import { type EndpointIndex } from "../numbers/endpoint-index.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { Selected } from "../questions/questions.ts";
import { FAILED, FRESH, WAITING, parseEventId } from "../../rows/codes.ts";
import { FRESH_FROM } from "../numbers/fragments.ts";
import type { Interned } from "../numbers/names.ts";
import { jobDeliveryOf } from "../../rows/shown-status.ts";
import { seeksResult } from "../../lists/filters.ts";

/** One page. `looked` is its cost, in rows. */
export interface Selection {
  readonly selected: readonly Selected[];
  readonly looked: number;
}

interface Row {
  readonly event: number;
  readonly endpoint: number;
  readonly status: number;
  readonly trigger: number;
  readonly due_at: number | null;
  readonly random: string;
  readonly tenant: number;
  readonly type: number;
  readonly test: number;
  readonly erased: number;
}

/** The set, with numbers instead of names. Null stands for any. */
interface Sought {
  readonly set: JobSet;
  readonly tenant: number | null;
  readonly type: number | null;
  readonly endpoint: number | null;
  /** Both keys are exclusive. */
  readonly low: number;
  readonly high: number;
}

interface Parts {
  readonly tenants: Interned;
  readonly types: Interned;
  readonly index: EndpointIndex;
  readonly attempts: Attempts;
  readonly data: DataSearch;
  readonly labels: Labels;
}

type Page = Statement<unknown[], Row>;

/** The events whose data a filter looks at in one step: a large one takes milliseconds, and others wait for the step. */
const FILTERED = 32;

const EVENT = "e.random, e.tenant, e.type, e.test, e.body IS NULL AS erased";
const COLUMNS = `d.event, d.endpoint, d.status, d.trigger, d.due_at, ${EVENT}`;
const FROM_EVENT = "CROSS JOIN event e ON e.key = d.event";
const AFTER = "(d.event, d.endpoint) > (@event, @minor) AND d.event < @high";
const IN_ORDER = `ORDER BY d.event, d.endpoint LIMIT ${CHUNK}`;

export class JobSelection {
  readonly #parts: Parts;
  readonly #ofEvent: Page;
  readonly #failed: Page;
  readonly #failedOf: Page;
  readonly #all: Page;
  readonly #allOf: Page;
  readonly #fresh: Page;
  readonly #waiting: Page;
  readonly #nextEndpoint: Statement<[number], number>;
  readonly #missing: Page;
  readonly #chosen: Statement<[number], string>;
  readonly #storedTypes: Statement<[], string>;
  readonly #times: StoredTimes;

  constructor(db: Database, parts: Parts) {
    this.#times = new StoredTimes(db, OF_EVENTS);
    const page = (sql: string) => db.prepare<unknown[], Row>(sql);
    const walk = (from: string, where: string) =>
      page(`SELECT ${COLUMNS} FROM delivery d ${from} ${FROM_EVENT} WHERE ${where} AND ${AFTER} ${IN_ORDER}`);
    this.#parts = parts;
    this.#ofEvent = page(
      `SELECT ${COLUMNS} FROM delivery d ${FROM_EVENT} WHERE d.event = @event AND d.endpoint > @minor
       ORDER BY d.endpoint LIMIT ${CHUNK}`,
    );
    this.#failed = walk("INDEXED BY delivery_failed", `d.status = ${FAILED}`);
    this.#failedOf = walk("INDEXED BY delivery_endpoint_failed", `d.status = ${FAILED} AND d.endpoint = @endpoint`);
    this.#all = walk("", "TRUE");
    this.#allOf = walk("INDEXED BY delivery_endpoint", "d.endpoint = @endpoint");
    this.#fresh = page(
      `SELECT ${COLUMNS} FROM delivery d ${FROM_EVENT}
       WHERE d.status = ${FRESH} AND (d.event, d.endpoint) > (max(@event, ${FRESH_FROM} - 1), @minor) AND d.event < @high
       ${IN_ORDER}`,
    );
    this.#waiting = page(
      `SELECT ${COLUMNS} FROM delivery d INDEXED BY delivery_waiting ${FROM_EVENT}
       WHERE d.status = ${WAITING} AND d.endpoint = @endpoint AND (d.due_at, d.event) > (@due, @event)
       ORDER BY d.due_at, d.event LIMIT ${CHUNK}`,
    );
    this.#nextEndpoint = db
      .prepare<[number], number>(
        `SELECT endpoint FROM delivery INDEXED BY delivery_waiting WHERE status = ${WAITING} AND endpoint > ?
         ORDER BY endpoint LIMIT 1`,
      )
      .pluck();
    // No row is skipped here, so a page always reads the same number of rows.
    this.#missing = page(
      `SELECT e.key AS event, coalesce(d.status, -1) AS status, ${EVENT}
       FROM event e INDEXED BY event_tenant_type LEFT JOIN delivery d ON d.event = e.key AND d.endpoint = @endpoint
       WHERE e.tenant = @tenant AND e.type = @type AND e.key > @event AND e.key < @high ORDER BY e.key LIMIT @limit`,
    );
    this.#chosen = db
      .prepare<[number], string>(
        "SELECT t.name FROM subscription s JOIN event_type t ON t.num = s.type WHERE s.endpoint = ? ORDER BY s.type",
      )
      .pluck();
    this.#storedTypes = db.prepare<[], string>("SELECT name FROM event_type ORDER BY num").pluck();
  }

  /** Reads each page only when it is requested. A delivery that moves in the meantime may occur twice. */
  *of(set: JobSet): Generator<Selection, void> {
    const sought = this.#resolve(set);
    if (sought === null) return;
    const { action, filter } = set;
    if (filter.missing) return yield* this.#ofMissing(sought);
    if (filter.events !== undefined) return yield* this.#ofEvents(sought, filter.events);
    const statuses = statusesOf(action, filter.status) ?? [];
    if (statuses.includes("failed")) yield* this.#walk(sought, this.#failed, this.#failedOf);
    if (statuses.includes("delivered")) yield* this.#walk(sought, this.#all, this.#allOf);
    if (!statuses.includes("pending") && !statuses.includes("held")) return;
    // Fresh deliveries are being attempted anyway. They may be waiting a moment later, but never the other way round.
    if (action === "cancel") yield* this.#walk(sought, this.#fresh, this.#fresh);
    yield* this.#ofWaiting(sought);
  }

  *#walk(sought: Sought, all: Page, ofEndpoint: Page): Generator<Selection, void> {
    const { endpoint, high } = sought;
    const statement = endpoint === null ? all : ofEndpoint;
    let [event, minor] = [sought.low, Number.MAX_SAFE_INTEGER];
    for (let rows: Row[] = []; ;) {
      rows = statement.all({ event, minor, endpoint, high });
      yield this.#select(sought, rows);
      if (rows.length < CHUNK) return;
      ({ event, endpoint: minor } = rows.at(-1)!);
    }
  }

  *#ofWaiting(sought: Sought): Generator<Selection, void> {
    const { index } = this.#parts;
    let endpoint = sought.endpoint ?? this.#nextEndpoint.get(-1);
    while (endpoint !== undefined) {
      const { enabled, deleted } = index.byNumber(endpoint);
      const statuses = statusesOf(sought.set.action, sought.set.filter.status)!;
      if (!deleted && statuses.includes(enabled ? "pending" : "held")) yield* this.#waitingOf(sought, endpoint);
      else yield { selected: [], looked: 1 };
      endpoint = sought.endpoint === null ? this.#nextEndpoint.get(endpoint) : undefined;
    }
  }

  *#waitingOf(sought: Sought, endpoint: number): Generator<Selection, void> {
    let [due, event] = [-1, -1];
    for (let rows: Row[] = []; ;) {
      rows = this.#waiting.all({ endpoint, due, event });
      yield this.#select(sought, rows);
      if (rows.length < CHUNK) return;
      [due, event] = [rows.at(-1)!.due_at!, rows.at(-1)!.event];
    }
  }

  *#ofEvents(sought: Sought, events: readonly string[]): Generator<Selection, void> {
    for (const id of new Set(events)) {
      const parsed = parseEventId(id);
      if (parsed === null) continue;
      const event = parsed.key;
      let minor = -1;
      for (let rows: Row[] = []; ;) {
        rows = this.#ofEvent.all({ event, minor });
        yield this.#select(
          sought,
          rows.filter(({ random }) => random === parsed.random),
        );
        if (rows.length < CHUNK) break;
        minor = rows.at(-1)!.endpoint;
      }
    }
  }

  *#ofMissing(sought: Sought): Generator<Selection, void> {
    const endpoint = sought.endpoint!;
    const chosen = this.#chosen.all(endpoint);
    // A pattern stands for the types stored so far.
    const names = chosen.some(isPattern) ? chosenOf(chosen, this.#storedTypes.all()) : chosen;
    const types = this.#parts.types.findSome(names);
    for (const type of types)
      if (sought.type === null || sought.type === type) yield* this.#missingOf(type, sought, endpoint);
  }

  *#missingOf(type: number, sought: Sought, endpoint: number): Generator<Selection, void> {
    const { tenant, high } = sought;
    if (tenant === null) return;
    const limit = this.#parts.index.byNumber(endpoint).filter === null ? CHUNK : FILTERED;
    let event = sought.low;
    for (let rows: Row[] = []; ;) {
      rows = this.#missing.all({ endpoint, tenant, type, event, high, limit });
      const missing = rows.filter(
        (row) => row.status === -1 && row.erased === 0 && row.test === 0 && this.#isTaken(row.event, type, endpoint),
      );
      const left = leftBecause(this.#parts.index.byNumber(endpoint));
      const selected = missing.map((row) => ({ event: row.event, endpoint, left }));
      yield { selected, looked: rows.length };
      if (rows.length < limit) return;
      event = rows.at(-1)!.event;
    }
  }

  /** Applies the filter that the endpoint has now. */
  #isTaken(event: number, type: number, endpoint: number): boolean {
    const { index, types, data, labels } = this.#parts;
    const { filter } = index.byNumber(endpoint);
    if (filter === null) return true;
    const bytes = data.data(event);
    return bytes !== null && matches(filter, subjectOf(types.name(type), bytes, labels.of(event).tags));
  }

  #select(sought: Sought, rows: readonly Row[]): Selection {
    const { action, filter } = sought.set;
    const seeks = seeksResult(filter);
    const selected = rows
      .filter((row) => this.#matches(sought, row))
      .map(({ event, endpoint }) => ({
        event,
        endpoint,
        left: action === "cancel" ? null : leftBecause(this.#parts.index.byNumber(endpoint)),
      }));
    return { selected, looked: Math.max(1, seeks ? 2 * rows.length : rows.length) };
  }

  #matches({ set: { action, filter }, tenant, type, endpoint, low, high }: Sought, row: Row): boolean {
    const { attempts, index } = this.#parts;
    return (
      (tenant === null || row.tenant === tenant) &&
      (type === null || row.type === type) &&
      (endpoint === null || row.endpoint === endpoint) &&
      row.event > low &&
      row.event < high &&
      (row.test === 1) === filter.test &&
      isMeant(action, filter.status, jobDeliveryOf(index.byNumber(row.endpoint), row)!, row.erased === 1) &&
      (!seeksResult(filter) || attempts.lastMatches(row.event, row.endpoint, filter))
    );
  }

  /** Returns null if the set names something that never existed. */
  #resolve(set: JobSet): Sought | null {
    const { tenants, types, index } = this.#parts;
    const { filter } = set;
    const tenant = set.tenant === null ? null : tenants.find(set.tenant);
    const type = filter.type === undefined ? null : types.find(filter.type);
    const endpoint = filter.endpoint === undefined ? null : index.byId(filter.endpoint)?.number;
    if (tenant === undefined || type === undefined || endpoint === undefined) return null;
    return { set, tenant, type, endpoint, ...this.#times.now.within(filter) };
  }
}
