/** Reads which keys are held, for those who are to free them. */
import type { Database, Statement } from "better-sqlite3";
import type { HeldKeys as Held } from "../../../domain/deliveries/ordering.ts";
import { heldKeysOf, heldKeysSql, HOLDING, type HeldKeysRow } from "../../rows/ordering-sql.ts";

export class HeldKeys {
  readonly #of: Statement<[number], HeldKeysRow>;
  readonly #all: Statement<[number], HeldKeysRow>;

  constructor(db: Database) {
    this.#of = db.prepare(heldKeysSql("SELECT ? AS number"));
    this.#all = db.prepare(`${heldKeysSql(HOLDING)} LIMIT ?`);
  }

  of(endpoint: number): Held | null {
    const row = this.#of.get(endpoint);
    return row === undefined ? null : heldKeysOf(row);
  }

  /** Returns those of at most `limit` endpoints, by their numbers. */
  all(limit: number): ReadonlyMap<number, Held> {
    return new Map(this.#all.all(limit).map((row) => [row.number, heldKeysOf(row)]));
  }
}
