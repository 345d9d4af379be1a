/**
 * Copies a store from one side to the other. Rows are copied by pages, each in a transaction that also records how far
 * the copy has got. If a daemon keeps running, a page may be older than the next one, so every change since the copy
 * began is listed and copied again.
 */
import { hash } from "node:crypto";
import { StoreRefused } from "../files/refused.ts";
import { lineOf } from "../postgres/engine/copy.ts";
import type { PostgresSide } from "../postgres/moving.ts";
import type { FileSide } from "./file-side.ts";
import { TABLES, type Key, type Page, type Place, type Table } from "./tables.ts";

export type Side = FileSide | PostgresSide;

export interface State {
  /** Identifies the source, and the moment of the copy if no daemon has the store. */
  readonly source: string;
  /** The id of the list of changes. Null if no daemon has the store. */
  readonly log: string | null;
  /** The place in the list up to which changes have been copied. */
  readonly seen: number;
  readonly table: number;
  readonly after: Place | null;
  /** The sums of the copied rows or, beside a daemon, of the compared tables. */
  readonly sums: Readonly<Record<string, Sum>>;
  readonly isCompared: boolean;
}

type Doing = "copying" | "comparing" | "catching up";
export type Tell = (doing: Doing, table: Table, more: number, rows: number) => void;

export class Copy {
  readonly #from: Side;
  readonly #to: Side;
  readonly #tell: Tell;
  #state: State;
  #written: string;

  constructor(from: Side, to: Side, state: State, tell: Tell) {
    this.#from = from;
    this.#to = to;
    this.#tell = tell;
    this.#state = state;
    this.#written = JSON.stringify(state);
  }

  get state(): State {
    return this.#state;
  }

