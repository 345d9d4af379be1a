/**
 * Runs statements on PostgreSQL: one connection writes, one renews the lease, one is for short queries, and some are
 * for lists. Statements are pipelined: none waits for the answer to the previous one, unless its caller does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { WebhookdError } from "../../../domain/errors.ts";
import { storageFull, storageUnavailable } from "../../files/unavailable.ts";
import { commit, CommitInDoubt, durably, FailedBefore } from "./commit.ts";
import { BY_KEYS, gather, isOfOldTables, LIST_PLANS, run } from "./prepared.ts";
import { faultOf } from "../fault.ts";
import { configsOf, pidOf, pooled, Session, within, type Settings } from "./session.ts";
import { Pulse, type Silence } from "./pulse.ts";

/** The time that a caller waits for a commit, the time that it waits once the answer was lost, and the interval at
 * which it asks for the answer. */
const COMMIT_MS = 10_000;
const ASK_MS = 2000;
const ASK_AGAIN_MS = 250;
/**
 * A commit that waits for a standby is never abandoned: its connection would stay open in the server, and each query
 * about it would add another. A timer accepts no longer time than this.
 */
const PATIENT = { query_timeout: 2 ** 31 - 1 };
/** The length of a lease. A process that is suspended in the middle of a transaction blocks nobody for longer. */
const IDLE_MS = 5000;
const LISTERS = 2;
/** The server abandons a list before its caller does, because otherwise the next list would wait behind it. */
const LIST_MS = 9000;

/** Another commit came between a read and the write that follows from it, so everything must be done again. */
export class Outrun extends Error {}

/** Runs statements inside a transaction, or on committed data. */
export interface Queries {
  rows<R extends object>(sql: string, values?: readonly unknown[]): Promise<R[]>;
  /** Returns the number of rows that it changed. */
  change(sql: string, values?: readonly unknown[]): Promise<number>;
  /** Runs several statements without values. */
  script(sql: string): Promise<void>;
}

/** The mark by which a transaction can be found. It replaces the mark of the previous transaction. */
export interface Mark {
  readonly id: string;
  readonly before: string | null;
}

const MARK = "WITH before AS (DELETE FROM last_commit WHERE id = $2) INSERT INTO last_commit (id) VALUES ($1)";
/**
 * Waits for the transaction if it is still open, and prevents it if it has not begun. The row that this leaves differs
 * from a mark, because the answer to this query may be lost as well. The query always writes, so that its own commit
 * waits until the standby has everything that came before. A query that only read would accept a commit that only the
 * primary has.
 */
const ASK = `INSERT INTO last_commit AS c (id, at) VALUES ($1, 'infinity')
  ON CONFLICT (id) DO UPDATE SET at = c.at RETURNING at < 'infinity' AS "isMade"`;

/** `postgres://user:password@host1:5432,host2/name?…` Runs short statements itself. */
export class Database implements Queries {
  /** Runs statements that an open transaction must not delay. */
  readonly lease: Queries;
  /** Runs statements that may take long. Its connections take turns. */
  readonly lists: Queries;
  readonly url: string;
  /** Called for each error that callers see as an error of the storage. */
  onFault: (cause: unknown) => void = () => {};
  readonly #short: Queries;
  readonly #lease: Session;
  readonly #writer: Session;
  readonly #sessions: Session[] = [];
  readonly #pulse: Pulse;
  #inDoubt = false;
  #closed = false;

  constructor(url: string) {
    this.url = url;
    const configs = configsOf(url);
    const session = (timeoutMs: number, plans: Settings) => {
      const limits = { statement_timeout: String(timeoutMs), idle_in_transaction_session_timeout: String(IDLE_MS) };
      const some = new Session(configs, { ...limits, ...plans });
      this.#sessions.push(some);
      return some;
    };
    const over = (...sessions: readonly Session[]) => queriesOver(sessions, (work) => this.#telling(work));
    // Nothing may end the writer's wait for a standby.
    this.#writer = session(0, BY_KEYS);
    this.#lease = session(0, BY_KEYS);
    this.lease = over(this.#lease);
    this.#short = over(session(0, BY_KEYS));
    this.lists = over(...Array.from({ length: LISTERS }, () => session(LIST_MS, LIST_PLANS)));
    const working = this.#sessions.slice();
    this.#pulse = new Pulse(session(0, {}), () => {
      for (const one of working) one.cut();
    });
  }

