/** Reads and writes the file's rows in PostgreSQL's form, with names instead of numbers. */
import type { Database, Statement } from "better-sqlite3";
import { LateAttempts } from "../sqlite/attempts/attempts-by-time.ts";
import { UNCOUNT } from "../sqlite/attempts/causes.ts";
import type { Key, Page, Place, Row, Table, Value } from "./tables.ts";
import { COLUMNS, FIRST, KEPT_FIRST } from "../sqlite/attempts/attempt-columns.ts";
import { bodyHash, DELIVERED, isPrompt, WAITING, wholeBody } from "../rows/codes.ts";
import { Interned } from "../sqlite/numbers/names.ts";
import { LARGE_DATA } from "../sqlite/numbers/fragments.ts";

const PAGE = 10_000;
const PAGE_BYTES = 8 * 1024 * 1024;
const COLON = 0x3a;

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
      const place = row.splice(width);
      rows.push(shown(row));
      bytes += body === -1 ? 0 : ((row[body] as Uint8Array | null)?.length ?? 0);
      if (rows.length === PAGE || bytes >= PAGE_BYTES) return { rows, next: place };
    }
    return { rows, next: null };
  }

  /** Returns the rows that exist for these keys. */
  rowsOf(table: Table, keys: readonly Key[]): Row[] {
    const select = this.#prepared(`${table.name} of`, () => selectOfKey(table));
    const shown = this.#shown(table);
    const rows: Row[] = [];
    for (const key of keys) {
      const stored = this.#stored(table, key);
      if (stored === null) continue;
      for (const row of select.iterate(...stored, ...(table.name === "attempt" ? stored : []))) rows.push(shown(row));
    }
    return rows;
  }

  /** Call it inside a transaction. */
  remove(table: Table, keys: readonly Key[]): void {
    const where = table.groupKey.map((column) => `"${column}" = ?`).join(" AND ");
    const late = this.#db.prepare(
      `DELETE FROM late_attempt WHERE (endpoint, failed, started_at, event, number) IN (
         SELECT endpoint, outcome <> 0, started_at, event, number FROM attempt WHERE event = ? AND endpoint = ?)`,
    );
    const uncount = this.#db.prepare(`${UNCOUNT} event = ? AND endpoint = ?`);
    const remove = this.#db.prepare(`DELETE FROM ${table.name} WHERE ${where}`);
    for (const key of keys) {
      const stored = this.#stored(table, key);
      if (stored === null) continue;
      if (table.name === "attempt") late.run(...stored);
      if (table.name === "delivery") uncount.run(...stored);
      remove.run(...stored);
    }
  }

  /** The returned function must be called inside a transaction. */
  writer(table: Table): (row: Row) => void {
    const { name } = table;
    let write = this.#writers.get(name);
    if (write === undefined) this.#writers.set(name, (write = this.#writerOf(table)));
    return write;
  }

  #select(table: Table, isFurther: boolean): Statement<unknown[], Value[]> {
    return this.#prepared(`${table.name} ${isFurther}`, () => selectOf(table, isFurther));
  }

  #prepared(name: string, sql: () => string): Statement<unknown[], Value[]> {
    let select = this.#selects.get(name);
    if (select === undefined) {
      select = this.#db.prepare<unknown[], Value[]>(sql()).raw();
      this.#selects.set(name, select);
    }
    return select;
  }

  /** Returns a key in the file's form, or null if no row can have it. */
  #stored({ groupKey, name, names }: Table, key: Key): readonly Value[] | null {
    const stored = key.map((value, at) => {
      const column = groupKey[at]!;
      const text = String(value);
      if (name === "counter" && column === "subject") {
        return this.#subjectNumber(text, (tenant) => this.#names.tenant.find(tenant));
      }
      const of = names[column];
      return of === undefined ? value : (this.#names[of].find(text) ?? null);
    });
    return stored.includes(null) ? null : stored;
  }

  /** Replaces numbers with the names that they stand for. */
  #shown({ columns, name, names }: Table): (row: Value[]) => Row {
    if (name === "counter") return ([subject, ...rest]) => [this.#subjectName(Number(subject)), ...rest];
    const places = Object.entries(names).map(([column, kind]) => [columns.indexOf(column), this.#names[kind]] as const);
    return (row) => {
      for (const [at, of] of places) row[at] = of.name(Number(row[at]));
      if (name === "event") this.#joinData(row);
      return row;
    };
  }

  /** Joins large data that was stored apart to its envelope. A damaged event stays damaged. */
  #joinData(row: Value[]): void {
    const [key, hash, body] = [row[0], ...row.slice(-2)] as [number, Buffer, Buffer | null];
    // A whole envelope ends with a brace; the head alone ends with a colon.
    const data = body?.at(-1) === COLON ? (this.#largeData().get(key) ?? null) : null;
    if (data === null) return;
    const whole = wholeBody({ body, body_hash: hash, data });
    row.splice(-2, 2, whole.isIntact ? bodyHash(whole.body) : hash, whole.body);
  }

  #large: Statement<[number], Buffer | null> | null = null;

  #largeData(): Statement<[number], Buffer | null> {
    return (this.#large ??= this.#db
      .prepare<[number], Buffer | null>(`SELECT ${LARGE_DATA} FROM event WHERE key = ?`)
      .pluck());
  }

  #writerOf(table: Table): (row: Row) => void {
    const { columns, name, names } = table;
    const list = columns.map((column) => `"${column}"`).join();
    // A row that is in the way was changed since it was copied, and will be copied again.
    const into = `INSERT OR REPLACE INTO ${name} (${list})`;
    const insert = this.#db.prepare(`${into} VALUES (${columns.map(() => "?").join()})`);
    if (name === "attempt") return (row) => this.#writeAttempt(insert, row);
    if (name === "counter") {
      return ([subject, ...rest]) => {
        const number = this.#subjectNumber(String(subject), (tenant) => this.#names.tenant.number(tenant));
        // The counter belongs to an endpoint that was added since. Both will be copied again.
        if (number !== null) insert.run(number, ...rest);
      };
    }
    const places = Object.entries(names).map(([column, kind]) => [columns.indexOf(column), this.#names[kind]] as const);
    return (row) => {
      const stored = [...row];
      for (const [at, of] of places) stored[at] = of.number(String(row[at]));
      insert.run(stored);
    };
  }

  /** A plain first success belongs in the row of its delivery. */
  #writeAttempt(insert: Statement, row: Row): void {
    const [event, endpoint, number, url, trigger, round, retry, startedAt, durationMs, outcome] = row as number[];
    const [statusCode, error, bodyError, secretVersion, truncated, body, details, connection] = row.slice(10);
    const urlNumber = this.#names.url.number(String(url));
    const isFirst = number === 1 && round === 1 && retry === 0 && trigger === 0 && outcome === 0;
    if (isFirst && (error ?? bodyError ?? details) === null && isPrompt(event!, startedAt!)) {
      const values = [urlNumber, startedAt, durationMs, statusCode, secretVersion, truncated, body, connection];
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
         body = ?, connection = ? WHERE event = ? AND endpoint = ? AND attempts = 1 AND status = ${DELIVERED}`,
    ));
  }

  /** Returns the subject of a counter: "" for all, an endpoint's id, or a tenant's name. */
  #subjectName(subject: number): string {
    if (subject === 0) return "";
    if (subject < 0) return `${TENANT}${this.#names.tenant.name(-subject)}`;
    const id = this.#one<string>("SELECT id FROM endpoint WHERE number = ?", subject);
    if (id === null) throw new Error(`there is no endpoint ${subject}`);
    return id;
  }

  #subjectNumber(subject: string, tenantNumber: (name: string) => number | undefined): number | null {
    if (subject === "") return 0;
    if (!subject.startsWith(TENANT)) return this.#one<number>("SELECT number FROM endpoint WHERE id = ?", subject);
    const number = tenantNumber(subject.slice(TENANT.length));
    return number === undefined ? null : -number;
  }

  readonly #known = new Map<Value, unknown>();

  #one<T>(sql: string, value: Value): T | null {
    const found = this.#known.get(value) ?? this.#db.prepare(sql).pluck().get(value) ?? null;
    if (found !== null) this.#known.set(value, found);
    return found as T | null;
  }
}

