/** Reads and writes the rows of a store in PostgreSQL for a move, in and out. */
import type { Client } from "pg";
import type { Key, Page, Place, Row, Table, Value } from "../move/tables.ts";
import { slotOf } from "./endpoints/endpoint-rows.ts";
import { copyIn } from "./engine/copy.ts";
import { WAITING } from "../rows/codes.ts";
import { Counts } from "../rows/counts.ts";

/** Minutes counted in another store get this id, as if one node had counted them. */
const LIFE = "00000000-0000-0000-0000-000000000000";
const PAGE = 10_000;
const PAGE_BYTES = 8 * 1024 * 1024;

export class MovedRows {
  readonly #client: Client;
  /** The slots of endpoints, by their numbers. */
  readonly #slots = new Map<number, number>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Loads the slots of endpoints that were copied before. */
  async loadSlots(): Promise<void> {
    const sql = "SELECT number, slot FROM endpoint";
    const { rows } = await this.#client.query<{ number: number; slot: number }>(sql);
    for (const { number, slot } of rows) this.#slots.set(number, slot);
  }

  async page(table: Table, after: Place | null): Promise<Page> {
    const { rows } = await this.#client.query<Value[]>({
      text: selectOf(table, after !== null),
      values: [...(after ?? [])],
      rowMode: "array",
    });
    const width = table.columns.length;
    const last = rows.at(-1);
    const isAll = last === undefined || (rows.length < PAGE && !table.hasBodies);
    return {
      rows: rows.map((row) => (table.name === "counter" ? summed(row) : row.slice(0, width))),
      next: isAll ? null : last.slice(width),
    };
  }

  /** Returns the rows that exist for these keys. */
  async rowsOf(table: Table, keys: readonly Key[]): Promise<readonly Row[]> {
    const { name, columns, groupKey } = table;
    const from = `${keyed(table)} JOIN ${name} t ON ${same(groupKey)}`;
    const text =
      name === "counter"
        ? `SELECT t.subject, t.minute, ${SUMMED} FROM ${from} GROUP BY t.subject, t.minute`
        : `SELECT ${valuesOf(name, columns)} FROM ${from}`;
    const { rows } = await this.#client.query<Value[]>({ text, values: [jsonOf(table, keys)], rowMode: "array" });
    return name === "counter" ? rows.map(summed) : rows;
  }

  async remove(table: Table, keys: readonly Key[]): Promise<void> {
    const sql = `DELETE FROM ${table.name} t USING ${keyed(table)} WHERE ${same(table.groupKey)}`;
    await this.#client.query(sql, [jsonOf(table, keys)]);
  }

  async add(table: Table, rows: readonly Row[], lines: readonly string[]): Promise<void> {
    const extra = this.#derivedOf(table);
    let text = "";
    for (const [at, line] of lines.entries()) {
      const more = extra(rows[at]!);
      if (more !== null) text += `${line}${more}\n`;
    }
    if (text !== "") await copyIn(this.#client, table.name, [...table.columns, ...table.onlyPostgres], text);
  }

  /** Returns the end of a row's line: the columns that only PostgreSQL has. */
  #derivedOf({ name, columns }: Table): (row: Row) => string | null {
    const [number, id] = [columns.indexOf("number"), columns.indexOf("id")];
    const [endpoint, portal] = [columns.indexOf("endpoint"), columns.indexOf("portal")];
    switch (name) {
      case "endpoint":
        return (row) => {
          const slot = slotOf(String(row[id]));
          this.#slots.set(Number(row[number]), slot);
          return `\t${slot}`;
        };
      case "delivery":
        return (row) => {
          const slot = this.#slots.get(Number(row[endpoint]));
          // The row belongs to an endpoint that was added since. Both will be copied again.
          return slot === undefined ? null : `\t${slot}`;
        };
      case "api_key":
        return (row) => `\t${row[portal] === null ? "\\N" : madeBy(String(row[portal]))}`;
      case "counter":
        return () => `\t${LIFE}`;
      default:
        return () => "";
    }
  }
}

const madeBy = (portal: string) => (JSON.parse(portal) as { madeBy: string | null }).madeBy ?? "\\N";

const SUMMED = "array_agg(t.attempts ORDER BY t.life), array_agg(t.published ORDER BY t.life)";

function valuesOf(name: string, columns: readonly string[]): string {
  const value = (column: string) =>
    name === "delivery" && column === "status" ? `greatest(t.status, ${WAITING})` : `t."${column}"`;
  return columns.map(value).join();
}

/** SQL for rows of the table that have nothing but their keys. */
const keyed = ({ name }: Table) => `jsonb_populate_recordset(NULL::${name}, $1::jsonb) k`;
const same = (columns: readonly string[]) => columns.map((column) => `t."${column}" = k."${column}"`).join(" AND ");
const jsonOf = ({ groupKey }: Table, keys: readonly Key[]) =>
  JSON.stringify(keys.map((key) => Object.fromEntries(key.map((value, at) => [groupKey[at], value]))));

/** Reads fresh deliveries as waiting, as after any other stop. */
function selectOf({ name, columns, key, hasBodies }: Table, isFurther: boolean): string {
  const keys = key.map((column) => `"${column}"`).join();
  const where = isFurther ? `WHERE (${keys}) > (${key.map((_, at) => `$${at + 1}`).join()})` : "";
  const some = `FROM ${name} t ${where}`;
  const order = `ORDER BY ${keys} LIMIT ${PAGE}`;
  if (name === "counter") {
    return `SELECT subject, minute, ${SUMMED}, ${keys}
      ${some} GROUP BY ${keys} ${order}`;
  }
  if (!hasBodies) return `SELECT ${valuesOf(name, columns)}, ${keys} ${some} ${order}`;
  return `SELECT ${valuesOf(name, columns)}, ${keys} FROM (
      SELECT *, sum(octet_length(body)) OVER (ORDER BY ${keys} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS above
      FROM (SELECT * ${some} ${order}) s) t
    WHERE coalesce(above, 0) < ${PAGE_BYTES} ORDER BY ${keys}`;
}

/** Adds up what several nodes counted in a minute into one row. */
function summed([subject, minute, attempts, published]: readonly Value[]): Row {
  const counts = new Counts();
  const types = published as unknown as (string | null)[];
  for (const [at, text] of (attempts as unknown as string[]).entries()) {
    counts.addRow({ attempts: text, published: types[at]! });
  }
  const row = counts.toRow();
  return [subject!, minute!, row.attempts, row.published];
}
