/** The choices of endpoints: which events each received, from one change to the next. */
import type { Database, Statement } from "better-sqlite3";
import { type ChoiceChange, type ChoiceThen, KEPT_CHOICES } from "../../../domain/endpoints/choice.ts";
import {
  CHOICE_COLUMNS,
  choiceThen,
  type ChoiceRow,
  FIRST_NEEDED,
  insertChoice,
  IS_SAME_CHOICE,
  LAST_CHOICE,
} from "../../rows/choice-row.ts";
import { CHUNK } from "../engine/group-commit.ts";

export class Choices {
  readonly #selectLast: Statement<[], number | string>;
  readonly #count: Statement<[], number>;
  readonly #isSame: Statement<[number], number>;
  readonly #end: Statement<[number, number]>;
  readonly #add: Statement<[number, ChoiceChange, number, number]>;
  readonly #limit: Statement<[number, number]>;
  readonly #from: Statement<[number, number], ChoiceRow>;
  readonly #drop: Statement<[number]>;
  readonly #prune: Statement<[]>;
  #last: number | null = null;

  constructor(db: Database) {
    this.#selectLast = db.prepare<[], number | string>(`SELECT value FROM meta WHERE name = '${LAST_CHOICE}'`).pluck();
    this.#count = db
      .prepare<[], number>(
        `INSERT INTO meta (name, value) VALUES ('${LAST_CHOICE}', 1)
         ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
      )
      .pluck();
    this.#isSame = db
      .prepare<[number], number>(
        `SELECT 1 FROM choice c JOIN endpoint e ON e.number = c.endpoint
         WHERE c.endpoint = ? AND c.until IS NULL AND ${IS_SAME_CHOICE}`,
      )
      .pluck();
    this.#end = db.prepare("UPDATE choice SET until = ? WHERE endpoint = ? AND until IS NULL");
    this.#add = db.prepare(insertChoice(["?", "?", "?", "?"]));
    this.#limit = db.prepare(
      `DELETE FROM choice WHERE endpoint = ? AND num <
         (SELECT num FROM choice WHERE endpoint = ? ORDER BY num DESC LIMIT 1 OFFSET ${KEPT_CHOICES - 1})`,
    );
    this.#from = db.prepare(
      `SELECT ${CHOICE_COLUMNS} FROM choice WHERE endpoint = ? AND (until IS NULL OR until > ?) ORDER BY num LIMIT 2`,
    );
    this.#drop = db.prepare("DELETE FROM choice WHERE endpoint = ?");
    this.#prune = db.prepare(
      `DELETE FROM choice WHERE (endpoint, num) IN (
         SELECT endpoint, num FROM choice INDEXED BY choice_until
         WHERE until IS NOT NULL AND until <= coalesce(${FIRST_NEEDED}, until) ORDER BY until LIMIT ${CHUNK})`,
    );
  }

  /** The last change of all endpoints. */
  get last(): number {
    return (this.#last ??= Number(this.#selectLast.get() ?? 0));
  }

  /** Call it inside the transaction that changed the endpoint's row. It does nothing if the choice is still the same. */
  note(endpoint: number, change: ChoiceChange, now: number): void {
    if (change === "changed" && this.#isSame.get(endpoint) !== undefined) return;
    this.#last = this.#count.get()!;
    this.#end.run(this.#last, endpoint);
    this.#add.run(this.#last, change, now, endpoint);
    this.#limit.run(endpoint, endpoint);
  }

  /** Returns the endpoint's choice for an event whose publish saw that change. */
  at(endpoint: number, seen: number): ChoiceThen {
    return choiceThen(this.#from.all(endpoint, seen), seen, true);
  }

  /** Call it before the endpoint's row is removed. */
  drop(endpoint: number): void {
    this.#drop.run(endpoint);
  }

  /** Removes at most 500 choices that no event needs any more. Call it inside a transaction. */
  prune(): number {
    return this.#prune.run().changes;
  }

  /** The transaction was undone. */
  forget(): void {
    this.#last = null;
  }
}
