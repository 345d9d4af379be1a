/** Rows of the file, read and written as they are in PostgreSQL: with names in place of numbers. */
import type { Database, Statement } from "better-sqlite3";
import { COLUMNS, FIRST, KEPT_FIRST } from "../sqlite/attempts/attempt-row.ts";
import { LateAttempts } from "../sqlite/attempts/attempts-by-time.ts";
import { DELIVERED, Interned, isPrompt, WAITING } from "../sqlite/numbers/codes.ts";
import type { Page, Place, Row, Table, Value } from "./tables.ts";

const PAGE = 10_000;
const PAGE_BYTES = 8 * 1024 * 1024;

export class FileRows {
  readonly #db: Database;
  readonly #names: Readonly<Record<"tenant" | "event_type" | "url", Interned>>;
  readonly #selects = new Map<string, Statement<unknown[], Value[]>>();
  readonly #writers = new Map<string, (row: Row) => void>();
  readonly #late: LateAttempts;

  constructor(db: Database) {
    this.#db = db;
    this.#names = {
      tenant: new Interned(db, "tenant"),
      event_type: new Interned(db, "event_type"),
      url: new Interned(db, "url"),
    };
    this.#late = new LateAttempts(db);
  }

  page(table: Table, after: Place | null): Page {
    const width = table.columns.length;
    const body = table.columns.indexOf("body");
    const shown = this.#shown(table);
    const rows: Row[] = [];
    let bytes = 0;
    for (const row of this.#select(table, after !== null).iterate(...placeIn(table, after))) {
      bytes += body === -1 ? 0 : ((row[body] as Uint8Array | null)?.length ?? 0);
      const place = row.splice(width);
      rows.push(shown(row));
      if (rows.length === PAGE || bytes >= PAGE_BYTES) return { rows, next: place };
    }
    return { rows, next: null };
  }

  /** Inside a transaction. */
  writer(table: Table): (row: Row) => void {
    const { name } = table;
    let write = this.#writers.get(name);
    if (write === undefined) this.#writers.set(name, (write = this.#writerOf(table)));
    return write;
  }

  #select(table: Table, isFurther: boolean): Statement<unknown[], Value[]> {
    const name = `${table.name} ${isFurther}`;
    let select = this.#selects.get(name);
    if (select === undefined) {
      select = this.#db.prepare<unknown[], Value[]>(selectOf(table, isFurther)).raw();
      this.#selects.set(name, select);
    }
    return select;
  }

  /** The names that numbers stand for, in their places. */
  #shown({ columns, name, names }: Table): (row: Value[]) => Row {
    if (name === "counter") return ([subject, ...rest]) => [this.#subjectName(Number(subject)), ...rest];
    const places = Object.entries(names).map(([column, kind]) => [columns.indexOf(column), this.#names[kind]] as const);
    return (row) => {
      for (const [at, of] of places) row[at] = of.name(Number(row[at]));
      return row;
    };
  }

  #writerOf(table: Table): (row: Row) => void {
    const { columns, name, names } = table;
    const list = columns.map((column) => `"${column}"`).join();
    const insert = this.#db.prepare(`INSERT INTO ${name} (${list}) VALUES (${columns.map(() => "?").join()})`);
    if (name === "attempt") return (row) => this.#writeAttempt(insert, row);
    if (name === "counter") {
      return ([subject, ...rest]) => void insert.run(this.#subjectNumber(String(subject)), ...rest);
    }
    const places = Object.entries(names).map(([column, kind]) => [columns.indexOf(column), this.#names[kind]] as const);
    return (row) => {
      const stored = [...row];
      for (const [at, of] of places) stored[at] = of.number(String(row[at]));
      insert.run(stored);
    };
  }

  /** A plain first success belongs into the row of its delivery. */
  #writeAttempt(insert: Statement, row: Row): void {
    const [event, endpoint, number, url, trigger, round, retry, startedAt, durationMs, outcome] = row as number[];
    const [statusCode, error, bodyError, secretVersion, truncated, body, details, way] = row.slice(10);
    const urlNumber = this.#names.url.number(String(url));
    const isFirst = number === 1 && round === 1 && retry === 0 && trigger === 0 && outcome === 0;
    if (isFirst && (error ?? bodyError ?? details) === null && isPrompt(event!, startedAt!)) {
      const values = [urlNumber, startedAt, durationMs, statusCode, secretVersion, truncated, body, way];
      if (this.#keepFirst().run(...values, event, endpoint).changes === 1) return;
    }
    insert.run(row.with(3, urlNumber));
    const placed = { event: event!, endpoint: endpoint!, number: number!, started_at: startedAt!, outcome: outcome! };
    this.#late.noteIfLate(placed);
  }

  #first: Statement | null = null;

  #keepFirst(): Statement {
    return (this.#first ??= this.#db.prepare(
      `UPDATE delivery SET url = ?, started_at = ?, duration_ms = ?, status_code = ?, secret_version = ?, truncated = ?,
         body = ?, way = ? WHERE event = ? AND endpoint = ? AND attempts = 1 AND status = ${DELIVERED}`,
    ));
  }

  /** Of a counter: nothing for all, an endpoint's id, or a tenant's name. */
  #subjectName(subject: number): string {
    if (subject === 0) return "";
    if (subject < 0) return `${TENANT}${this.#names.tenant.name(-subject)}`;
    return this.#one("SELECT id FROM endpoint WHERE number = ?", subject);
  }

  #subjectNumber(subject: string): number {
    if (subject === "") return 0;
    if (subject.startsWith(TENANT)) return -this.#names.tenant.number(subject.slice(TENANT.length));
    return this.#one("SELECT number FROM endpoint WHERE id = ?", subject);
  }

  readonly #known = new Map<Value, unknown>();

  #one<T>(sql: string, value: Value): T {
    let found = this.#known.get(value);
    if (found === undefined) {
      found = this.#db.prepare(sql).pluck().get(value);
      if (found === undefined) throw new Error(`there is no endpoint ${String(value)}`);
      this.#known.set(value, found);
    }
    return found as T;
  }
}

const TENANT = "tenant ";

/** What is fresh waits from now on, as after any other stop. */
function selectOf({ columns, fileKey, name }: Table, isFurther: boolean): string {
  const keys = fileKey.map((column) => `"${column}"`).join();
  if (name === "attempt") return attempts(isFurther);
  const all = columns.map((column) =>
    name === "delivery" && column === "status" ? `max(status, ${WAITING})` : `"${column}"`,
  );
  const where = isFurther ? `WHERE (${keys}) > (${fileKey.map(() => "?").join()})` : "";
  return `SELECT ${all.join()}, ${keys} FROM ${name} ${where} ORDER BY ${keys}`;
}

/** Merged in the order of their keys: all attempts of a delivery are in one of the two places. */
function attempts(isFurther: boolean): string {
  const [one, other] = isFurther
    ? ["WHERE (event, endpoint, number) > (?, ?, ?)", "AND (d.event, d.endpoint) > (?, ?)"]
    : ["", ""];
  return `SELECT ${COLUMNS}, event, endpoint, number FROM attempt ${one}
    UNION ALL SELECT ${FIRST}, d.event, d.endpoint, 1 FROM ${KEPT_FIRST} ${other} ORDER BY 1, 2, 3`;
}

function placeIn({ name }: Table, after: Place | null): readonly Value[] {
  if (after === null) return [];
  return name === "attempt" ? [...after, ...after.slice(0, 2)] : after;
}
