/** The event types that operators keep. `meta` counts each change, so that other nodes notice it within a second. */
import {
  deletedFault,
  deletionFault,
  capacityFault,
  type StoredType,
  type TypeUse,
} from "../../../domain/events/catalogue.ts";
import {
  addedIn,
  changedTypes,
  DELETED_FOR_MS,
  isChanged,
  TYPE_COLUMNS,
  TYPES_REVISION,
  typeOf,
  typeValues,
  type TypeRow,
} from "../../rows/type-row.ts";
import type { EventTypeStore, PutTypes, StoredTypes, TypeChange } from "../../store.ts";
import type { Queries } from "../engine/database.ts";
import { type Engine, getMeta } from "../engine/engine.ts";

/** The number of endpoints to name if a type is still in use. */
const NAMED = 3;

/** Locks the types, so that changes on different nodes happen one after another. */
const LOCK = `INSERT INTO meta (name, value) VALUES ('${TYPES_REVISION}', '0')
  ON CONFLICT (name) DO UPDATE SET value = meta.value RETURNING value`;
const COUNT = `UPDATE meta SET value = (value::bigint + 1)::text WHERE name = '${TYPES_REVISION}' RETURNING value`;

/** One statement, so that the revision is that of the rows. */
const LIST = `SELECT m.value AS revision, t.* FROM (SELECT 1) one
  LEFT JOIN meta m ON m.name = '${TYPES_REVISION}' LEFT JOIN type_definition t ON true`;

const PUT = `INSERT INTO type_definition (${TYPE_COLUMNS.join()})
  VALUES (${TYPE_COLUMNS.map((_, at) => `$${at + 1}`).join()})
  ON CONFLICT (name) DO UPDATE SET deleted_at = NULL,
    ${TYPE_COLUMNS.map((column) => `${column} = excluded.${column}`).join()}`;

export class PostgresTypes implements EventTypeStore {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async revision(): Promise<number> {
    return Number((await getMeta(this.#engine.database, TYPES_REVISION)) ?? 0);
  }

  async list(): Promise<StoredTypes> {
    const rows = await this.#engine.database.rows<{ revision: string | null } & TypeRow & { name: string | null }>(
      LIST,
    );
    const known = rows.filter(({ name }) => name !== null);
    return {
      revision: Number(rows[0]!.revision ?? 0),
      types: known.filter((row) => row.deleted_at === null).map(typeOf),
      deleted: known.filter((row) => row.deleted_at !== null).map(({ name }) => name),
    };
  }

  put(names: readonly string[], change: TypeChange): Promise<PutTypes> {
    return this.#engine.write(async (tx) => {
      const [meta] = await tx.rows<{ value: string }>(LOCK);
      const there = await typesNamed(tx, names);
      const types = changedTypes(names, (name) => there.get(name) ?? null, change);
      const added = addedIn(types);
      if (added > 0) {
        const sql = "SELECT count(*)::integer AS count FROM type_definition WHERE deleted_at IS NULL";
        const refused = capacityFault((await tx.rows<{ count: number }>(sql))[0]!.count, added);
        if (refused !== null) throw refused;
      }
      const changed = types.filter(isChanged);
      for (const { type } of changed) await tx.change(PUT, typeValues(type));
      return { types, revision: changed.length === 0 ? Number(meta!.value) : await count(tx) };
    });
  }

  async delete(name: string, now: number): Promise<number | null> {
    // Looking for events may take long, but the type still exists while they are published.
    const hasEvents = await this.#hasEvents(name);
    return this.#engine.write(async (tx) => {
      await tx.rows(LOCK);
      // An endpoint that is about to choose the type holds the type's row, so this waits for its commit.
      await tx.rows("SELECT 1 FROM type_definition WHERE name = $1 FOR UPDATE", [name]);
      if ((await typesNamed(tx, [name])).size === 0) return null;
      const refused = deletionFault(name, { ...(await choosersOf(tx, name)), hasEvents });
      if (refused !== null) throw refused;
      await tx.change("DELETE FROM type_definition WHERE deleted_at < $1", [now - DELETED_FOR_MS]);
      await tx.change("UPDATE type_definition SET deleted_at = $2 WHERE name = $1", [name, now]);
      return count(tx);
    });
  }

  async revive(names: readonly string[]): Promise<void> {
    await this.#engine.write((tx) =>
      tx.change("DELETE FROM type_definition WHERE deleted_at IS NOT NULL AND name = ANY($1::text[])", [names]),
    );
  }

  /**
   * No index has events by type, so this may read all of them, like a list. For a type that was never used it costs
   * nothing.
   */
  async #hasEvents(name: string): Promise<boolean> {
    const { database } = this.#engine;
    const used = await database.rows("SELECT 1 FROM event_type WHERE name = $1", [name]);
    if (used.length === 0) return false;
    return (await database.lists.rows("SELECT 1 FROM event WHERE type = $1 LIMIT 1", [name])).length > 0;
  }
}

async function typesNamed(tx: Queries, names: readonly string[]): Promise<ReadonlyMap<string, StoredType>> {
  const sql = "SELECT * FROM type_definition WHERE name = ANY($1::text[]) AND deleted_at IS NULL";
  const rows = await tx.rows<TypeRow>(sql, [names]);
  return new Map(rows.map((row) => [row.name, typeOf(row)]));
}

async function choosersOf(tx: Queries, name: string): Promise<Omit<TypeUse, "hasEvents">> {
  const rows = await tx.rows<{ id: string }>(
    `SELECT e.id FROM subscription s JOIN endpoint e ON e.number = s.endpoint
     WHERE s.type = $1 AND e.deleted_at IS NULL ORDER BY e.number`,
    [name],
  );
  return { endpoints: rows.length, some: rows.slice(0, NAMED).map(({ id }) => id) };
}

async function count(tx: Queries): Promise<number> {
  const [meta] = await tx.rows<{ value: string }>(COUNT);
  return Number(meta!.value);
}

/**
 * Called in the transaction in which an endpoint chooses these types. Throws if one was deleted. None of them can be
 * deleted until the commit.
 */
export async function requireThere(tx: Queries, events: readonly string[]): Promise<void> {
  const sql = "SELECT name, deleted_at FROM type_definition WHERE name = ANY($1::text[]) ORDER BY name FOR SHARE";
  const rows = await tx.rows<Pick<TypeRow, "name" | "deleted_at">>(sql, [events]);
  const deleted = rows.filter((row) => row.deleted_at !== null).map(({ name }) => name);
  const refused = deletedFault(events, deleted);
  if (refused !== null) throw refused;
}
