/**
 * A list as data: its rows, what they are sorted by, and the conditions that an index finds. `printList` writes it as
 * SQL; each store reads it page by page, and checks what no index finds.
 */
import type { PageQuery } from "../store.ts";
import type { Condition } from "./conditions.ts";
import type { Keys } from "./cursors.ts";

type Order = PageQuery["order"];

export interface List<Row> {
  /** The name of the list in its cursors. */
  readonly name: string;
  readonly select: string;
  readonly from: string | ((values: Values) => string);
  readonly order: Order;
  /** SQL for the numbers that the rows are sorted by, and the columns of a row that have them. */
  readonly keys: readonly (readonly [sql: string, column: keyof Row & string])[];
  /**
   * Sorts by a text, then by the key. No cursor contains the text: it is looked up in the row of the last key, which
   * stays for days even if it was deleted.
   */
  readonly text?: { readonly sql: string; readonly ofLast: (key: string) => string };
  /** The keys after which the list begins, if it does not begin with its first row. */
  readonly start?: Keys;
  /** The list ends before this value of the first key. */
  readonly end?: number;
  /** SQL, or conditions on columns, which an index finds. */
  readonly where?: readonly (string | Condition)[];
  /** Conditions that no index finds: a store uses them in SQL, or checks each row that it reads. */
  readonly checks?: readonly Condition[];
  /** Checks what no column tells. */
  has?(row: Row): boolean;
}

/** The values of a statement that is built piece by piece, and how a dialect writes them. */
export interface Values {
  /** Returns SQL that stands for the value. */
  add(value: unknown): string;
  /** The same for a number that may be large. */
  key(value: number): string;
  condition(condition: Condition): string;
}

/** The two ends of a list between two values of its first key, exclusive. */
export function between(order: Order, { low, high }: { readonly low: number; readonly high: number }) {
  return order === "oldest" ? { start: [low], end: high } : { start: [high], end: low };
}

/** Returns the keys after which a list begins. */
export function startOf<Row>({ keys, order, start }: List<Row>): Keys {
  const edge = order === "oldest" ? -Number.MAX_SAFE_INTEGER : Number.MAX_SAFE_INTEGER;
  return start ?? keys.map(() => edge);
}

export function keysOf<Row>({ keys }: List<Row>, row: Row): Keys {
  return keys.map(([, column]) => Number(row[column]));
}

/** SQL for at most `limit` rows after these keys. */
export function printList<Row>(list: List<Row>, after: Keys, limit: number, values: Values): string {
  const { select, from, keys, text, order, end, where = [] } = list;
  const [direction, opposite] = order === "oldest" ? ["ASC", "<"] : ["DESC", ">"];
  const [first] = keys[0]!;
  const source = typeof from === "string" ? from : from(values);
  const conditions = [
    beyond(list, after, values),
    ...(end === undefined ? [] : [`${first} ${opposite} ${values.key(end)}`]),
    ...where.map((one) => (typeof one === "string" ? one : values.condition(one))),
  ].filter((one) => one !== "");
  const sorted = [...(text === undefined ? [] : [text.sql]), ...keys.map(([sql]) => sql)];
  return `SELECT ${select} FROM ${source} ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}
    ORDER BY ${sorted.map((sql) => `${sql} ${direction}`).join(", ")} LIMIT ${values.add(limit)}`;
}

function beyond<Row>(list: List<Row>, after: Keys, values: Values): string {
  const compare = list.order === "oldest" ? ">" : "<";
  const sqls = list.keys.map(([sql]) => sql);
  if (list.text !== undefined) {
    if (after[0] === startOf(list)[0]) return "";
    return `(${list.text.sql}, ${sqls[0]!}) ${compare} (${list.text.ofLast(values.key(after[0]!))})`;
  }
  if (sqls.length === 1) return `${sqls[0]!} ${compare} ${values.key(after[0]!)}`;
  return `(${sqls.join()}) ${compare} (${after.map((key) => values.key(key)).join()})`;
}
