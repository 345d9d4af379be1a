/** Reads which keys are held, for those who are to free them. */
import type { Database, Statement } from "better-sqlite3";
import { heldKeysLimit, type EndpointHeldKeys, type HeldKeys as Held } from "../../../domain/deliveries/ordering.ts";
import { heldKeysOf, heldKeysSql, holdingSql, type HeldKeysRow, type HoldingRow } from "../../rows/ordering-sql.ts";
import { CHUNK } from "../engine/group-commit.ts";
import type { Reading } from "../engine/page.ts";

export class HeldKeys {
  readonly #any: Statement<[], number>;
  readonly #of: Statement<[{ endpoint: number; limit: number }], HeldKeysRow>;
  readonly #holding: Statement<[number], HoldingRow>;

  constructor(db: Database) {
    this.#any = db.prepare<[], number>("SELECT 1 FROM held_key LIMIT 1").pluck();
    this.#of = db.prepare(heldKeysSql("SELECT @endpoint AS number", "@limit"));
    this.#holding = db.prepare(holdingSql("?"));
  }

  get isAny(): boolean {
    return this.#any.get() !== undefined;
  }

  /** Counts at most `limit` keys. */
  of(endpoint: number, limit: number): Held | null {
    const row = this.#of.get({ endpoint, limit });
    return row === undefined ? null : heldKeysOf(row);
  }

  /** Returns those of at most `limit` endpoints, the longest held first. */
  *longest(limit: number): Reading<readonly EndpointHeldKeys[], never> {
    const holding = this.#holding.all(limit);
    const found: EndpointHeldKeys[] = [];
    let looked = 0;
    for (const { number, id } of holding) {
      if (looked >= CHUNK) {
        looked = 0;
        yield;
      }
      const held = this.of(number, heldKeysLimit(holding.length));
      // It may have been freed since the last slice.
      if (held === null) continue;
      found.push({ endpoint: id, ...held });
      looked += held.count;
    }
    return found;
  }
}
