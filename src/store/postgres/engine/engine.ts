/**
 * The base of the PostgreSQL store. A read sees what is committed. Writes wait in one queue, and waiting writes of the
 * same kind share a transaction, so a node commits as often as its database can, and no more.
 */
import { KeyTimes, slowdownAt, OF_EVENTS, OF_NUMBERS, ON_TIME, type Slowdown } from "../../rows/key-times.ts";
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../clock.ts";
import { WebhookdError } from "../../../domain/errors.ts";
import { Histogram } from "../../../domain/tally.ts";
import { CommitInDoubt } from "./commit.ts";
import { explained } from "../fault.ts";
import { hostsOf } from "../../../domain/network/postgres-address.ts";
import { isOfSome, Outrun, errorForCallers, type Database, type Mark, type Queries } from "./database.ts";
import type { Outage } from "../../store.ts";
import type { Owner } from "./owner.ts";
import type { Box } from "../../rows/box.ts";
import { storageUnavailable } from "../../files/unavailable.ts";
import { Cursors } from "../../lists/cursors.ts";
import { unawaited } from "../../../domain/unawaited.ts";

/** The maximum number of rows that a step of long work touches, so that it does not delay the commits of others. */
export const CHUNK = 500;
const MAX_SHARED = 5000;
const TIMES_MS = [0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 250, 500, 1000, 5000];
const NOTE_EVERY_MS = 1000;
/** A transaction is run again if another node's commit came before it. */
const TRIES = 5;
/** On a full disk, a small commit may succeed while others fail. */
const STAYS_FULL_MS = 10_000;
/** Failed statements are retried within a second or two, so a fault that does not return within this time is over. */
const FAULT_MS = 5000;

/** The state after a failed commit, and the monotonic time until which no other commit disproves it. */
interface Refusal {
  readonly state: "disk_full" | "store_unavailable";
  readonly until: number;
}

/** Work of one kind, several pieces of which may share a transaction. Each gets its own result or refusal. */
export type Shared<Item, Result> = (tx: Queries, items: readonly Item[]) => Promise<(Result | WebhookdError)[]>;

interface Size {
  readonly rows: number;
  /** True if the work may lock lines. It shares a transaction only with work of its kind: see `ordering/lines.ts`. */
  readonly locksLines: boolean;
}

const NONE: Size = { rows: 0, locksLines: false };

interface Work {
  readonly shared: Shared<unknown, unknown> | null;
  readonly item: unknown;
  readonly size: Size;
  run(tx: Queries): Promise<unknown>;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface EngineParts {
  readonly owner: Owner;
  readonly database: Database;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly keys: NodeKeys;
  readonly numbers: NodeKeys;
}

export class Engine {
  readonly owner: Owner;
  readonly database: Database;
  readonly box: Box;
  readonly clock: Clock;
  readonly random: (bytes: number) => Uint8Array;
  readonly cursors: Cursors;
  /** Keys of events. Nothing else uses them, because a key shows when its event was received. */
  readonly keys: NodeKeys;
  /** Keys of everything else that is listed in the order of its creation. */
  readonly numbers: NodeKeys;
  /** The durations of commits, including failed ones. */
  readonly times = new Histogram(TIMES_MS);
  /**
   * Functions that run in each transaction along with its work, without delaying it. The function that one returns is
   * called after the commit.
   */
  readonly riders: ((tx: Queries, now: number) => Promise<(() => void) | null>)[] = [];
  /**
   * The number of commits since the start that succeeded although their callers were told that the storage was
   * unavailable.
   */
  lateCommits = 0;
  /** True if all slowdowns of keys are known to be on the disk. Until then each transaction writes them. */
  #isNoted = true;
  #queue: Work[] = [];
  #working: Promise<void> | null = null;
  #noted: number | null = null;
  #refusal: Refusal | null = null;
  #lastCommit: string | null = null;
  /** The last fault, the time since which faults have come without a pause, and the monotonic time of the last one. */
  #fault: { readonly since: number; readonly at: number; readonly cause: unknown } | null = null;

