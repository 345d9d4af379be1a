/**
 * The changes in PostgreSQL while its store is moved and its nodes keep running. Triggers, which exist only during the
 * move, list the keys of changed rows in the transactions that change them. The list has a maximum size, because a move
 * may be abandoned: a full list grows no further, and is useless from then on.
 */
import { randomUUID } from "node:crypto";
import type { Changes, Key, Table } from "../../move/tables.ts";
import type { Queries } from "./database.ts";
import type { OpenMove } from "../../store.ts";
import { getMeta, setMeta } from "./engine.ts";

const SOME = 2000;
const LOG = "moving_change";
/** The size in bytes at which the list is full, after about 20 million changes. */
export const FULL = 2 ** 31;
const TAKEN = "moving_taken";
const ID = "moving_out";
const KINDS = { INSERT: "NEW", UPDATE: "NEW", DELETE: "OLD" } as const;

/** Returns null if no move was begun, or if it is over. */
export async function openMove(queries: Queries): Promise<OpenMove | null> {
  const [list] = await queries.rows<{ is: boolean; id: string | null }>(
    `SELECT to_regclass('${LOG}') IS NOT NULL AS is, (SELECT value FROM meta WHERE name = '${ID}') AS id`,
  );
  if (!list!.is) return null;
  const [, since] = /^(\d{13,})-/.exec(list!.id ?? "") ?? [];
  return { since: since === undefined ? null : Number(since) };
}

export class ChangeLog {
  readonly #queries: Queries;
  readonly #tables: readonly Table[];
  #seen: number | null = null;

  constructor(queries: Queries, tables: readonly Table[]) {
    this.#queries = queries;
    this.#tables = tables;
  }

  /**
   * Returns the id of this list, which distinguishes it from others. Returns null if there is none, or if it is full.
   */
  id(): Promise<string | null> {
    return getMeta(this.#queries, ID);
  }

  async isFull(): Promise<boolean> {
    const [list] = await this.#queries.rows<{ is: boolean }>(`SELECT to_regclass('${LOG}') IS NOT NULL AS is`);
    return list!.is && (await this.id()) === null;
  }

  /** Uses a transaction per table, so that no two tables are locked together. */
  async begin(): Promise<string> {
    await this.end();
    const [clock] = await this.#queries.rows<{ now: number }>(
      "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
    );
    // The id begins with the time at which the list was started.
    const id = `${clock!.now}-${randomUUID()}`;
    await this.#queries.script(`CREATE TABLE ${LOG} (name text NOT NULL, key jsonb NOT NULL)`);
    // Store the id first: from the first trigger on, no change may be left out.
    await setMeta(this.#queries, ID, id);
    for (const table of this.#tables) await this.#queries.script(triggersOf(table));
    return id;
  }

  async end(): Promise<void> {
    await this.#queries.change("DELETE FROM meta WHERE name = $1", [ID]);
    const drops = this.#tables.map(({ name }) => `DROP FUNCTION IF EXISTS moving_${name} CASCADE`);
    await this.#queries.script(`SET client_min_messages = warning; ${drops.join("; ")}; DROP TABLE IF EXISTS ${LOG}`);
  }

  startSnapshot(): void {
    this.#seen = null;
  }

  /** Returns some of the changes that the snapshot sees. Its commit removes them from the list. */
  async changes(): Promise<Changes> {
    if (this.#seen === null) {
      await this.#queries.script(
        `CREATE TEMP TABLE IF NOT EXISTS ${TAKEN} (
           n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, key jsonb NOT NULL
         ) ON COMMIT DELETE ROWS;
         WITH gone AS (DELETE FROM ${LOG} RETURNING name, key)
         INSERT INTO ${TAKEN} (name, key) SELECT DISTINCT name, key FROM gone`,
      );
      this.#seen = 0;
    }
    const rows = await this.#queries.rows<{ n: number; name: string; key: Record<string, string | number> }>(
      `SELECT n, name, key FROM ${TAKEN} WHERE n > $1 ORDER BY n LIMIT ${SOME}`,
      [this.#seen],
    );
    this.#seen = rows.at(-1)?.n ?? this.#seen;
    const keys = new Map<string, Key[]>();
    for (const { name, key } of rows) {
      const { groupKey } = this.#tables.find((table) => table.group === name)!;
      const some = keys.get(name) ?? [];
      keys.set(name, some);
      some.push(groupKey.map((column) => key[column]!));
    }
    return { keys, count: rows.length, seen: 0 };
  }
}

function triggersOf({ name, group, groupKey }: Table): string {
  const key = groupKey.map((column) => `'${column}', "${column}"`).join();
  const triggers = Object.entries(KINDS).map(
    ([kind, rows]) =>
      `CREATE TRIGGER moving_${kind.toLowerCase()} AFTER ${kind} ON ${name} REFERENCING ${rows} TABLE AS changed
       FOR EACH STATEMENT EXECUTE FUNCTION moving_${name}();`,
  );
  return `CREATE FUNCTION moving_${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NOT EXISTS (SELECT 1 FROM meta WHERE name = '${ID}') THEN RETURN NULL; END IF;
      IF pg_relation_size('${LOG}') < ${FULL} THEN
        INSERT INTO ${LOG} (name, key) SELECT DISTINCT '${group}', jsonb_build_object(${key}) FROM changed;
      ELSE
        -- From now on the list has a hole, even if there is space again.
        DELETE FROM meta WHERE name = '${ID}';
      END IF;
      RETURN NULL;
    END $$;
    ${triggers.join("\n")}`;
}
