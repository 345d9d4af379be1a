/**
 * Commits all writes that gathered in a turn of the event loop as one transaction, so that they share one fsync. Each
 * gets its own result after the commit. Tenants take turns to publish, so that one tenant's backlog delays another by
 * no more than the current commit. A full log is moved into the database in a separate turn, after one more commit of
 * small work. After small publishes, large work and the move wait for one more turn, in which the senders write. While
 * several tenants publish, each large publish has a commit and a move to itself, and the next one waits for as long as
 * these took.
 *
 * There is no timer while work keeps coming: the next batch gathers during the fsync. Only work that arrives right
 * after a commit waits a moment for more work. Results of attempts, whose loss costs a duplicate, wait for a publish.
 */
import type { Database, Statement } from "better-sqlite3";
import type { Clock } from "../../../clock.ts";
import { Histogram } from "../../../domain/tally.ts";
import { Throttle, type TenantShares, TenantTurns, type Waiting } from "../../../domain/time/timetable.ts";
import type { Condition } from "./condition.ts";

const MAX_EVENTS = 256;
const MAX_DELIVERIES = 5000;
const MAX_BYTES = 1024 * 1024;
/** Publishes of more bytes are large: writing them, and moving them out of the log, takes milliseconds. */
export const LARGE_BYTES = 192 * 1024;
/**
 * The limit on the daemon's own work in a commit, such as results of attempts, because a commit delays everything else.
 */
const MAX_OWN = 1000;
/** The cost of a row, in bytes written. */
const ROW_COST = 500;
const TIMES_MS = [0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 250, 500, 1000, 5000];
const GATHER_MS = 2;
export const PATIENT_MS = 50;
/** This many results are a load of their own, and fill the memory if they wait long. */
const LOAD = 16;
const LOAD_PATIENT_MS = 5;

export interface WorkSize {
  readonly events: number;
  readonly deliveries: number;
  /**
   * Present for publishes: the tenant whose turn it is, and the number of bytes of its events. Other work comes before
   * all of them.
   */
  readonly published?: { readonly tenant: string; readonly bytes: number };
  /** True if the work may wait for other work to share its commit. */
  readonly patient?: boolean;
}

export interface GroupCommitOptions {
  readonly clock: Clock;
  readonly condition: Condition;
  /** Runs a function in a later turn of the event loop, after the I/O that is ready. */
  readonly defer: (run: () => void) => void;
  readonly shares: TenantShares;
  readonly log: { isFull(pages?: number): boolean; move(): void };
  /** Runs inside each transaction, before its work. */
  readonly onBegin: () => void;
  /** Runs inside each transaction, after its work. */
  readonly onEnd: () => void;
  /** Called when a transaction was undone, so that memory that mirrors its rows must be discarded. */
  readonly onRollback: () => void;
}