  constructor({ owner, database, box, clock, random, keys, numbers }: EngineParts) {
    this.owner = owner;
    this.database = database;
    this.box = box;
    this.clock = clock;
    this.random = random;
    this.keys = keys;
    this.numbers = numbers;
    database.onFault = (cause) => this.#noteFault(cause);
    this.cursors = new Cursors((bytes) => box.mark(bytes));
    // Skip this if nodes share the store, because they would all wait for this row.
    if (owner.owns === null) this.riders.push((tx, now) => this.#noteInstant(tx, now));
  }

  /** Reports whether commits succeed, judging by the last ones. */
  get state(): "ready" | Refusal["state"] {
    return this.#refusal?.state ?? "ready";
  }

  /** Explains why the database cannot be used. Null as long as it can be, as far as is known. */
  get outage(): Outage | null {
    const { silence, url } = this.database;
    const fault = this.#faultNow();
    if (silence === null && fault === null) return null;
    const { what, todo } = explained(silence?.cause ?? fault?.cause ?? new Error("Connection silent"), url);
    const since = silence === null ? fault!.since : this.clock.now() - silence.forMs;
    return { since: Math.min(since, fault?.since ?? since), detail: `PostgreSQL at ${hostsOf(url)}: ${what}; ${todo}` };
  }

  #faultNow() {
    const fault = this.#fault;
    return fault === null || this.clock.monotonic() - fault.at >= FAULT_MS ? null : fault;
  }

