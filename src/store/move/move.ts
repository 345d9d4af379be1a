/**
 * Moves a whole store between the file and PostgreSQL, while no daemon has either. Pages of rows are copied, each in a
 * transaction that also says how far the copy is; then all of the copy is read again and compared. The source stays as
 * it is until then. It is put out of use before the copy is put into use, so that at no time two daemons could start.
 */
import { hash } from "node:crypto";
import { StoreRefused } from "../files/refused.ts";
import { lineOf } from "../postgres/engine/copy.ts";
import { PostgresSide } from "../postgres/moving.ts";
import { refusalOf } from "../postgres/opening.ts";
import { FileSide, WHOLE, type FilePlace } from "./file-side.ts";
import { FACTS, TABLES, type Page, type Place, type Table } from "./tables.ts";

export interface MoveOptions extends FilePlace {
  readonly url: string;
  readonly direction: "to_postgres" | "to_file";
  readonly how: "move" | "dry-run";
  /** Goes on with what a killed process left. */
  readonly resume: boolean;
  readonly onProgress: (progress: MoveProgress) => void;
  readonly monotonic: () => number;
}

export interface MoveProgress {
  readonly doing: "copying" | "comparing";
  readonly table: string;
  readonly rows: number;
  readonly of: number;
  /** Of all that is to be done, from 0 to 1. */
  readonly part: number;
}

export interface MovedTable {
  readonly name: string;
  readonly rows: number;
  /** The same on both sides; null when nothing was compared. */
  readonly sum: string | null;
}

export interface Moved {
  readonly from: string;
  readonly to: string;
  readonly tables: readonly MovedTable[];
  /** Of the source. */
  readonly bytes: number;
  /** How long it took, or is going to take. */
  readonly ms: number;
}

interface State {
  /** Which store it is a copy of, and of what moment. */
  readonly source: string;
  readonly table: number;
  readonly after: Place | null;
  readonly sums: Record<string, Sum>;
  readonly isCompared: boolean;
}

type Side = FileSide | PostgresSide;

/** Throws `StoreRefused` when it cannot be done, or what was copied is not the same. */
export async function moveStore(options: MoveOptions): Promise<Moved> {
  const file = new FileSide(options);
  let postgres: PostgresSide | null = null;
  try {
    postgres = await PostgresSide.connect(options.url);
    return await new Move(options, file, postgres).run();
  } catch (error) {
    throw refusalOf(error, options.url);
  } finally {
    await postgres?.close();
    file.close();
  }
}

class Move {
  readonly #options: MoveOptions;
  readonly #file: FileSide;
  readonly #postgres: PostgresSide;
  readonly #from: Side;
  readonly #to: Side;
  readonly #counts = new Map<string, number>();
  #done = 0;

