/** Copies what can be read of a damaged database into a new one. */
import type { Database, Statement } from "better-sqlite3";
import { StoreRefused } from "../../files/refused.ts";
import type { LostRows } from "../../store.ts";
import { LateAttempts } from "../attempts/attempts-by-time.ts";
import type { Ordered } from "../../../domain/deliveries/delivery.ts";
import { isDamage } from "../engine/condition.ts";
import { Meta } from "../engine/meta.ts";
import { applySteps, shapePages } from "../engine/open-database.ts";
import { COUNT_FAILURES, type Migration } from "../engine/schema.ts";
import { ReadableRows, WHOLE_INDEXES, type Gap, type Row } from "./damage.ts";
import { BEHIND, instantOf, CANCELLED, DELIVERED, FAILED, FRESH, WAITING } from "../../rows/codes.ts";
import { FRESH_FROM } from "../numbers/fragments.ts";

/**
 * A store can work without some rows of these tables and of an event's tables. A missing row of any other table would
 * cause silent errors.
 */
const MAY_LOSE =
  "event large_data large_batch late_attempt health choice counter settled idempotency audit ordering_key held_key".split(
    " ",
  );
/** Rows that belong to an unreadable event are useless, and would count as pending forever. */
const OF_EVENTS = ["delivery", "attempt", "event_label", "late_response", "started", "manual_attempt"];
/** If a row of these is lost, late attempts are recorded again. */
const LATE_FROM = new Set(["event", "attempt", "late_attempt"]);
/** SQL that is true for an event whose data was in a row that could not be read. */
const LACKS_DATA = "large IS NOT NULL AND large NOT IN (SELECT num FROM large_data)";
const IS_OF_NONE = "num NOT IN (SELECT large FROM event WHERE large IS NOT NULL)";
const COUNTS = "failure_count";
const BATCH = 10_000;

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly keys: readonly string[];
}

interface Loss {
  readonly table: string;
  readonly gaps: readonly Gap[];
}

export interface Salvaging {
  readonly from: Database;
  /** An empty database. It is durable once it is closed and synced. */
  readonly to: Database;
  /** Named in messages. */
  readonly file: string;
  readonly migrations: readonly Migration[];
}

/** Returns what could not be read. Throws `StoreRefused` if no store can go on without it. */
export function salvage({ from, to, file, migrations }: Salvaging): LostRows[] {
  shapePages(to);
  to.pragma("journal_mode = OFF");
  to.pragma("synchronous = OFF");
  to.pragma("foreign_keys = OFF");
  const indexes = makeTables(to, migrations);
  const tables = tablesOf(to);
  const losses = tables.filter(({ name }) => name !== COUNTS).flatMap((table) => copyTable(table, { from, to, file }));
  rebuildDeliveries({ from, to, gaps: losses.find(({ table }) => table === "delivery")?.gaps ?? [] });
  for (const sql of indexes) to.exec(sql);
  const lost = losses.map((loss) => ({ ...loss, rows: lostRows(loss, from, to) }));
  if (losses.some(({ table }) => table === "event" || table.startsWith("large_"))) {
    to.exec(`DELETE FROM event WHERE ${LACKS_DATA}; DELETE FROM large_data WHERE ${IS_OF_NONE}`);
    for (const table of OF_EVENTS) to.exec(`DELETE FROM ${table} WHERE event NOT IN (SELECT key FROM event)`);
  }
  if (losses.some(({ table }) => LATE_FROM.has(table))) new LateAttempts(to).noteAll();
  to.exec(`DELETE FROM ${COUNTS}; ${COUNT_FAILURES}`);
  if (losses.length > 0) new Meta(to).causesNoted = Number.MAX_SAFE_INTEGER;
  const found = to.pragma("quick_check(1)", { simple: true });
  const broken = to.pragma("foreign_key_check") as readonly { readonly table: string }[];
  if (found !== "ok" || broken.length > 0) throw hopeless(file, broken[0]?.table ?? "its pages");
  return lost
    .filter(({ rows }) => rows !== 0)
    .map(({ table, rows, gaps }) => ({ table, rows, ...spanOf(table, gaps) }));
}

export function hopeless(file: string, what: string): StoreRefused {
  return new StoreRefused(
    65,
    `${file} is damaged, and ${what} cannot be recovered without silently losing data`,
    "restore a backup with: webhookd restore <file>; check the disk first",
  );
}

/**
 * Creates the tables, and returns the SQL for their indexes. Building them once the tables are full is several times as
 * fast.
 */
function makeTables(to: Database, migrations: readonly Migration[]): string[] {
  applySteps(to, 0, { migrations });
  // The steps wrote the facts of an empty store, such as a mark below all events, which would stay instead of the
  // copied ones.
  to.exec("DELETE FROM meta");
  const indexes = to
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql <> ''",
    )
    .all();
  for (const { name } of indexes) to.exec(`DROP INDEX ${name}`);
  return indexes.map(({ sql }) => sql);
}