  async allPages(): Promise<void> {
    const begun = this.#state;
    const isAlone = begun.log === null;
    let writing = Promise.resolve();
    for (let at = begun.table; at < TABLES.length; at++) {
      const table = TABLES[at]!;
      const sum = [...(begun.sums[table.name] ?? emptySum())];
      for await (const { rows, next } of pagesOf(this.#from, table, at === begun.table ? begun.after : null)) {
        const lines = rows.map(lineOf);
        if (isAlone) for (const line of lines) addTo(sum, line);
        await writing;
        const sums = isAlone ? { ...this.#state.sums, [table.name]: [...sum] } : {};
        const state = { ...this.#state, table: next === null ? at + 1 : at, after: next, sums };
        // Read the next page while this one is written.
        writing = this.#commit(
          async () => this.#to.add(table, rows, lines),
          () => state,
        );
        writing.catch(() => {});
        this.#tell("copying", table, rows.length, sum[0]!);
      }
    }
    await writing;
  }

  /** Reads back the whole copy. Nothing may change it during that time. */
  async compare(): Promise<void> {
    const different: string[] = [];
    for (const table of TABLES) {
      const sum = await this.#sumOf(this.#to, table);
      if (sum.join() !== this.#state.sums[table.name]!.join()) different.push(table.name);
    }
    if (different.length > 0) throw this.#differs(different);
  }

  /** Reads each table on both sides, as it was at one moment. From then on the table's sum follows its changes. */
  async compareBeside(): Promise<void> {
    for (const table of TABLES) {
      if (this.#state.sums[table.name] !== undefined) continue;
      await this.#snapshot(async () => {
        await this.#catchUp();
        const both = [this.#sumOf(this.#from, table), this.#sumOf(this.#to, table)];
        const [sum, other] = (await Promise.all(both)) as [Sum, Sum];
        if (sum.join() !== other.join()) throw this.#differs([table.name]);
        const sums = { ...this.#state.sums, [table.name]: sum };
        await this.#commit(
          async () => {},
          () => ({ ...this.#state, sums }),
        );
      });
    }
  }

  /** Copies the changes made until now. */
  async again(): Promise<void> {
    await this.#snapshot(() => this.#catchUp());
  }

  async finish(): Promise<void> {
    await this.#commit(
      async () => {},
      () => ({ ...this.#state, isCompared: true }),
    );
  }

  async #snapshot(work: () => Promise<void>): Promise<void> {
    await this.#from.startSnapshot(this.#state.seen);
    if ((await this.#from.log.id()) !== this.#state.log) {
      const what = `the list of what changed in ${this.#from.name} since the copy began is gone`;
      if (!(await this.#from.log.isFull())) {
        throw new StoreRefused(
          1,
          what,
          "another move has begun since, or this one was given up; start again with an empty target",
        );
      }
      const todo =
        "run the same command with --give-up instead of --online and --resume; then start again with an empty target";
      throw new StoreRefused(1, `${what}: the list grew too long, so the move cannot continue`, todo);
    }
    await work();
    await this.#from.endSnapshot();
  }

  async #catchUp(): Promise<void> {
    for (let all = 0; ;) {
      const { keys, count, seen } = await this.#from.log.changes();
      if (count === 0) return;
      all += count;
      const sums: Record<string, Sum> = Object.fromEntries(
        Object.entries(this.#state.sums).map(([name, sum]) => [name, [...sum]]),
      );
      await this.#commit(
        () => this.#replace(keys, sums),
        () => ({ ...this.#state, seen, sums }),
      );
      this.#tell(
        "catching up",
        TABLES.find(({ name }) => keys.has(name))!,
        0,
        all,
      );
    }
  }

  /**
   * Removes all old rows first, because a name may have passed from one row to another. Then reads the new rows back.
   */
  async #replace(keys: ReadonlyMap<string, readonly Key[]>, sums: Record<string, Sum>): Promise<void> {
    const [from, to] = [this.#from, this.#to];
    const parts = TABLES.filter(({ group }) => keys.has(group)).map((table) => ({
      table,
      some: keys.get(table.group)!,
    }));
    for (const { table, some } of parts) {
      const sum = sums[table.name];
      if (sum !== undefined) for (const row of await to.rowsOf(table, some)) addTo(sum, lineOf(row), -1);
    }
    for (const { table, some } of parts) await to.remove(table, some);
    const copied: { readonly table: Table; readonly some: readonly Key[]; readonly sum: Sum }[] = [];
    for (const { table, some } of parts) {
      const rows = await from.rowsOf(table, some);
      const lines = rows.map(lineOf);
      await to.add(table, rows, lines);
      copied.push({ table, some, sum: sumOfLines(lines) });
    }
    for (const { table, some, sum } of copied) {
      const all = sums[table.name];
      if (all === undefined) continue;
      const written = sumOfLines((await to.rowsOf(table, some)).map(lineOf));
      if (written.join() !== sum.join()) throw this.#differs([table.name]);
      sum.forEach((part, at) => (all[at] = at === 0 ? all[at]! + part : (all[at]! + part) >>> 0));
    }
  }

  async #commit(work: () => Promise<void>, then: () => State): Promise<void> {
    let next = this.#state;
    const after = () => JSON.stringify((next = then()));
    await this.#to.transaction({ before: this.#written, after, dry: false }, work);
    this.#state = next;
    this.#written = JSON.stringify(next);
  }

  async #sumOf(side: Side, table: Table): Promise<Sum> {
    const sum = emptySum();
    for await (const { rows } of pagesOf(side, table, null)) {
      for (const row of rows) addTo(sum, lineOf(row));
      this.#tell("comparing", table, rows.length, sum[0]!);
    }
    return sum;
  }

  #differs(tables: readonly string[]): StoreRefused {
    const what = `what was copied into ${this.#to.name} differs from what is in ${this.#from.name}: ${tables.join()}`;
    return new StoreRefused(
      65,
      what,
      "the store is still where it was; start again with an empty target, and please report this",
    );
  }
}

/** Reads each page while the caller works on the previous one. */
async function* pagesOf(side: Side, table: Table, after: Place | null): AsyncGenerator<Page> {
  for (let page = side.page(table, after); ;) {
    const { rows, next } = await page;
    if (next !== null) {
      page = side.page(table, next);
      if (page instanceof Promise) page.catch(() => {});
    }
    yield { rows, next };
    if (next === null) return;
  }
}

/** The number of rows, and four sums of their hashes, which do not depend on the order. */
type Sum = number[];

const emptySum = (): Sum => [0, 0, 0, 0, 0];

function addTo(sum: Sum, line: string, times: 1 | -1 = 1): void {
  const bytes = hash("sha256", line, "buffer");
  sum[0]! += times;
  for (let at = 1; at < sum.length; at++) sum[at] = (sum[at]! + times * bytes.readUInt32LE(4 * at)) >>> 0;
}

function sumOfLines(lines: readonly string[]): Sum {
  const sum = emptySum();
  for (const line of lines) addTo(sum, line);
  return sum;
}

export function textOf(sum: Sum): string {
  return sum
    .slice(1)
    .map((part) => part.toString(16).padStart(8, "0"))
    .join("");
}
