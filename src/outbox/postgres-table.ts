/**
 * An outbox in PostgreSQL. One connection reads it and is notified of new rows. Rows are locked while they are being
 * published, and locked rows are skipped, so several nodes can read the same outbox, and no transaction of the
 * application is waited for.
 */
import type { Client } from "pg";
import type { Clock } from "../clock.ts";
import { WebhookdError } from "../domain/errors.ts";
import {
  MAX_COUNTED,
  quoted,
  type OutboxRow,
  type OutboxSettings,
  type OutboxTrouble,
  type SetAsideRow,
} from "../domain/outbox/outbox.ts";
import { CHANNEL } from "../domain/outbox/init-sql.ts";
import { readSecretFile } from "../secret-file.ts";
import { commit } from "../store/postgres/engine/commit.ts";
import { configsOf, connect, streamOf } from "../store/postgres/engine/session.ts";
import { faultOf, wordsOf } from "../store/postgres/fault.ts";
import {
  BATCH,
  createIt,
  OutboxFault,
  printedBy,
  requireColumns,
  type Counts,
  type OutboxTable,
  type PublishRows,
} from "./table.ts";
import { Wait } from "./wait.ts";

/**
 * The server gives up a statement after this, and we give up the server a little later, so that it is said within 5 s.
 */
const STATEMENT_MS = 3000;
const ANSWER_MS = 3500;
const SETTINGS = {
  statement_timeout: String(STATEMENT_MS),
  lock_timeout: String(STATEMENT_MS),
  // Rows that a suspended process has locked are free for other nodes after this.
  idle_in_transaction_session_timeout: "15000",
  enable_seqscan: "off",
};
/** A slow server gets smaller batches, down to this. */
const LEAST_ROWS = 10;

export interface PostgresTableParts {
  readonly clock: Clock;
  readonly maxEventBytes: number;
}

type Settings = OutboxSettings & { readonly database: { readonly kind: "postgres" } };

/** The SQL for the columns that the table has. */
interface Shape {
  readonly idType: string;
  readonly take: string;
  readonly count: string;
}

interface Column {
  readonly name: string;
  readonly type: string;
}

interface Rights {
  readonly deletes: boolean;
  readonly updates: boolean;
  readonly selects: boolean;
}

interface TakenRow extends Omit<OutboxRow, "data" | "dataBytes"> {
  readonly data: string | null;
  readonly data_bytes: string | null;
}

export class PostgresTable implements OutboxTable {
  readonly #outbox: Settings;
  readonly #parts: PostgresTableParts;
  readonly #name: string;
  readonly #wait: Wait;
  #client: Promise<Client> | null = null;
  #shape: Shape | null = null;
  #limit: number = BATCH.rows;

  constructor(outbox: Settings, parts: PostgresTableParts) {
    this.#outbox = outbox;
    this.#parts = parts;
    this.#name = quoted(outbox.table);
    this.#wait = new Wait(parts.clock);
  }

  async pass(publish: PublishRows, resting: readonly string[]): Promise<number> {
    return this.#telling(async () => {
      const client = await this.#connected();
      const { take, idType } = this.#shape ?? (await this.#inspect(client));
      const begun = client.query("BEGIN");
      begun.catch(() => {});
      try {
        const { rows } = await client.query<TakenRow>(take, [this.#parts.maxEventBytes, this.#limit, resting]);
        await begun;
        const outcomes = rows.length === 0 ? [] : await publish(rows.map(rowOf));
        const published = rows.flatMap(({ id }, at) => (outcomes[at] === "published" ? [id] : []));
        const wrong = rows.flatMap(({ id }, at) => {
          const outcome = outcomes[at]!;
          return typeof outcome === "string" ? [] : [{ id, problem: outcome.problem }];
        });
        if (published.length > 0) {
          await client.query(`DELETE FROM ${this.#name} WHERE id = ANY($1::text[]::${idType}[])`, [published]);
        }
        for (const { id, problem } of wrong) {
          await client.query(`UPDATE ${this.#name} SET problem = $2 WHERE id = $1::text::${idType}`, [id, problem]);
        }
        await commit(client);
        this.#limit = Math.min(BATCH.rows, this.#limit * 2);
        return published.length + wrong.length;
      } catch (error) {
        this.#limit = Math.max(LEAST_ROWS, this.#limit >> 1);
        // The server rolls back when its connection is gone, even if it answers nothing more.
        this.drop();
        // A look at the table says more than the statement that failed.
        if (isAboutTable(error)) await this.#once(async () => {});
        throw error;
      }
    });
  }

