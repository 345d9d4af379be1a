import type { Database, Statement } from "better-sqlite3";

/** Publishers may use any number of tenants, so the cache is cleared at this size. */
const MAX_REMEMBERED = 50_000;

/** A table of names that rows refer to by number. Its cache must be cleared when a transaction is undone. */
export class Interned {
  readonly #select: Statement<[string], number>;
  readonly #insert: Statement<[string]>;
  readonly #selectName: Statement<[number], string>;
  readonly #numbers = new Map<string, number>();
  readonly #names = new Map<number, string>();

  constructor(db: Database, table: "tenant" | "event_type" | "url") {
    this.#select = db.prepare<[string], number>(`SELECT num FROM ${table} WHERE name = ?`).pluck();
    this.#insert = db.prepare(`INSERT INTO ${table} (name) VALUES (?)`);
    this.#selectName = db.prepare<[number], string>(`SELECT name FROM ${table} WHERE num = ?`).pluck();
  }

  /** Returns the number of the name, and adds the name if it is new. Call it only inside a transaction. */
  number(name: string): number {
    return this.find(name) ?? this.#remember(name, Number(this.#insert.run(name).lastInsertRowid));
  }

  find(name: string): number | undefined {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const stored = this.#select.get(name);
    return stored === undefined ? undefined : this.#remember(name, stored);
  }

  /** Returns the numbers of those names that exist. */
  findSome(names: readonly string[]): Set<number> {
    return new Set(names.map((name) => this.find(name)).filter((number) => number !== undefined));
  }

  name(number: number): string {
    const name = this.nameIfAny(number);
    if (name === undefined) throw new Error(`no name has the number ${number}`);
    return name;
  }

  nameIfAny(number: number): string | undefined {
    const known = this.#names.get(number);
    if (known !== undefined) return known;
    const name = this.#selectName.get(number);
    if (name !== undefined) this.#remember(name, number);
    return name;
  }

  /** Called when the row of the name was removed. */
  dropped(number: number, name: string): void {
    this.#numbers.delete(name);
    this.#names.delete(number);
  }

  forget(): void {
    this.#numbers.clear();
    this.#names.clear();
  }

  #remember(name: string, number: number): number {
    if (this.#numbers.size >= MAX_REMEMBERED) this.forget();
    this.#numbers.set(name, number);
    this.#names.set(number, name);
    return number;
  }
}