export const TENANT = "tenant ";

/** Writes fresh deliveries as waiting, as after any other stop. */
function selectOf({ columns, fileKey, name }: Table, isFurther: boolean): string {
  const keys = fileKey.map((column) => `"${column}"`).join();
  if (name === "attempt") return attempts(isFurther);
  const where = isFurther ? `WHERE (${keys}) > (${fileKey.map(() => "?").join()})` : "";
  return `SELECT ${valuesOf(name, columns)}, ${keys} FROM ${name} ${where} ORDER BY ${keys}`;
}

function valuesOf(name: string, columns: readonly string[]): string {
  const value = (column: string) =>
    name === "delivery" && column === "status" ? `max(status, ${WAITING})` : `"${column}"`;
  return columns.map(value).join();
}

function selectOfKey({ columns, groupKey, name }: Table): string {
  if (name !== "attempt") {
    const where = groupKey.map((column) => `"${column}" = ?`).join(" AND ");
    return `SELECT ${valuesOf(name, columns)} FROM ${name} WHERE ${where}`;
  }
  return `SELECT ${COLUMNS} FROM attempt WHERE event = ? AND endpoint = ?
    UNION ALL SELECT ${FIRST} FROM ${KEPT_FIRST} AND d.event = ? AND d.endpoint = ?`;
}

/** Merges both places in the order of their keys. All attempts of a delivery are in one of the two. */
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