  constructor(options: MoveOptions, file: FileSide, postgres: PostgresSide) {
    this.#options = options;
    this.#file = file;
    this.#postgres = postgres;
    [this.#from, this.#to] = options.direction === "to_postgres" ? [file, postgres] : [postgres, file];
  }

  async run(): Promise<Moved> {
    const { how, monotonic, resume } = this.#options;
    const begun = monotonic();
    const isThere =
      this.#from === this.#file ? this.#file.beginSource() : await this.#postgres.beginSource(this.#file.box);
    const left = await this.#to.beginTarget(how === "dry-run");
    const state = await this.#stateFrom(left, resume, isThere);
    for (const table of TABLES) this.#counts.set(table.name, await this.#from.count(table));
    const bytes = await this.#from.bytes();
    const moved = { from: this.#from.name, to: this.#to.name, bytes };
    if (how === "dry-run") return { ...moved, ...(await this.#tryOut(state)) };
    const whole = state.isCompared ? state : await this.#compare(await this.#copy(state));
    const facts = left === WHOLE ? {} : await this.#from.facts(FACTS);
    if (isThere) await this.#retire();
    await this.#to.finish(facts);
    const tables = TABLES.map(({ name }) => {
      const sum = whole.sums[name];
      return { name, rows: this.#counts.get(name)!, sum: sum === undefined ? null : textOf(sum) };
    });
    return { ...moved, tables, ms: monotonic() - begun };
  }

  /** Where the copy begins, or goes on. */
  async #stateFrom(left: string | null, resume: boolean, isThere: boolean): Promise<State> {
    const facts = await this.#from.facts(["key_id", "last_instant"]);
    const source = [facts.key_id, facts.last_instant, await this.#from.lastEvent()].join();
    const gone = new StoreRefused(1, `the store of ${this.#from.name} was moved before`, "start it where it went");
    if (left === null) {
      if (!isThere) throw gone;
      const state: State = { source, table: 0, after: null, sums: {}, isCompared: false };
      await this.#to.startCopy(JSON.stringify(state), this.#options.how === "dry-run");
      return state;
    }
    if (!resume) {
      const what = `${this.#to.name} has the beginning of a copy`;
      throw new StoreRefused(1, what, "go on with --resume, or name an empty one");
    }
    if (left === WHOLE) return { source, table: TABLES.length, after: null, sums: {}, isCompared: true };
    const state = JSON.parse(left) as State;
    if (state.source !== source) {
      const what = `what ${this.#to.name} has the beginning of is not what ${this.#from.name} is now`;
      throw new StoreRefused(1, what, "a daemon ran meanwhile, or it is another store: begin anew in an empty one");
    }
    if (!isThere && !state.isCompared) throw gone;
    return state;
  }

  async #copy(begun: State): Promise<State> {
    let state = begun;
    let written = JSON.stringify(state);
    let writing = Promise.resolve();
    for (let at = begun.table; at < TABLES.length; at++) {
      const table = TABLES[at]!;
      const sum = (state.sums[table.name] ??= emptySum());
      this.#done += sum[0]!;
      for await (const { rows, next } of pagesOf(this.#from, table, at === begun.table ? begun.after : null)) {
        const lines = rows.map(lineOf);
        for (const line of lines) addTo(sum, line);
        state = { ...state, table: next === null ? at + 1 : at, after: next };
        const states = { before: written, after: JSON.stringify(state), dry: false };
        written = states.after;
        await writing;
        // While it is written, the next page is read.
        writing = Promise.resolve(this.#to.write(table, rows, lines, states));
        writing.catch(() => {});
        this.#tell("copying", table, rows.length, sum[0]!);
      }
    }
    await writing;
    return state;
  }

  /** Reads the whole copy. */
  async #compare(state: State): Promise<State> {
    const different: string[] = [];
    for (const table of TABLES) {
      const sum = emptySum();
      for await (const { rows } of pagesOf(this.#to, table, null)) {
        for (const row of rows) addTo(sum, lineOf(row));
        this.#tell("comparing", table, rows.length, sum[0]!);
      }
      if (sum.join() !== state.sums[table.name]!.join()) different.push(table.name);
    }
    if (different.length > 0) {
      const what = `what was copied into ${this.#to.name} differs from what is in ${this.#from.name}: ${different.join()}`;
      throw new StoreRefused(65, what, "the store is where it was; begin anew in an empty one, and report this");
    }
    const compared = { ...state, isCompared: true };
    await this.#to.startCopy(JSON.stringify(compared), false);
    return compared;
  }

  async #retire(): Promise<void> {
    const { now } = this.#options;
    if (this.#from === this.#file) this.#file.retire();
    else await this.#postgres.retire(this.#to.name, now);
  }

  /** The first page of each table, both ways; nothing of it stays. */
  async #tryOut(state: State): Promise<Pick<Moved, "tables" | "ms">> {
    const { monotonic } = this.#options;
    const states = { before: JSON.stringify(state), after: JSON.stringify(state), dry: true };
    let ms = 0;
    for (const table of TABLES) {
      const begun = monotonic();
      const { rows } = await this.#from.page(table, null);
      const lines = rows.map(lineOf);
      await this.#to.write(table, rows, lines, states);
      for (const row of (await this.#to.page(table, null)).rows) addTo(emptySum(), lineOf(row));
      ms += ((monotonic() - begun) * this.#counts.get(table.name)!) / Math.max(1, rows.length);
    }
    if (this.#to === this.#file) this.#file.forget();
    const tables = TABLES.map(({ name }) => ({ name, rows: this.#counts.get(name)!, sum: null }));
    return { tables, ms };
  }

  #tell(doing: MoveProgress["doing"], { name }: Table, more: number, rows: number): void {
    this.#done += more;
    let all = 0;
    for (const count of this.#counts.values()) all += 2 * count;
    const of = this.#counts.get(name)!;
    this.#options.onProgress({ doing, table: name, rows, of, part: all === 0 ? 1 : this.#done / all });
  }
}

/** Each is read while the one before it is worked on. */
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

/** How many rows, and of their hashes four sums, which know no order. */
type Sum = number[];

const emptySum = (): Sum => [0, 0, 0, 0, 0];

function addTo(sum: Sum, line: string): void {
  const bytes = hash("sha256", line, "buffer");
  sum[0]!++;
  for (let at = 1; at < sum.length; at++) sum[at] = (sum[at]! + bytes.readUInt32LE(4 * at)) >>> 0;
}

function textOf(sum: Sum): string {
  return sum
    .slice(1)
    .map((part) => part.toString(16).padStart(8, "0"))
    .join("");
}