function tablesOf(db: Database): Table[] {
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .pluck()
    .all();
  return names.map((name) => {
    const columns = db.pragma(`table_info(${name})`) as readonly { name: string; type: string; pk: number }[];
    const keys = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
    const walkable = keys.every(({ type }) => type === "INTEGER");
    return { name, columns: columns.map((column) => column.name), keys: walkable ? keys.map((key) => key.name) : [] };
  });
}

/** Returns an empty list if nothing is lost. */
function copyTable({ name, columns, keys }: Table, { from, to, file }: Omit<Salvaging, "migrations">): Loss[] {
  const insert = to.prepare(`INSERT OR IGNORE INTO ${name} VALUES (${columns.map(() => "?").join(", ")})`);
  const walk = keys.length === 0 ? null : new ReadableRows(from, name, { columns, keys });
  const rows =
    walk?.all() ??
    from
      .prepare<[], Row>(`SELECT ${columns.join(", ")} FROM ${name}`)
      .raw()
      .iterate();
  let refused = 0;
  let copied = 0;
  to.exec("BEGIN");
  try {
    for (const row of rows) {
      if (!put(insert, row)) refused++;
      if (++copied % BATCH === 0) to.exec("COMMIT; BEGIN");
    }
  } catch (error) {
    throw isDamage(error) ? hopeless(file, name) : error;
  }
  to.exec("COMMIT");
  const gaps = walk?.gaps ?? [];
  if (gaps.length === 0 && refused === 0) return [];
  if (![...MAY_LOSE, ...OF_EVENTS].includes(name)) throw hopeless(file, name);
  return [{ table: name, gaps }];
}

/** A damaged page may look readable and contain rows that the table refuses. */
function put(insert: Statement<unknown[]>, row: Row): boolean {
  try {
    insert.run(...row);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_CONSTRAINT")) return false;
    throw error;
  }
}

/**
 * Compares with a readable index, or with the counts that deliveries keep. Returns null if nothing shows how many rows
 * there were.
 */
function lostRows({ table, gaps }: Loss, from: Database, to: Database): number | null {
  const number = (db: Database, sql: string, ...keys: number[]) =>
    db
      .prepare<number[], number>(sql)
      .pluck()
      .get(...keys)!;
  // They were recorded again, or belong to no event.
  if (table === "late_attempt" || table === "large_batch") return 0;
  if (table === "large_data") return number(to, `SELECT count(*) FROM event WHERE ${LACKS_DATA}`);
  try {
    const index = WHOLE_INDEXES[table];
    if (index !== undefined) {
      const before = number(from, `SELECT count(*) FROM ${table} INDEXED BY ${index}`);
      return Math.max(0, before - number(to, `SELECT count(*) FROM ${table}`));
    }
    if (table !== "attempt") return null;
    return gaps.reduce((sum, { after, before }) => {
      const made = number(
        to,
        "SELECT coalesce(sum(attempts - (started_at IS NOT NULL)), 0) FROM delivery WHERE event BETWEEN ? AND ?",
        after,
        before,
      );
      return sum + made - number(to, "SELECT count(*) FROM attempt WHERE event BETWEEN ? AND ?", after, before);
    }, 0);
  } catch (error) {
    if (isDamage(error)) return null;
    throw error;
  }
}

/** Returns the time span in which the events in question were received: their keys contain the time. */
function spanOf(table: string, gaps: readonly Gap[]): Pick<LostRows, "from" | "until"> {
  if (gaps.length === 0 || !["event", "delivery", "attempt"].includes(table)) return { from: null, until: null };
  const last = gaps.at(-1)!.before;
  return {
    from: instantOf(Math.max(0, gaps[0]!.after)),
    until: last === Number.MAX_SAFE_INTEGER ? null : instantOf(last),
  };
}

export interface Rebuilding {
  readonly from: Database;
  /** Contains everything that could be read of the tables. */
  readonly to: Database;
  readonly gaps: readonly Gap[];
}

type Pair = [event: number, endpoint: number];
type PendingPair = [...Pair, dueAt: number | null];

interface Last {
  readonly number: number;
  readonly round: number;
  readonly retry: number;
  readonly outcome: number;
  readonly trigger: number;
}

const SUCCEEDED = 0;
const REFUSED = 1;
/** Attempts that were requested by hand, and tests, do not use up a rung. */
const LAST_ON_LADDER = 1;

