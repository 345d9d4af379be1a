/**
 * The base of the SQLite store: one connection to one file, its condition, and the two ways to use it. A read sees what
 * is committed; a write shares one commit with all other writes of its turn. The engine knows nothing about events.
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
import { Cursors } from "../../lists/cursors.ts";

export interface EngineOptions {
  readonly dir: string;
  /** Nothing new is stored when fewer bytes than this are free. */
  readonly diskFloor: number;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly statfs: StatFs;
  /** Runs a function in a later turn of the event loop, after the I/O that is ready. */
  readonly defer: (run: () => void) => void;
  readonly shares: TenantShares;
  /** Called once, with an error after which the process must end. */
  readonly onFault: (error: Error) => void;
}

const NOTE_EVERY_MS = 1000;

/** Memory that mirrors rows, and is discarded when a commit is undone. */
interface Mirror {
  forget(): void;
  /** Called inside each transaction, before its work. */
  write?(now: number): void;
  /** Called inside each transaction, after its work. */
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
  /** The instant on the disk. Null if it must be read again. */
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

  /**
   * Commits work that may be refused. A refusal is returned from the commit, because throwing it would undo the work of
   * others.
   */
  async commitOrRefuse<T>(work: () => T | WebhookdError, size?: WorkSize): Promise<T> {
    const result = await this.commit.run(work, size);
    if (result instanceof WebhookdError) throw result;
    return result;
  }

  mirror<M extends Mirror>(memory: M): M {
    this.#mirrors.push(memory);
    return memory;
  }

  /** Resolves in a later turn, so that other work can commit before a long task continues. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.defer(resolve));
  }

  /** Call it inside a transaction. */
  setInstant(now: number): void {
    this.meta.lastInstant = now;
    this.#noted = now;
  }

  /** Writes at most once a second, and not at all while the clock is behind the latest instant. */
  #noteInstant(now: number): void {
    this.#noted ??= this.meta.lastInstant;
    if (now >= this.#noted + NOTE_EVERY_MS) this.setInstant(now);
  }
}

/** The number of pages at which the log is moved. A small number keeps each move short. */
const FULL_PAGES = 500;

/**
 * Moves the log's contents into the database between commits. Ignores a failed move, as SQLite does, so that commits
 * are still acknowledged: `WalWatch` notices the growing log.
 */
export class Log {
  readonly #look: Statement<[], [busy: number, pages: number, moved: number]>;
  readonly #move: Statement<[]>;
  readonly #requireUsable: () => void;

  /** `requireUsable` throws after a fault, because nothing more may be moved then. */
  constructor(db: Database, requireUsable: () => void) {
    this.#requireUsable = requireUsable;
    this.#look = db.prepare<[], [number, number, number]>("PRAGMA wal_checkpoint(NOOP)").raw();
    this.#move = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** True if the log has so many pages that it should be moved. */
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

/** Rows per statement: the large ones suit commits of batches, the small ones commits of single publishes. */
const SIZES = [32, 8, 1];

/** Inserts many rows with each statement, because a call into SQLite costs as much as a small row. */
export class RowBatch<Row extends unknown[]> {
  readonly #statements: readonly { readonly values: number; readonly insert: Statement<unknown[]> }[];
  #values: unknown[] = [];

  /** `row` is the text of one row after VALUES, with a question mark for each value. */
  constructor(db: Database, insert: string, row: string) {
    const width = row.split("?").length - 1;
    this.#statements = SIZES.map((rows) => ({
      values: rows * width,
      insert: db.prepare(`${insert} VALUES ${Array.from({ length: rows }, () => row).join(", ")}`),
    }));
  }

  /**
   * Call it only inside a transaction. The row is not visible before `flush`, which runs at the end of the transaction
   * at the latest.
   */
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

  /** Called when the transaction was undone before it was flushed. */
  forget(): void {
    this.#values = [];
  }
}
