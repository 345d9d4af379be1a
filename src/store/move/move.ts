/**
 * Moves a whole store between the file and PostgreSQL: copies everything, then reads it again and compares. The source
 * is put out of use before the target is put into use, so that two daemons can never start. Without `beside`, no daemon
 * may have either store open. With it, the daemon keeps running while most of the store is copied, and only its last
 * changes are copied after it has stopped.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StoreRefused } from "../files/refused.ts";
import { lineOf } from "../postgres/engine/copy.ts";
import { PostgresSide } from "../postgres/moving.ts";
import { refusalOf } from "../postgres/opening.ts";
import { Copy, textOf, type Side, type State, type Tell } from "./copy.ts";
import { FileSide, WHOLE, type FilePlace } from "./file-side.ts";
import { FACTS, TABLES } from "./tables.ts";

/** Once a round takes less than this, the rest takes about as long while no daemon runs. */
const QUICK_MS = 1000;
/** The interval at which to check whether the daemon was stopped. */
const LOOK_MS = 100;

export interface MoveOptions extends FilePlace {
  readonly url: string;
  readonly direction: "to_postgres" | "to_file";
  readonly how: "move" | "dry-run";
  /** Continues the move that a killed process left behind. */
  readonly resume: boolean;
  /** True if daemons keep using the store during the move. */
  readonly beside: boolean;
  /** Called beside daemons when it is time to stop them. */
  readonly onReady: () => void;
  readonly onProgress: (progress: MoveProgress) => void;
  readonly monotonic: () => number;
}

export interface MoveProgress {
  readonly doing: Parameters<Tell>[0];
  readonly table: string;
  readonly rows: number;
  readonly of: number;
  /** The completed part of all the work, from 0 to 1. */
  readonly part: number;
}

export interface MovedTable {
  readonly name: string;
  readonly rows: number;
  /** The sum on both sides. Null if nothing was compared. */
  readonly sum: string | null;
}

export interface Moved {
  readonly from: string;
  readonly to: string;
  readonly tables: readonly MovedTable[];
  /** The size of the source. */
  readonly bytes: number;
  /** The time that the move took, or is expected to take. */
  readonly ms: number;
  /** The time during which no daemon could have the store. Null unless a daemon used the store during the move. */
  readonly stoppedMs: number | null;
}

/** Throws `StoreRefused` if the move is impossible, or if the copy differs. */
export async function moveStore(options: MoveOptions): Promise<Moved> {
  const file = new FileSide(options, options.beside);
  let postgres: PostgresSide | null = null;
  try {
    postgres = await PostgresSide.connect(options.url, TABLES);
    return await new Move(options, file, postgres).run();
  } catch (error) {
    throw refusalOf(error, options.url);
  } finally {
    await postgres?.close();
    file.close();
  }
}

/** Removes what an abandoned move beside a daemon has left in the source. */
export async function giveUpMove({ direction, url, ...place }: GivingUp): Promise<void> {
  if (direction === "to_postgres") {
    const file = new FileSide(place, true);
    try {
      if (file.beginSource()) file.log.end();
    } finally {
      file.close();
    }
    return;
  }
  const postgres = await PostgresSide.connect(url, TABLES);
  try {
    await postgres.log.end();
  } finally {
    await postgres.close();
  }
}

