/** Phrases that the API, the command line and the dashboard share. */

/** "1 delivery", "1,204 deliveries". */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/**
 * "a", "a or b", "a, b, or c". Intl.ListFormat does the same, but loads the tables of every language, which takes 13
 * ms.
 */
export function listed(names: readonly string[], last: "and" | "or"): string {
  if (names.length < 3) return names.join(` ${last} `);
  return `${names.slice(0, -1).join(", ")}, ${last} ${names.at(-1)}`;
}

/** "424 KiB", "1.3 MiB": at least two digits. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** step;
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

/** A damaged table or index of a database. */
export interface DamagedPages {
  /** The table or index. */
  readonly name: string;
  /** Empty if the page numbers are unknown. */
  readonly pages: readonly number[];
}

export interface Lost {
  readonly table: string;
  /** Null if the number is unknown. */
  readonly rows: number | null;
}

const NAMED = 5;

/** Describes damage to the write-ahead log. */
export function logDamageText({
  transactions,
  pages,
}: {
  readonly transactions: number;
  readonly pages: number;
}): string {
  const all = transactions === 1 ? "1 transaction" : `${transactions} transactions`;
  return `the write-ahead log was damaged, and ${all} (${pages} pages) behind the damage ${transactions === 1 ? "is" : "are"} lost, acknowledged events perhaps among them`;
}

/** Describes a damaged database. An older daemon does not report the log. */
export function damageText({
  pages,
  lost,
  log = null,
}: {
  readonly pages: readonly DamagedPages[];
  readonly lost: readonly Lost[];
  readonly log?: { readonly transactions: number; readonly pages: number } | null;
}): string {
  if (log !== null) {
    const more = pages.length + lost.length === 0 ? "" : `; ${damageText({ pages, lost })}`;
    return `${logDamageText(log)}${more}`;
  }
  const where = pages.map(({ name, pages: all }) => {
    const rest = all.length > NAMED ? ` and ${all.length - NAMED} more` : "";
    return all.length === 0 ? name : `${name} (page ${all.slice(0, NAMED).join(", ")}${rest})`;
  });
  const gone = lost.map(
    ({ table, rows }) => `${rows === null ? "rows" : rows === 1 ? "1 row" : `${rows} rows`} of ${table}`,
  );
  return [
    where.length === 0 ? "its pages were damaged" : `damaged: ${where.join(", ")}`,
    gone.length === 0 ? "nothing was lost" : `what could not be read: ${gone.join(", ")}`,
  ].join("; ");
}