interface Work extends WorkSize {
  readonly bytes: number;
  run(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Published extends Waiting {
  readonly work: Work;
}

const isSmallPublish = ({ events, published: of }: Work) => events > 0 && of !== undefined && of.bytes <= LARGE_BYTES;

/** The maximum number of rows that a step of long work touches, so that it does not delay the commits of others. */
export const CHUNK = 500;
export const CHUNK_SIZE: WorkSize = { events: 0, deliveries: CHUNK };
const SMALL: WorkSize = { events: 0, deliveries: 1 };

export class GroupCommit {
  /** The durations of commits, including failed ones. */
  readonly times = new Histogram(TIMES_MS);
  readonly #db: Database;
  readonly #options: GroupCommitOptions;
  readonly #begin: Statement<[]>;
  readonly #commit: Statement<[]>;
  readonly #rollback: Statement<[]>;
  /** The daemon's own work, in the order of its calls. */
  #queue: Work[] = [];
  readonly #published: TenantTurns<Published>;
  readonly #throttle: Throttle;
  #events = 0;
  #deliveries = 0;
  #bytes = 0;
  #lastEnd = Number.NEGATIVE_INFINITY;
  /** True if a commit is deferred to the next turn, so that it need not be scheduled again. */
  #deferred = false;
  #waiting = 0;
  #cancelTimer: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  /** The number of commits since the log was found full. Null if it is not full. */
  #sinceFull: number | null = null;
  /** True if the next turn must not run long work, because it sends the events that were just published. */
  #holdsLong = false;

  constructor(db: Database, options: GroupCommitOptions) {
    this.#db = db;
    this.#options = options;
    this.#published = new TenantTurns(options.shares);
    this.#throttle = new Throttle(options.shares);
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#rollback = db.prepare("ROLLBACK");
  }

  /** `run` is synchronous and writes. It may run twice, because the work of others can undo its transaction. */
  run<T>(run: () => T, size: WorkSize = SMALL): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { events, deliveries, published } = size;
      const { tenant, bytes } = published ?? { tenant: null, bytes: 0 };
      const waiting: Work = { events, deliveries, published, bytes, run, resolve: resolve as Work["resolve"], reject };
      if (tenant === null) this.#queue.push(waiting);
      else this.#published.add({ tenant, cost: bytes + ROW_COST * (events + deliveries), work: waiting });
      this.#bytes += bytes;
      this.#waiting++;
      this.#events += events;
      this.#deliveries += deliveries;
      this.#schedule(size.patient === true);
    });
  }

  /**
   * Runs alone in a transaction, after all work that has gathered, so that no other work comes between it and what
   * follows.
   */
  runNow<T>(work: () => T): T {
    this.flush();
    const begun = this.#options.clock.monotonic();
    try {
      return this.#transaction([work])[0] as T;
    } catch (error) {
      throw this.#options.condition.failed(error) ?? error;
    } finally {
      this.#ended(begun);
    }
  }

  /** Commits all work that gathered, now. */
  flush(): void {
    while (this.#waiting > 0) this.#commitBatch(this.#take());
  }

  #schedule(patient: boolean): void {
    if (this.#deferred) return;
    const now = this.#options.clock.monotonic();
    let wait = this.#lastEnd + GATHER_MS - now;
    if (patient) wait = this.#deliveries < LOAD ? PATIENT_MS : LOAD_PATIENT_MS;
    const isMuch = this.#bytes > LARGE_BYTES && this.#throttle.left(now) === 0;
    if (this.#events >= MAX_EVENTS || this.#deliveries >= MAX_DELIVERIES || isMuch) wait = 0;
    if (wait > 0) this.#comeAfter(wait);
    else this.#comeAgain();
  }

  #turn(): void {
    const { clock, log } = this.#options;
    this.#deferred = false;
    this.#clearTimer();
    const isHeld = this.#holdsLong;
    this.#holdsLong = false;
    const isFull = this.#sinceFull !== null;
    const rest = this.#throttle.left(clock.monotonic());
    const mostBytes = isHeld || isFull || rest > 0 ? LARGE_BYTES : undefined;
    const batch = (this.#sinceFull ?? 0) === 0 ? this.#take(mostBytes) : [];
    if (batch.length > 0) {
      this.#commitBatch(batch);
      // Hold large work for one turn only, or many small publishes would keep it from ever being committed.
      this.#holdsLong = !isHeld && batch.some(isSmallPublish);
    } else if (isFull && !isHeld) {
      const begun = clock.monotonic();
      this.#sinceFull = null;
      log.move();
      this.#throttle.add(clock.monotonic() - begun, clock.monotonic());
    }
    const isResting = rest > 0 && batch.length === 0 && this.#sinceFull === null;
    if (this.#waiting > 0 && isResting) this.#comeAfter(rest);
    else if (this.#waiting > 0 || this.#sinceFull !== null) this.#comeAgain();
  }

  #comeAgain(): void {
    if (this.#deferred) return;
    this.#deferred = true;
    this.#clearTimer();
    this.#options.defer(() => this.#turn());
  }

  #comeAfter(ms: number): void {
    const at = this.#options.clock.monotonic() + ms;
    if (at >= this.#timerAt) return;
    this.#clearTimer();
    this.#timerAt = at;
    this.#cancelTimer = this.#options.clock.after(ms, () => this.#turn());
  }

  #commitBatch(batch: readonly Work[]): void {
    const begun = this.#options.clock.monotonic();
    try {
      const results = this.#transaction(batch.map((work) => work.run));
      batch.forEach((work, index) => work.resolve(results[index]));
    } catch (error) {
      const fault = this.#options.condition.failed(error);
      if (fault === null && batch.length > 1) for (const work of batch) this.#alone(work);
      else for (const work of batch) work.reject(fault ?? error);
    }
    const large = batch.find(({ bytes }) => bytes > LARGE_BYTES);
    this.#ended(begun, large !== undefined);
    if (large !== undefined) this.#throttle.large(large.published!.tenant, this.#lastEnd - begun, this.#lastEnd);
    for (const { published } of batch.filter(isSmallPublish)) this.#throttle.small(published!.tenant, this.#lastEnd);
  }

  /**
   * Plans to move a large commit out of the log before the next large one, if several tenants publish, because moving
   * two at once would take twice as long.
   */
  #ended(begun: number, isLarge = false): void {
    this.#lastEnd = this.#options.clock.monotonic();
    this.times.add(this.#lastEnd - begun);
    if (this.#sinceFull !== null) this.#sinceFull++;
    else if (this.#options.log.isFull(isLarge && this.#throttle.isShared(this.#lastEnd) ? 1 : undefined))
      this.#sinceFull = 0;
    if (this.#sinceFull !== null) this.#comeAgain();
  }

  /**
   * Takes the daemon's own work in order, then publishes by turns, up to the limits. A single piece of work may exceed
   * them, unless it is larger than `mostBytes`. Every commit takes a publish, or the daemon's own work could delay all
   * publishes forever.
   */
  #take(mostBytes = Number.POSITIVE_INFINITY): Work[] {
    let [events, deliveries, bytes] = [0, 0, 0];
    const batch: Work[] = [];
    const add = (work: Work) => {
      events += work.events;
      deliveries += work.deliveries;
      bytes += work.bytes;
      batch.push(work);
    };
    for (const work of this.#queue) {
      const over = events + work.events > MAX_EVENTS || deliveries + work.deliveries > MAX_OWN;
      if (over && batch.length > 0) break;
      add(work);
    }
    this.#queue = this.#queue.slice(batch.length);
    const isShared = this.#throttle.isShared(this.#options.clock.monotonic());
    const fits = (next: Published) =>
      events + next.work.events <= MAX_EVENTS &&
      deliveries + next.work.deliveries <= MAX_DELIVERIES &&
      bytes + next.work.bytes <= (isShared && next.work.bytes > LARGE_BYTES ? 0 : MAX_BYTES);
    const first = this.#published.takeFirst(({ work }) => work.bytes <= mostBytes);
    for (let next = first; next !== undefined; next = this.#published.take(fits)) add(next.work);
    this.#waiting -= batch.length;
    this.#events -= events;
    this.#deliveries -= deliveries;
    this.#bytes -= bytes;
    return batch;
  }

  #transaction(batch: readonly (() => unknown)[]): unknown[] {
    const { condition, onBegin, onEnd } = this.#options;
    condition.requireUsable();
    try {
      this.#begin.run();
      onBegin();
      const results = batch.map((run) => run());
      onEnd();
      condition.requireDurable();
      this.#commit.run();
      condition.committed();
      return results;
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  #undo(): void {
    this.#options.onRollback();
    // After some errors SQLite rolls back by itself.
    if (!this.#db.inTransaction) return;
    try {
      this.#rollback.run();
    } catch (error) {
      this.#options.condition.failed(error);
    }
  }

  /**
   * Runs in a separate transaction. If one piece of work in a batch throws, each of them is run again in this way, so
   * that only that one is refused.
   */
  #alone(work: Work): void {
    try {
      work.resolve(this.#transaction([work.run])[0]);
    } catch (error) {
      work.reject(this.#options.condition.failed(error) ?? error);
    }
  }

  #clearTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }
}