  async look(): Promise<Counts> {
    return this.#telling(async () => {
      const client = await this.#connected();
      const { count } = await this.#inspect(client);
      const { rows } = await client.query<{ waiting: number; oldest: string | null; aside: number }>(count);
      const { waiting, oldest, aside } = rows[0]!;
      return { waiting, oldestMs: oldest === null ? null : Math.max(0, Number(oldest)), setAside: aside };
    });
  }

  async wait(ms: number): Promise<void> {
    await this.#wait.for(ms);
  }

  wake(): void {
    this.#wait.end();
  }

  drop(): void {
    const client = this.#client;
    this.#client = null;
    this.#shape = null;
    client?.then((open) => streamOf(open).destroy()).catch(() => {});
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.then((open) => open.end()).catch(() => {});
  }

  setAside(limit: number): Promise<readonly SetAsideRow[]> {
    return this.#once(async (client) => {
      const { rows } = await client.query<SetAsideRow>(
        `SELECT id::text AS id, type::text AS type, problem::text AS problem FROM ${this.#name} AS o
         WHERE problem IS NOT NULL ORDER BY o.id LIMIT $1`,
        [limit],
      );
      return rows;
    });
  }

  retry(ids: readonly string[] | null): Promise<number> {
    return this.#change(`UPDATE ${this.#name} SET problem = NULL`, ids);
  }

  remove(ids: readonly string[] | null): Promise<number> {
    return this.#change(`DELETE FROM ${this.#name}`, ids);
  }

  present(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#once(async (client, { idType }) => {
      const { rows } = await client.query<{ id: string }>(
        `SELECT id::text AS id FROM ${this.#name} WHERE id = ANY($1::text[]::${idType}[])`,
        [ids],
      );
      return new Set(rows.map(({ id }) => id));
    });
  }

  /** Ids that the column's type cannot hold are of no row. */
  #change(change: string, ids: readonly string[] | null): Promise<number> {
    return this.#once(async (client) => {
      const { rowCount } = await client.query(
        `${change} WHERE problem IS NOT NULL AND ($1::text[] IS NULL OR id::text = ANY($1::text[]))`,
        [ids],
      );
      return rowCount ?? 0;
    });
  }

  /** Runs a statement on a connection of its own, because the other one may be in a transaction. */
  async #once<T>(work: (client: Client, shape: Shape) => Promise<T>): Promise<T> {
    return this.#telling(async () => {
      const client = await connect(this.#configs(), SETTINGS, () => {});
      try {
        return await work(client, await this.#shapeOf(client));
      } finally {
        client.end().catch(() => {});
      }
    });
  }

  #connected(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    // A connection that was given up may end late, when there is another one.
    const onLost = () => {
      if (this.#client !== opening) return;
      this.drop();
      this.#wait.end();
    };
    const opening = this.#connect(onLost);
    return (this.#client = opening);
  }

  async #connect(onLost: () => void): Promise<Client> {
    let made: Client | null = null;
    try {
      made = await connect(this.#configs(), SETTINGS, onLost);
      made.on("notification", () => this.#wait.end());
      await made.query(`LISTEN ${CHANNEL}`);
      return made;
    } catch (error) {
      this.drop();
      if (made !== null) streamOf(made).destroy();
      throw error;
    }
  }

  #configs() {
    return configsOf(this.#url()).map((config) => ({ ...config, query_timeout: ANSWER_MS }));
  }

  #url(): string {
    const { database } = this.#outbox;
    if ("url" in database) return database.url;
    const read = readSecretFile(database.urlFile);
    if ("text" in read) return read.text.trim();
    throw new OutboxFault({ what: `its url_file ${database.urlFile}${read.refused}`, todo: "correct url_file" });
  }

  async #inspect(client: Client): Promise<Shape> {
    return (this.#shape = await this.#shapeOf(client));
  }

  /** Throws `OutboxFault` if the table is not as it should be, or if we may not use it. */
  async #shapeOf(client: Client): Promise<Shape> {
    const [{ rows: columns }, { rows: rights }] = await Promise.all([
      client.query<Column>(
        `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
         WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
        [this.#name],
      ),
      client.query<Rights>(
        `SELECT has_table_privilege(c.oid, 'SELECT') AS selects, has_table_privilege(c.oid, 'DELETE') AS deletes,
           has_any_column_privilege(c.oid, 'UPDATE') AS updates FROM pg_class c WHERE c.oid = to_regclass($1)`,
        [this.#name],
      ),
    ]);
    const has = new Map(columns.map(({ name, type }) => [name, type]));
    requireColumns(this.#outbox, has);
    const { selects = false, deletes = false, updates = false } = rights[0] ?? {};
    if (!selects || !deletes || !updates) throw new OutboxFault(lacks(this.#outbox));
    return this.#shapeFor(has);
  }

  #shapeFor(has: ReadonlyMap<string, string>): Shape {
    const { tenant } = this.#outbox;
    const tenantColumn = "column" in tenant ? `o.${quoted(tenant.column)}::text` : "NULL::text";
    const or = (name: string, sql: string) => (has.has(name) ? sql : "NULL::text");
    const created = or("created_at", instantOf(has.get("created_at")));
    const age = has.get("created_at")?.startsWith("timestamp") === true;
    const rests = "column" in tenant ? `(${tenantColumn} IS NULL OR ${tenantColumn} <> ALL($3::text[]))` : FIXED_TENANT;
    return {
      idType: has.get("id")!,
      // The sum leaves out what would be too much at once. The rows that it leaves out are free again after the commit.
      take: `WITH taken AS MATERIALIZED (
          SELECT o.id AS place, o.id::text AS id, o.type::text AS type, o.data::text AS data,
            ${created} AS "createdAt", ${or("publisher_id", "o.publisher_id::text")} AS "publisherId",
            ${or("tags", "to_json(o.tags)::text")} AS tags, ${or("ordering_key", "o.ordering_key::text")} AS "orderingKey",
            ${tenantColumn} AS tenant
          FROM ${this.#name} AS o WHERE o.problem IS NULL AND ${rests}${has.has("ordering_key") ? ` AND ${aloneIn(this.#outbox.table)}` : ""}
          ORDER BY o.id LIMIT $2 FOR UPDATE SKIP LOCKED),
        sized AS (SELECT *, octet_length(data) AS size, sum(coalesce(octet_length(data), 0)) OVER (ORDER BY place) AS total
          FROM taken)
        SELECT id, type, CASE WHEN size <= $1 THEN data END AS data, size AS data_bytes, "createdAt", "publisherId",
          tags, "orderingKey", tenant
        FROM sized WHERE total - coalesce(size, 0) <= ${BATCH.bytes} ORDER BY place`,
      count: `SELECT waiting, aside, ${age ? `(extract(epoch FROM clock_timestamp() - oldest) * 1000)::bigint::text` : "NULL"} AS oldest
        FROM (SELECT count(*)::integer AS waiting FROM (
            SELECT 1 FROM ${this.#name} WHERE problem IS NULL LIMIT ${MAX_COUNTED}) AS w) AS w,
          (SELECT count(*)::integer AS aside FROM (
            SELECT 1 FROM ${this.#name} WHERE problem IS NOT NULL LIMIT ${MAX_COUNTED}) AS a) AS a
          LEFT JOIN LATERAL (SELECT ${age ? "created_at" : "NULL"} AS oldest FROM ${this.#name}
            WHERE problem IS NULL ORDER BY id LIMIT 1) AS o ON true`,
    };
  }

  async #telling<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#faultOf(error);
    }
  }

  /** Errors of our own store pass unchanged, because the outbox is not at fault. */
  #faultOf(error: unknown): unknown {
    // A connection that could not be made is reported in the same way as one of our own store.
    const ofServer = error instanceof WebhookdError && isOfServer(error.cause) ? error.cause : error;
    if (!isOfServer(ofServer)) return error;
    const { is, what } = faultOf(ofServer);
    const trouble = {
      what: `${is === "unknown" ? "it refused a statement" : what}: ${wordsOf(ofServer)}`,
      todo: this.#todo(ofServer),
    };
    return new OutboxFault(trouble, ofServer);
  }

  #todo(error: Error): string {
    const code = "code" in error ? String(error.code) : "";
    if (code === "42501") return lacks(this.#outbox).todo;
    if (code === "42P01") return createIt(this.#outbox);
    if (code === "57014")
      return "see why the database is slow, and whether the table has the index of " + printedBy(this.#outbox);
    if (code.startsWith("42")) return `compare the table with the output of ${printedBy(this.#outbox)}`;
    if (/^(28|3D)/.test(code)) return "correct the user, the password or the database in [[outbox]] url";
    return "start it, or correct [[outbox]] url; it is read again as soon as it can be";
  }
}

/**
 * Two nodes that read at the same time would publish the events of a key in any order. The lock ends with the
 * transaction. Its number is a hash of the table's name, so all nodes must spell that alike.
 */
const aloneIn = (table: string): string =>
  `(SELECT pg_try_advisory_xact_lock(hashtextextended('webhookd outbox ${table.replaceAll("'", "''")}', 0)))`;
/** The parameter has to be used. */
const FIXED_TENANT = "cardinality($3::text[]) = 0";

function lacks(outbox: Settings): OutboxTrouble {
  return {
    what: `the user lacks a right to the table ${outbox.table}`,
    todo: `run the GRANT statements of ${printedBy(outbox)} --role ROLE`,
  };
}

/** Returns true for an error of a server or of the network to it. */
function isOfServer(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof WebhookdError || error instanceof OutboxFault) return false;
  return "severity" in error || "code" in error || faultOf(error).is !== "unknown";
}

/** Returns true for an error in the names of a statement, or in our rights to them. */
function isAboutTable(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("42");
}

/** Returns an instant of the column as RFC 3339. */
function instantOf(type: string | undefined): string {
  const pattern = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;
  if (type?.startsWith("timestamp") !== true) return "o.created_at::text";
  if (type.endsWith("with time zone")) return `to_char(o.created_at AT TIME ZONE 'UTC', ${pattern})`;
  return `to_char(o.created_at, ${pattern})`;
}

function rowOf({ data, data_bytes: bytes, ...row }: TakenRow): OutboxRow {
  return { ...row, data: data === null ? null : Buffer.from(data), dataBytes: bytes === null ? null : Number(bytes) };
}