export function rebuildDeliveries({ from, to, gaps }: Rebuilding): void {
  const last = to.prepare<Pair, Last>(
    "SELECT number, round, retry, outcome, trigger FROM attempt WHERE event = ? AND endpoint = ? ORDER BY number DESC",
  );
  const insert = to.prepare(
    `INSERT OR IGNORE INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at, ordering_key, sequence)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const places = new Map<string, Ordered>();
  for (const [event, endpoint, key, sequence] of inGaps<[...Pair, key: number, sequence: number]>(
    from,
    gaps,
    `SELECT event, endpoint, ordering_key, sequence FROM delivery INDEXED BY delivery_line
     WHERE ordering_key IS NOT NULL AND status <= ${WAITING}`,
  ))
    places.set(`${event} ${endpoint}`, { key, sequence });
  const open = new Map<string, { readonly status: number; readonly dueAt: number | null }>();
  const within = (index: string, status: number, dueAt: string) =>
    inGaps<PendingPair>(
      from,
      gaps,
      `SELECT event, endpoint, ${dueAt} FROM delivery INDEXED BY ${index} WHERE status = ${status}`,
    );
  for (const [event, endpoint, dueAt] of within("delivery_waiting", WAITING, "due_at"))
    open.set(`${event} ${endpoint}`, { status: WAITING, dueAt });
  const settled = settledIn(to);
  const mark = from.prepare<[], number>(`SELECT ${FRESH_FROM}`).pluck().get()!;
  for (const [event, endpoint] of within("delivery_failed", FAILED, "NULL"))
    open.set(`${event} ${endpoint}`, { status: FAILED, dueAt: null });
  for (const [event, endpoint] of inGaps<Pair>(
    from,
    gaps,
    "SELECT event, endpoint FROM delivery INDEXED BY delivery_endpoint WHERE TRUE",
  )) {
    const made = last.all(event, endpoint);
    if (made.length === 0 && !open.has(`${event} ${endpoint}`)) {
      // It was delivered at once, cancelled or shadowed, and only its lost row showed which.
      if (event < mark || settled.has(`${event} ${endpoint}`)) continue;
      open.set(`${event} ${endpoint}`, { status: FRESH, dueAt: instantOf(event) });
    }
    const delivered = made.some(({ outcome }) => outcome === SUCCEEDED);
    const { status, dueAt } = open.get(`${event} ${endpoint}`) ?? {
      status: delivered ? DELIVERED : CANCELLED,
      dueAt: null,
    };
    const [latest] = made;
    const attempts = status === FRESH ? 0 : (latest?.number ?? 0);
    const retry = status === WAITING ? rungAfter(made) : (latest?.retry ?? 0);
    const { key = null, sequence = null } = places.get(`${event} ${endpoint}`) ?? {};
    const past = [attempts, latest?.round ?? 1, retry, latest?.trigger ?? 0];
    insert.run(event, endpoint, status, ...past, dueAt, key, sequence);
  }
  to.exec(ADVANCE);
}

/** The first of a line may be lost, or the row that held its key. Nothing else would let those behind it go on. */
const ADVANCE = `
  UPDATE delivery SET due_at = due_at - ${BEHIND} WHERE due_at >= ${BEHIND} AND (event, endpoint) IN (
    SELECT event, endpoint FROM (
      SELECT *, row_number() OVER (PARTITION BY ordering_key ORDER BY sequence, event) AS place
      FROM delivery WHERE ordering_key IS NOT NULL AND status <= ${WAITING}) f
    WHERE place = 1 AND NOT EXISTS (
      SELECT 1 FROM held_key h WHERE h.ordering_key = f.ordering_key AND (h.sequence, h.event) < (f.sequence, f.event)))`;

/** Deliveries above the mark that are not pending, as `event endpoint`. */
function settledIn(to: Database): Set<string> {
  const all = new Set<string>();
  const rows = to.prepare<[], Buffer>("SELECT deliveries FROM settled").pluck();
  for (const bytes of rows.iterate()) {
    const pairs = new Float64Array(Uint8Array.from(bytes).buffer);
    for (let at = 0; at < pairs.length; at += 2) all.add(`${pairs[at]} ${pairs[at + 1]}`);
  }
  return all;
}

/** `made` has all attempts, the latest first. */
function rungAfter(made: readonly Last[]): number {
  const counted = made.filter(
    ({ outcome, round, trigger }) => outcome === REFUSED && round === made[0]!.round && trigger <= LAST_ON_LADDER,
  );
  return Math.max(0, ...counted.map(({ retry }) => retry + 1));
}

/** Yields as many rows as can be read. */
function* inGaps<T extends [number, ...unknown[]]>(db: Database, gaps: readonly Gap[], select: string): Generator<T> {
  for (const { after, before } of gaps) {
    try {
      yield* db.prepare<[number, number], T>(`${select} AND event BETWEEN ? AND ?`).raw().iterate(after, before);
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
  }
}