  /**
   * Opens all connections, so that a server that does not allow so many says so at once. Refuses a pooler that lets
   * several of them share a server process. From then on, the pulse checks that the server is alive.
   */
  async ready(): Promise<void> {
    const pids = new Set<number>();
    for (const session of this.#sessions) pids.add(pidOf(await session.client()));
    if (pids.size < this.#sessions.length) throw storageUnavailable(pooled());
    this.#pulse.start();
  }

  /** Null while the server answers, as far as is known. */
  get silence(): Silence | null {
    return this.#pulse.silence;
  }

  /** Fails at once while the server is silent. */
  async #telling<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (this.silence !== null) throw silent(this.silence);
      const result = await work();
      // A server that comes back may answer this before the pulse asks again, and must then no longer count as silent.
      this.#pulse.noteAnswer();
      return result;
    } catch (error) {
      const isInDoubt = error instanceof CommitInDoubt;
      const fault = isInDoubt ? null : storageError(error);
      if (fault !== null || isInDoubt || isStorageError(error))
        this.onFault(isInDoubt ? error : ((error as Error).cause ?? error));
      throw fault ?? (isOutrun(error) ? new Outrun("another node was faster", { cause: error }) : error);
    }
  }

  rows<R extends object>(sql: string, values?: readonly unknown[]): Promise<R[]> {
    return this.#short.rows(sql, values);
  }

  change(sql: string, values?: readonly unknown[]): Promise<number> {
    return this.#short.change(sql, values);
  }

  script(sql: string): Promise<void> {
    return this.#short.script(sql);
  }

  /** True while a commit is in doubt. Nothing else is written until that is resolved. */
  get inDoubt(): boolean {
    return this.#inDoubt;
  }

  /**
   * Runs one transaction at a time. Rejects with a `WebhookdError` if the storage is at fault, and with `CommitInDoubt`
   * if the work may have been committed anyway. Only a transaction with a mark can be in doubt.
   */
  async transaction<T>(work: (tx: Queries) => Promise<T>, mark: Mark | null = null): Promise<T> {
    return this.#telling(async () => {
      if (this.#inDoubt) throw storageUnavailable();
      const client = await this.#writer.client();
      gather(client)
        .query("BEGIN")
        .catch(() => {});
      const left = mark === null ? null : leaveMark(client, mark);
      let result: T;
      try {
        result = await work(queriesOn(client));
      } catch (error) {
        const fault = (await left) ?? error;
        // A server that does not answer would not answer a ROLLBACK either. Without the connection it rolls back by
        // itself.
        if (storageError(fault) === null) await client.query("ROLLBACK").catch(() => this.#writer.drop());
        else this.#writer.drop();
        throw fault;
      }
      await this.#commit(client, mark);
      return result;
    });
  }

  /** Runs a transaction on the connection of the lease, which nobody else may use until it ends. */
  async leaseTransaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#telling(async () => {
      const client = await this.#lease.client();
      await client.query("BEGIN");
      try {
        const result = await work(queriesOn(client));
        await commit(client);
        return result;
      } catch (error) {
        // The server rolls back when its connection is gone.
        this.#lease.cut();
        throw error;
      }
    });
  }

  /** Resolves once the commit is durable. */
  async #commit(client: Client, mark: Mark | null): Promise<void> {
    let lost: unknown = null;
    const onLost = Promise.withResolvers<"lost">();
    const made = commit(client, PATIENT).then(
      () => true,
      (error: unknown) => {
        this.#writer.drop();
        if (mark === null || error instanceof FailedBefore) throw error;
        lost = error;
        onLost.resolve("lost");
        return this.#ask(mark);
      },
    );
    if (mark === null) return void (await made);
    let is: boolean | "lost" | "late" = await within(COMMIT_MS, Promise.race([made, onLost.promise]));
    if (typeof is === "string") {
      this.#inDoubt = true;
      const known = made.catch(() => false).finally(() => (this.#inDoubt = false));
      if (is === "lost" && this.silence === null) is = await within(ASK_MS, known);
      // Do not report that nothing was done, because the caller would do it again.
      if (typeof is === "string") throw new CommitInDoubt(known, lost);
    }
    if (!is) throw lost;
  }

  /**
   * Asks whichever server accepts writes now, for as long as it takes. A transaction's number would not suffice: a
   * server that lost the transaction reuses its number.
   */
  async #ask({ id }: Mark): Promise<boolean> {
    while (!this.#closed) {
      try {
        if (this.silence !== null) throw silent(this.silence);
        const client = await this.#writer.client();
        const { rows } = await durably(client, () =>
          client.query<{ isMade: boolean }>({ text: ASK, values: [id], ...PATIENT }),
        );
        return rows[0]!.isMade;
      } catch {
        this.#writer.drop();
      }
      await sleep(ASK_AGAIN_MS);
    }
    return false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#pulse.stop();
    await Promise.all(this.#sessions.map((session) => session.close()));
  }
}