type GivingUp = FilePlace & Pick<MoveOptions, "url" | "direction">;

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
    const { how, monotonic, beside } = this.#options;
    const begun = monotonic();
    const isThere =
      this.#from === this.#file ? this.#file.beginSource() : await this.#postgres.beginSource(this.#file.box, beside);
    const isTrial = how === "dry-run";
    const left = await this.#beginTarget(isThere);
    const state = await this.#stateFrom(left, isThere);
    for (const table of TABLES) this.#counts.set(table.name, await this.#from.count(table));
    const bytes = await this.#from.bytes();
    const moved = { from: this.#from.name, to: this.#to.name, bytes };
    if (isTrial) return { ...moved, ...(await this.#tryOut(state)), stoppedMs: null };
    const copy = new Copy(this.#from, this.#to, state, (...what) => this.#tell(...what));
    if (!state.isCompared) await this.#copyAll(copy);
    const stoppedAt = state.log === null || !isThere ? null : await this.#untilStopped(copy);
    const facts = left === WHOLE ? {} : await this.#from.facts(FACTS);
    if (isThere) await this.#retire();
    await this.#to.finish(facts);
    const stoppedMs = stoppedAt === null ? null : monotonic() - stoppedAt;
    return { ...moved, tables: this.#tablesOf(copy.state), ms: monotonic() - begun, stoppedMs };
  }

  /** Returns the state from which the copy begins or continues. */
  async #stateFrom(left: string | null, isThere: boolean): Promise<State> {
    const { beside, how, resume } = this.#options;
    const facts = await this.#from.facts(["key_id", "last_instant"]);
    const still = [facts.key_id, facts.last_instant, await this.#from.lastEvent()].join();
    const begun: State = { source: still, log: null, seen: 0, table: 0, after: null, sums: {}, isCompared: false };
    if (left === null) {
      if (!isThere) throw this.#gone();
      const isTrial = how === "dry-run";
      const log = beside && !isTrial ? await this.#from.log.begin() : null;
      const state = log === null ? begun : { ...begun, source: facts.key_id!, log };
      await this.#to.startCopy(JSON.stringify(state), isTrial);
      return state;
    }
    if (!resume) {
      const what = `${this.#to.name} contains an unfinished copy`;
      throw new StoreRefused(1, what, "continue with --resume, or name an empty target");
    }
    if (left === WHOLE) return { ...begun, table: TABLES.length, isCompared: true };
    const state = JSON.parse(left) as State;
    if (state.source !== (state.log === null ? still : facts.key_id)) {
      const what = `the unfinished copy in ${this.#to.name} does not match the store in ${this.#from.name}`;
      throw new StoreRefused(
        1,
        what,
        "a daemon has run since, or the copy is of another store; start again with an empty target",
      );
    }
    if (!isThere && !state.isCompared) throw this.#gone();
    return state;
  }

  async #beginTarget(isThere: boolean): Promise<string | null> {
    try {
      return await this.#to.beginTarget(this.#options.how === "dry-run");
    } catch (error) {
      // Perhaps the store was already moved there, and the command was cut short at the very end.
      throw isThere || !(error instanceof StoreRefused) ? error : this.#gone();
    }
  }

  #gone(): StoreRefused {
    return new StoreRefused(1, `the store in ${this.#from.name} was moved away earlier`, "start it where it is now");
  }

  async #copyAll(copy: Copy): Promise<void> {
    await copy.allPages();
    await this.#to.settle();
    if (copy.state.log === null) {
      await copy.compare();
      return copy.finish();
    }
    await this.#catchUp(copy);
    await copy.compareBeside();
    return this.#catchUp(copy);
  }

  /** Repeats until the remaining changes are copied in about a second. */
  async #catchUp(copy: Copy): Promise<void> {
    const { monotonic } = this.#options;
    for (let began = 0; began === 0 || monotonic() - began > QUICK_MS;) {
      began = monotonic();
      await copy.again();
    }
  }

  /** Returns when the source was found stopped. From then on, the rest of it is copied. */
  async #untilStopped(copy: Copy): Promise<number> {
    const { monotonic, onReady } = this.#options;
    let isTold = false;
    for (; !(await this.#isStopped()); await sleep(LOOK_MS)) {
      if (!isTold) onReady();
      isTold = true;
      await this.#catchUp(copy);
    }
    const stoppedAt = monotonic();
    await copy.again();
    await copy.finish();
    return stoppedAt;
  }

  /** The directory's daemon may have either store open. */
  async #isStopped(): Promise<boolean> {
    return (await this.#file.tryLock()) && (this.#from === this.#file || (await this.#postgres.tryLock()));
  }

  #tablesOf({ sums }: State): MovedTable[] {
    return TABLES.map(({ name }) => {
      const sum = sums[name];
      return { name, rows: sum?.[0] ?? this.#counts.get(name)!, sum: sum === undefined ? null : textOf(sum) };
    });
  }

  async #retire(): Promise<void> {
    const { now } = this.#options;
    if (this.#from === this.#file) this.#file.retire();
    else await this.#postgres.retire(this.#to.name, now);
  }

  /** Copies the first page of each table and reads it back, but keeps nothing. */
  async #tryOut(state: State): Promise<Pick<Moved, "tables" | "ms">> {
    const { monotonic } = this.#options;
    const states = { before: JSON.stringify(state), after: () => JSON.stringify(state), dry: true };
    let ms = 0;
    for (const table of TABLES) {
      const begun = monotonic();
      const { rows } = await this.#from.page(table, null);
      const lines = rows.map(lineOf);
      await this.#to.transaction(states, async () => this.#to.add(table, rows, lines));
      (await this.#to.page(table, null)).rows.map(lineOf);
      ms += ((monotonic() - begun) * this.#counts.get(table.name)!) / Math.max(1, rows.length);
    }
    if (this.#to === this.#file) this.#file.forget();
    const tables = TABLES.map(({ name }) => ({ name, rows: this.#counts.get(name)!, sum: null }));
    return { tables, ms };
  }

  #tell(...[doing, { name }, more, rows]: Parameters<Tell>): void {
    this.#done += more;
    let all = 0;
    // Beside a daemon, both sides are read once more.
    for (const count of this.#counts.values()) all += (this.#options.beside ? 3 : 2) * count;
    const of = doing === "catching up" ? rows : Math.max(rows, this.#counts.get(name)!);
    this.#options.onProgress({ doing, table: name, rows, of, part: Math.min(1, all === 0 ? 1 : this.#done / all) });
  }
}
