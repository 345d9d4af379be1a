/** Conditions on columns: in SQL where an index or a database may use them, else checked row by row. */
import { fieldOf, filtersOf, type ListName } from "../../domain/lists.ts";

export type Value = string | number;

/** `table` is the name of the table within the statement. */
export type Condition = { readonly table?: string; readonly column: string } & (
  | { readonly is: Value }
  | { readonly isNot: Value }
  | { readonly among: readonly Value[] }
  | { readonly least: number; readonly most: number }
);

/**
 * The conditions of a query on the columns of one table, by the list's filters. `stored` has the values that a store
 * keeps in another form, such as the number of a name.
 */
export function conditionsOf(
  list: ListName,
  query: object,
  {
    of,
    as,
    stored = {},
  }: {
    readonly of: string;
    readonly as?: string;
    readonly stored?: Readonly<Record<string, Value | readonly Value[] | undefined>>;
  },
): Condition[] {
  return filtersOf(list).flatMap(([name, { column = "" }]) => {
    const [table, own] = column.split(".");
    const value = stored[name] ?? (query as Record<string, unknown>)[fieldOf(name)];
    if (table !== of || value === undefined) return [];
    return [{ ...(as !== undefined && { table: as }), column: own!, ...testOf(value) }];
  });
}

function testOf(value: unknown) {
  if (typeof value === "boolean") return { is: Number(value) };
  if (Array.isArray(value)) return { among: value as Value[] };
  return typeof value === "object" && value !== null
    ? (value as { least: number; most: number })
    : { is: value as Value };
}

export function ofTenant(tenant: Value | null, table?: string): Condition[] {
  return tenant === null ? [] : [{ ...(table !== undefined && { table }), column: "tenant", is: tenant }];
}

type Check = (row: object) => boolean;

/** Returns a check of whether a row meets all of the conditions. It runs for each row that a page examines. */
export function checkOf(conditions: readonly Condition[]): Check {
  const checks = conditions.map(checkOne);
  return (row) => {
    for (const check of checks) if (!check(row)) return false;
    return true;
  };
}

function checkOne(condition: Condition): Check {
  const { column } = condition;
  const valueOf = (row: object) => (row as Record<string, Value | null>)[column];
  if ("is" in condition) return (row) => valueOf(row) === condition.is;
  if ("isNot" in condition) return (row) => isKnown(valueOf(row)) && valueOf(row) !== condition.isNot;
  if ("among" in condition) {
    const among = new Set<unknown>(condition.among);
    return (row) => among.has(valueOf(row));
  }
  const { least, most } = condition;
  return (row) => {
    const value = valueOf(row) as number | null;
    return isKnown(value) && value >= least && value <= most;
  };
}

function isKnown<T>(value: T): value is NonNullable<T> {
  return value !== null && value !== undefined;
}

export function columnOf({ table, column }: Condition): string {
  return table === undefined ? column : `${table}.${column}`;
}