type Telling = <T>(work: () => Promise<T>) => Promise<T>;

function queriesOver(sessions: readonly Session[], telling: Telling): Queries {
  let next = 0;
  const asking = <T>(ask: (queries: Queries) => Promise<T>) => {
    const session = sessions[next++ % sessions.length]!;
    const once = async () => {
      const client = await session.client();
      return durably(client, () => ask(queriesOn(client)));
    };
    // After a migration the statement is planned again.
    return telling(() =>
      once().catch((error: unknown) => (isOfOldTables(error) ? once() : Promise.reject(error))),
    ).catch((error: unknown) => Promise.reject(errorForCallers(error)));
  };
  return {
    rows: (sql, values) => asking((queries) => queries.rows(sql, values)),
    change: (sql, values) => asking((queries) => queries.change(sql, values)),
    script: (sql) => asking((queries) => queries.script(sql)),
  };
}

/** Returns the error with which the mark failed, because later statements only say that the transaction has failed. */
function leaveMark(client: Client, { id, before }: Mark): Promise<Error | null> {
  return run(client, MARK, [id, before]).then(
    () => null,
    (error: Error) => error,
  );
}

/**
 * Once a statement of a transaction has failed, the server refuses all statements sent after it with nothing but that
 * fact. Here each of them rejects with the first failure, because a caller that waits for several statements cannot
 * know which one rejects first.
 */
export function queriesOn(client: Client): Queries {
  let first: unknown = null;
  const failed = (error: unknown): never => {
    if (!isAftermath(error)) first = error;
    throw first ?? error;
  };
  const ask = (sql: string, values: readonly unknown[] = []) => run(client, sql, values).catch(failed);
  return {
    rows: async <R extends object>(sql: string, values?: readonly unknown[]) => (await ask(sql, values)).rows as R[],
    change: async (sql, values) => (await ask(sql, values)).rowCount ?? 0,
    async script(sql) {
      await client.query(sql).catch(failed);
    },
  };
}

/** Returns true if another statement of the transaction had failed before this one. */
function isAftermath(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "25P02";
}

function isStorageError(error: unknown): boolean {
  return error instanceof WebhookdError && error.code.startsWith("storage_");
}

function silent({ cause }: Silence): WebhookdError {
  return storageUnavailable(cause ?? new Error("Connection silent"));
}

/** Returns true for damage to some rows, or for a bug of the server. Queries that do not need these rows still work. */
export function isOfSome({ cause }: WebhookdError): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("XX");
}

/**
 * Returns true for a key that is taken, a deadlock, a lock that could not be obtained, or, on a strict server, rows
 * that have changed in the meantime.
 */
function isOutrun(error: unknown): boolean {
  return isOfOldTables(error) || faultOf(error).is === "outrun";
}

/** Returns the error for callers if nobody repeats the work. */
export function errorForCallers(error: unknown): unknown {
  return error instanceof Outrun ? storageUnavailable(error) : error;
}

/** Returns the error for callers if the storage is at fault, and null for any other error. */
function storageError(error: unknown): WebhookdError | null {
  if (error instanceof WebhookdError || !(error instanceof Error)) return null;
  const { is } = faultOf(error);
  if (is === "full") return storageFull(error);
  return is === "unavailable" ? storageUnavailable(error) : null;
}
