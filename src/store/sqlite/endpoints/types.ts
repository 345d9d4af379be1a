/** The table of event types that operators keep, and everything that refers to one of them. */
import type { Database, Statement } from "better-sqlite3";
import { deletedFault, type StoredType, type TypeUse } from "../../../domain/events/catalogue.ts";
import type { WebhookdError } from "../../../domain/errors.ts";
import { DELETED_FOR_MS, TYPE_COLUMNS, typeOf, typeValues, type TypeRow } from "../../rows/type-row.ts";
import type { Interned } from "../numbers/names.ts";

/** The number of endpoints to name if a type is still in use. */
const NAMED = 3;

export class TypeRows {
  readonly #types: Interned;
  readonly #select: Statement<[string], TypeRow>;
  readonly #all: Statement<[], TypeRow>;
  readonly #count: Statement<[], number>;
  readonly #replace: Statement<unknown[]>;
  readonly #markDeleted: Statement<[number, string]>;
  readonly #forget: Statement<[number]>;
  readonly #revive: Statement<[string]>;
  readonly #deleted: Statement<[string], string>;
  readonly #choosers: Statement<[number], string>;
  readonly #hasEvents: Statement<[number], number>;

  constructor(db: Database, types: Interned) {
    this.#types = types;
    this.#select = db.prepare("SELECT * FROM type_definition WHERE name = ?");
    this.#all = db.prepare("SELECT * FROM type_definition");
    this.#count = db.prepare<[], number>("SELECT count(*) FROM type_definition WHERE deleted_at IS NULL").pluck();
    this.#replace = db.prepare(
      `INSERT OR REPLACE INTO type_definition (${TYPE_COLUMNS.join()}) VALUES (${TYPE_COLUMNS.map(() => "?").join()})`,
    );
    this.#markDeleted = db.prepare("UPDATE type_definition SET deleted_at = ? WHERE name = ?");
    this.#forget = db.prepare("DELETE FROM type_definition WHERE deleted_at < ?");
    this.#revive = db.prepare(
      "DELETE FROM type_definition WHERE deleted_at IS NOT NULL AND name IN (SELECT value FROM json_each(?))",
    );
    this.#deleted = db
      .prepare<[string], string>(
        "SELECT name FROM type_definition WHERE deleted_at IS NOT NULL AND name IN (SELECT value FROM json_each(?))",
      )
      .pluck();
    this.#choosers = db
      .prepare<[number], string>(
        `SELECT e.id FROM subscription s JOIN endpoint e ON e.number = s.endpoint
         WHERE s.type = ? AND e.deleted_at IS NULL ORDER BY e.number`,
      )
      .pluck();
    // The index begins with the tenant, and there is none of all events by type.
    this.#hasEvents = db
      .prepare<[number], number>(
        `SELECT EXISTS (SELECT 1 FROM tenant t WHERE EXISTS
           (SELECT 1 FROM event INDEXED BY event_tenant_type WHERE tenant = t.num AND type = ?))`,
      )
      .pluck();
  }

  get(name: string): StoredType | null {
    const row = this.#select.get(name);
    return row === undefined || row.deleted_at !== null ? null : typeOf(row);
  }

  all(): TypeRow[] {
    return this.#all.all();
  }

  get count(): number {
    return this.#count.get()!;
  }

  put(type: StoredType): void {
    this.#replace.run(...typeValues(type));
  }

  markDeleted(name: string, now: number): void {
    this.#forget.run(now - DELETED_FOR_MS);
    this.#markDeleted.run(now, name);
  }

  revive(names: readonly string[]): void {
    this.#revive.run(JSON.stringify(names));
  }

  useOf(name: string): TypeUse {
    const type = this.#types.find(name);
    if (type === undefined) return { endpoints: 0, some: [], hasEvents: false };
    const choosers = this.#choosers.all(type);
    return {
      endpoints: choosers.length,
      some: choosers.slice(0, NAMED),
      hasEvents: choosers.length === 0 && this.#hasEvents.get(type) === 1,
    };
  }

  /** Refuses types that an endpoint is about to choose and that have been deleted. Null if there are none. */
  deletedFault(events: readonly string[]): WebhookdError | null {
    return deletedFault(events, this.#deleted.all(JSON.stringify(events)));
  }
}