  #noteFault(cause: unknown): void {
    const before = this.#faultNow();
    // A fault that follows from another one, such as a commit in doubt, says less than the first.
    const isTelling = cause instanceof Error && !(cause instanceof WebhookdError);
    const at = this.clock.monotonic();
    this.#fault = {
      since: before?.since ?? this.clock.now(),
      at,
      cause: isTelling ? cause : (before?.cause ?? cause),
    };
  }

  /**
   * Another process may have had the number since this one last had it, and may have used keys that this one does not
   * know.
   */
  async renumber(tx: Queries, node: number): Promise<void> {
    const last = await lastKeys(tx);
    this.keys.renumber(last.key, node);
    this.numbers.renumber(last.number, node);
  }

  /** Runs work in a separate transaction. It may run twice, and an error that it throws rolls it back. */
  write<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#stand({ shared: null, item: null, size: NONE, run: work }) as Promise<T>;
  }

  share<Item, Result>(shared: Shared<Item, Result>, item: Item, size: Size): Promise<Result> {
    const run = async (tx: Queries) => {
      const [result] = await shared(tx, [item]);
      if (result instanceof WebhookdError) throw result;
      return result;
    };
    return this.#stand({ shared: shared as Shared<unknown, unknown>, item, size, run }) as Promise<Result>;
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working;
  }

  #stand(work: Omit<Work, "resolve" | "reject">): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...work, resolve, reject });
      this.#working ??= this.#drain();
    });
  }

  async #drain(): Promise<void> {
    // Writes of the same turn share the transaction.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const some = this.#take();
      const begun = this.clock.monotonic();
      await this.#commit(some);
      this.times.add(this.clock.monotonic() - begun);
    }
    this.#working = null;
  }

  /** Takes all work that can share a transaction, in its order, and skips work that needs its own. */
  #take(): Work[] {
    if (this.#queue[0]!.shared === null) return this.#queue.splice(0, 1);
    const some: Work[] = [];
    const kinds = new Set<Work["shared"]>();
    let [rows, locksLines] = [0, false];
    for (const work of this.#queue) {
      if (work.shared === null) continue;
      const isOneKind = kinds.size === 0 || (kinds.size === 1 && kinds.has(work.shared));
      // Otherwise it could wait for a line of another node that waits for a row which another kind has locked here.
      if ((locksLines || work.size.locksLines) && !isOneKind) continue;
      rows += work.size.rows;
      if (some.length > 0 && rows > MAX_SHARED) break;
      some.push(work);
      kinds.add(work.shared);
      locksLines ||= work.size.locksLines;
    }
    const taken = new Set(some);
    this.#queue = this.#queue.filter((work) => !taken.has(work));
    return some;
  }

  async #commit(some: readonly Work[]): Promise<void> {
    const [first] = some;
    try {
      if (some.length === 1) first!.resolve(await this.#transaction((tx) => first!.run(tx)));
      else await this.#commitTogether(some);
    } catch (error) {
      const isOfAll = error instanceof WebhookdError && !isOfSome(error);
      if (isOfAll) this.#refused(error);
      if (some.length === 1 || isOfAll) for (const work of some) work.reject(errorForCallers(error));
      // One of them is at fault. Run each in its own transaction, so that only that one is refused.
      else for (const work of some) await this.#commit([work]);
    }
  }

  async #commitTogether(some: readonly Work[]): Promise<void> {
    const kinds = [...Map.groupBy(some, ({ shared }) => shared!)];
    const results = await this.#transaction(async (tx) => {
      const running = kinds.map(([shared, works]) => {
        const items = works.map(({ item }) => item);
        return shared(tx, items);
      });
      try {
        return (await Promise.all(running)).flat();
      } finally {
        // The first one to fail says why. The others only say that the transaction has failed.
        await Promise.allSettled(running);
      }
    });
    for (const [at, work] of kinds.flatMap(([, works]) => works).entries()) {
      const result = results[at];
      if (result instanceof WebhookdError) work.reject(result);
      else work.resolve(result);
    }
  }

  async #transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    for (let left = TRIES; ; left--) {
      const mark = { id: randomUUID(), before: this.#lastCommit };
      const after: (() => void)[] = [];
      try {
        const result = await this.database.transaction(async (tx) => {
          const now = this.clock.now();
          const riding = this.riders.map((rider) => rider(tx, now));
          // Wait until all have ended, because a statement sent after a ROLLBACK would be committed.
          const [done, ...rode] = await Promise.allSettled([work(tx), ...riding]);
          for (const one of rode) after.push(valueOf(one) ?? (() => {}));
          return valueOf(done);
        }, mark);
        this.#committed(mark, after);
        return result;
      } catch (error) {
        if (error instanceof CommitInDoubt) {
          unawaited(this.#hearLate(error, mark, after));
          throw storageUnavailable(error);
        }
        if (!(error instanceof Outrun) || left === 1) throw error;
      }
    }
  }

  #refused({ code }: WebhookdError): void {
    const now = this.clock.monotonic();
    if (code === "storage_full") this.#refusal = { state: "disk_full", until: now + STAYS_FULL_MS };
    if (code === "storage_unavailable") this.#refusal = { state: "store_unavailable", until: now };
  }

  #committed({ id }: Mark, after: readonly (() => void)[]): void {
    this.#lastCommit = id;
    if (this.#refusal !== null && this.clock.monotonic() >= this.#refusal.until) this.#refusal = null;
    for (const done of after) done();
  }

  async #hearLate({ wasMade }: CommitInDoubt, mark: Mark, after: readonly (() => void)[]): Promise<void> {
    if (!(await wasMade)) return;
    this.#committed(mark, after);
    this.lateCommits++;
  }

  /**
   * Called in a transaction before keys of that kind are used in it, because the clock may be behind the last ones.
   * Returns null if there is nothing to do. Callers must not await null, because that would change the order in which
   * they lock.
   */
  slowDown(tx: Queries, kind: Kind, now: number): Promise<void> | null {
    const at = Math.max(now, this.clock.now());
    const { last, times } = this.#keysOf(kind);
    return this.#isNoted && slowdownAt(times, last, at) === null ? null : this.#slowDown(tx, kind, at);
  }

  async #slowDown(tx: Queries, kind: Kind, at: number): Promise<void> {
    const keys = this.#keysOf(kind);
    // Other nodes have used keys too.
    const { key, number } = await lastKeys(tx);
    const slowdown = slowdownAt(keys.times, Math.max(keys.last, kind === OF_EVENTS ? key : number), at);
    if (slowdown !== null) {
      keys.times = keys.times.with(slowdown);
      this.#isNoted = false;
    }
    if (this.#isNoted) return;
    const { slowdowns } = keys.times;
    await tx.change(
      "INSERT INTO key_time (kind, key, at) SELECT $1, * FROM unnest($2::bigint[], $3::bigint[]) ON CONFLICT DO NOTHING",
      [kind, slowdowns.map((one) => one.key), slowdowns.map((one) => one.at)],
    );
  }

  /** Adopts the rows of key_time, which other nodes write too. */
  adoptKeyTimes(rows: readonly KeyTimeRow[]): void {
    const stored = timesIn(rows);
    const areNoted = KINDS.map((kind) => {
      const keys = this.#keysOf(kind);
      const own = keys.times.slowdowns.filter(({ key }) => !stored[kind].slowdowns.some((one) => one.key === key));
      keys.times = own.reduce((times, slowdown) => times.with(slowdown), stored[kind]);
      return own.length === 0;
    });
    this.#isNoted ||= areNoted.every(Boolean);
  }

  #keysOf(kind: Kind): NodeKeys {
    return kind === OF_EVENTS ? this.keys : this.numbers;
  }

  /** Writes at most once a second, and not at all while the clock is behind the latest instant. */
  async #noteInstant(tx: Queries, now: number): Promise<(() => void) | null> {
    this.#noted ??= Number((await getMeta(tx, "last_instant")) ?? 0);
    return now < this.#noted + NOTE_EVERY_MS ? null : this.setInstant(tx, now);
  }

  /** Returns a function to call after the commit. */
  async setInstant(tx: Queries, now: number): Promise<() => void> {
    await setMeta(tx, "last_instant", String(now));
    return () => (this.#noted = now);
  }
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

export async function getMeta(queries: Queries, name: string): Promise<string | null> {
  const [row] = await queries.rows<{ value: string }>("SELECT value FROM meta WHERE name = $1", [name]);
  return row?.value ?? null;
}

export async function setMeta(tx: Queries, name: string, value: string): Promise<void> {
  await tx.change(
    "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [name, value],
  );
}

/** The number of nodes whose keys never collide. The last bits of a key are the node's number. */
export const NODES = 16;

/** The keys of this node. They rise with each use, whatever the clock does, and no other node has the same ones. */
export class NodeKeys {
  times: KeyTimes;
  #last: number;
  #node: number;

  constructor(last: number, node: number, times: KeyTimes = ON_TIME) {
    this.times = times;
    this.#node = node;
    this.#last = last - (last % NODES) + node;
  }

  /** From now on, makes keys of another node's number, above `last` and above all keys that this object has made. */
  renumber(last: number, node: number): void {
    const most = Math.max(this.#last, last);
    this.#last = most - (most % NODES) + node;
    this.#node = node;
  }

  get last(): number {
    return this.#last;
  }

  /** The key is also above `floor`, which may be a key of a node whose clock is ahead. */
  next(now: number, floor = -1): number {
    const above = floor - (floor % NODES) + NODES + this.#node;
    this.#last = Math.max(this.#last + NODES, this.times.keyFor(now) + this.#node, above);
    return this.#last;
  }
}

const KINDS = [OF_EVENTS, OF_NUMBERS] as const;
type Kind = (typeof KINDS)[number];

export async function keyTimes(queries: Queries): Promise<Record<Kind, KeyTimes>> {
  return timesIn(await queries.rows<KeyTimeRow>("SELECT kind, key, at FROM key_time"));
}

type KeyTimeRow = Slowdown & { readonly kind: number };

function timesIn(rows: readonly KeyTimeRow[]): Record<Kind, KeyTimes> {
  const of = (wanted: Kind) => new KeyTimes(rows.filter(({ kind }) => kind === wanted));
  return { [OF_EVENTS]: of(OF_EVENTS), [OF_NUMBERS]: of(OF_NUMBERS) };
}

/** Returns the largest keys that any process has used. */
export async function lastKeys(queries: Queries): Promise<{ readonly key: number; readonly number: number }> {
  const [last] = await queries.rows<{ key: number; number: number }>(
    `SELECT coalesce((SELECT max(key) FROM event), 0) AS key,
       greatest((SELECT max(key) FROM audit), (SELECT max(number) FROM api_key), (SELECT max(num) FROM job),
         (SELECT max(num) FROM tenant), (SELECT max(num) FROM ordering_key), 0) AS number`,
  );
  return last!;
}
