/**
 * What the rooms of the store stand on: one connection to one file, what condition that is in, and the two ways to it.
 * A read sees what is committed; a write rides in the commit that all writes of a turn share. It knows of no noun.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Clock } from "../../../clock.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import type { TenantShares } from "../../../domain/time/timetable.ts";
import { Condition, type StatFs } from "./condition.ts";
import { GroupCommit, type WorkSize } from "./group-commit.ts";
import { Meta } from "./meta.ts";
import { Pages } from "./page.ts";
import type { Box } from "../../rows/box.ts";
import { Cursors } from "../../rows/cursors.ts";

export interface EngineOptions {
  readonly dir: string;
  /** Bytes of free space under which nothing new is stored. */
  readonly diskFloor: number;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly statfs: StatFs;
  /** Runs something in a later turn of the event loop, after the I/O that is ready. */
  readonly defer: (run: () => void) => void;
  readonly shares: TenantShares;
  /** Called once, for an error after which the process must end. */
  readonly onFault: (error: Error) => void;
}

const NOTE_EVERY_MS = 1000;

/** Memory of rows, which is thrown away when a commit is undone. */
interface Mirror {
  forget(): void;
  /** Inside each transaction, before its work. */
  write?(now: number): void;
  /** The same after its work. */
  flush?(): void;
}

export class Engine {
  readonly db: Database;
  readonly dir: string;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly statfs: StatFs;
  readonly defer: (run: () => void) => void;
  readonly condition: Condition;
  readonly log: Log;
  readonly commit: GroupCommit;
  readonly meta: Meta;
  readonly cursors: Cursors;
  readonly pages: Pages;
  /** The latest instant that was known before this process wrote anything. */
  readonly lastInstant: number;
  /** The instant on the disk; null when it must be read again. */
  #noted: number | null = null;
  readonly #mirrors: Mirror[] = [];

  constructor(db: Database, options: EngineOptions) {
    const { dir, diskFloor: floorBytes, box, clock, random, statfs, defer, shares, onFault } = options;
    this.db = db;
    this.dir = dir;
    this.box = box;
    this.clock = clock;
    this.random = random;
    this.statfs = statfs;
    this.defer = defer;
    this.condition = new Condition(db, { dir, floorBytes, statfs, onFault });
    this.meta = new Meta(db);
    this.lastInstant = this.meta.lastInstant;
    this.log = new Log(db, () => this.condition.requireUsable());
    this.commit = new GroupCommit(db, {
      clock,
      defer,
      shares,
      condition: this.condition,
      log: this.log,
      onBegin: () => {
        const now = clock.now();
        this.#noteInstant(now);
        for (const mirror of this.#mirrors) mirror.write?.(now);
      },
      onEnd: () => {
        for (const mirror of this.#mirrors) mirror.flush?.();
      },
      onRollback: () => {
        this.#noted = null;
        for (const mirror of this.#mirrors) mirror.forget();
      },
    });
    this.cursors = new Cursors((bytes) => box.mark(bytes));
    const { read, cursors } = this;
    this.pages = new Pages({ read, turn: () => this.turn(), cursors, monotonic: () => clock.monotonic() });
  }

  /** Runs a read, unless the storage has failed. */
  readonly read = <T>(work: () => T): T => {
    this.condition.requireUsable();
    try {
      return work();
    } catch (error) {
      throw this.condition.failed(error) ?? error;
    }
  };

  /** A commit of what may be refused. A refusal is answered within it, not thrown: that would undo the work of others. */
  async commitOrRefuse<T>(work: () => T | WebhookdError, size?: WorkSize): Promise<T> {
    const result = await this.commit.run(work, size);
    if (result instanceof WebhookdError) throw result;
    return result;
  }

  mirror<M extends Mirror>(memory: M): M {
    this.#mirrors.push(memory);
    return memory;
  }

  /** The rest of what is asked comes in a later turn: others want to commit meanwhile. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.defer(resolve));
  }

  /** Inside a transaction. */
  setInstant(now: number): void {
    this.meta.lastInstant = now;
    this.#noted = now;
  }

  /** Writes at most once a second, and not at all while the clock is behind what it was. */
  #noteInstant(now: number): void {
    this.#noted ??= this.meta.lastInstant;
    if (now >= this.#noted + NOTE_EVERY_MS) this.setInstant(now);
  }
}

/** Small ones keep each of them short. */
const FULL_PAGES = 500;

/**
 * Moves what is in the log into the database, beside commits. That it could not, SQLite would tell nobody either, and
 * acknowledgements go on: `WalWatch` looks at what comes of it.
 */
export class Log {
  readonly #look: Statement<[], [busy: number, pages: number, moved: number]>;
  readonly #move: Statement<[]>;
  readonly #requireUsable: () => void;

  /** After a fault nothing more may be moved: `requireUsable` throws then. */
  constructor(db: Database, requireUsable: () => void) {
    this.#requireUsable = requireUsable;
    this.#look = db.prepare<[], [number, number, number]>("PRAGMA wal_checkpoint(NOOP)").raw();
    this.#move = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** Whether there is so much in it that it should be moved. */
  isFull(pages = FULL_PAGES): boolean {
    const found = this.#tried(() => this.#look.get());
    return found !== undefined && found[1] >= pages && found[2] < found[1];
  }

  move(): void {
    this.#tried(() => this.#move.get());
  }

  #tried<T>(work: () => T): T | undefined {
    try {
      this.#requireUsable();
      return work();
    } catch {
      return undefined;
    }
  }
}

/** Rows of a statement: as many as a commit of batches has, and as one has that is of single publishes. */
const SIZES = [32, 8, 1];

/** Rows that are added to one table, many a statement: a call into SQLite costs as much as a small row. */
export class RowBatch<Row extends unknown[]> {
  readonly #statements: readonly { readonly values: number; readonly insert: Statement<unknown[]> }[];
  #values: unknown[] = [];

  /** `row` is what stands for one row after VALUES, with a question mark for each value that is given. */
  constructor(db: Database, insert: string, row: string) {
    const width = row.split("?").length - 1;
    this.#statements = SIZES.map((rows) => ({
      values: rows * width,
      insert: db.prepare(`${insert} VALUES ${Array.from({ length: rows }, () => row).join(", ")}`),
    }));
  }

  /** Only inside a transaction. Nobody reads the row there before `flush`, which its end does at the latest. */
  add(...row: Row): void {
    this.#values.push(...row);
  }

  flush(): void {
    const all = this.#values;
    let at = 0;
    for (const { values, insert } of this.#statements) {
      for (; at + values <= all.length; at += values) insert.run(all.slice(at, at + values));
    }
    this.#values = [];
  }

  /** The transaction was undone before it was flushed. */
  forget(): void {
    this.#values = [];
  }
}
