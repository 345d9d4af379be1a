/**
 * What is asked of PostgreSQL: one connection writes, one renews the lease, one is for short questions, and some are for
 * lists. Statements are pipelined: none waits for the answer to the one before it, unless its caller does.
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

/** How long a caller waits for a commit, and how long once its answer was lost; and how far apart that is asked. */
const COMMIT_MS = 10_000;
const ASK_MS = 2000;
const ASK_AGAIN_MS = 250;
/**
 * A commit that waits for a standby is not given up: its connection would go on waiting in the server, and each question
 * about it would add another one. The longest that a timer takes.
 */
const PATIENT = { query_timeout: 2 ** 31 - 1 };
/** As long as a lease: a process that is suspended in the middle of a transaction holds up nobody for longer. */
const IDLE_MS = 5000;
const LISTERS = 2;
/** The server gives up a list before its caller does: otherwise the next one would wait behind it. */
const LIST_MS = 9000;

/** Somebody else's commit came between a read and the write that follows from it: all is to be done again. */
export class Outrun extends Error {}

/** What can be asked: inside a transaction, or of what is committed. */
export interface Queries {
  rows<R extends object>(sql: string, values?: readonly unknown[]): Promise<R[]>;
  /** How many rows it touched. */
  change(sql: string, values?: readonly unknown[]): Promise<number>;
  /** Several statements without values. */
  script(sql: string): Promise<void>;
}

/** What a transaction leaves behind so that it can be found, in the place of what the one before it left. */
export interface Mark {
  readonly id: string;
  readonly before: string | null;
}

const MARK = "WITH before AS (DELETE FROM last_commit WHERE id = $2) INSERT INTO last_commit (id) VALUES ($1)";
/**
 * Waits for the transaction if that is still open, and bars it if it has not begun: what is left for that is told from a
 * mark, because the answer to the question may be lost as well. It always writes. So its own commit waits for a standby
 * until that has all that came before; if it only read, it would take for made what the primary alone has.
 */
const ASK = `INSERT INTO last_commit AS c (id, at) VALUES ($1, 'infinity')
  ON CONFLICT (id) DO UPDATE SET at = c.at RETURNING at < 'infinity' AS "isMade"`;

/** `postgres://user:password@host1:5432,host2/name?…` What it is asked itself is short. */
export class Database implements Queries {
  /** Where a transaction that is open may hold it up, and nothing else. */
  readonly lease: Queries;
  /** What may take long. Of several connections the next one is asked. */
  readonly lists: Queries;
  readonly url: string;
  /** Called for each error that callers are told of as one of the storage. */
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
    // Nothing may end its wait for a standby.
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
   * Makes all connections, so that a server that does not take so many says so at once; and refuses a pooler that lets
   * several of them share a server process. From then on it is felt whether the server lives.
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
      // A server that comes back may answer this before the pulse asks again. Without this it would then count as silent.
      this.#pulse.noteAnswer();
      return result;
    } catch (error) {
      const isInDoubt = error instanceof CommitInDoubt;
      const told = isInDoubt ? null : storageError(error);
      if (told !== null || isInDoubt || isStorageError(error))
        this.onFault(isInDoubt ? error : ((error as Error).cause ?? error));
      throw told ?? (isOutrun(error) ? new Outrun("another node was faster", { cause: error }) : error);
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

  /** Whether a commit is in doubt. Until that is over, nothing else is written. */
  get inDoubt(): boolean {
    return this.#inDoubt;
  }

  /**
   * One at a time. Rejects with a `WebhookdError` when the storage is at fault, and with `CommitInDoubt` when the work may
   * have been committed all the same, which takes a mark.
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
        // A server that does not answer would not answer this either; without the connection it undoes the transaction.
        if (storageError(fault) === null) await client.query("ROLLBACK").catch(() => this.#writer.drop());
        else this.#writer.drop();
        throw fault;
      }
      await this.#commit(client, mark);
      return result;
    });
  }

  /** Over the connection of the lease, which nobody else may ask anything until it is over. */
  async leaseTransaction<T>(work: (tx: Queries) => Promise<T>): Promise<T> {
    return this.#telling(async () => {
      const client = await this.#lease.client();
      await client.query("BEGIN");
      try {
        const result = await work(queriesOn(client));
        await commit(client);
        return result;
      } catch (error) {
        // Without its connection the server undoes it.
        this.#lease.cut();
        throw error;
      }
    });
  }

  /** Resolves once it is durable. */
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
      // Whoever is told that nothing was done does it again, and it would be done twice.
      if (typeof is === "string") throw new CommitInDoubt(known, lost);
    }
    if (!is) throw lost;
  }

  /**
   * Of whichever server takes writes now, for as long as it takes. A transaction's number would not tell: a server that
   * has lost the transaction gives its number to another one.
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
    // After a migration the next time it is planned anew.
    return telling(() =>
      once().catch((error: unknown) => (isOfOldTables(error) ? once() : Promise.reject(error))),
    ).catch((error: unknown) => Promise.reject(toldOf(error)));
  };
  return {
    rows: (sql, values) => asking((queries) => queries.rows(sql, values)),
    change: (sql, values) => asking((queries) => queries.change(sql, values)),
    script: (sql) => asking((queries) => queries.script(sql)),
  };
}

/** What went wrong with it: all later statements of the transaction only say that it has failed. */
function leaveMark(client: Client, { id, before }: Mark): Promise<Error | null> {
  return run(client, MARK, [id, before]).then(
    () => null,
    (error: Error) => error,
  );
}

/**
 * Once a statement of a transaction has failed, the server refuses all that were sent after it and says only that. Here each
 * of them rejects with the failure of the first: a caller that waits for several cannot know which of them it hears first.
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

/** Another statement of the transaction had failed before it. */
function isAftermath(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "25P02";
}

function isStorageError(error: unknown): boolean {
  return error instanceof WebhookdError && error.code.startsWith("storage_");
}

function silent({ cause }: Silence): WebhookdError {
  return storageUnavailable(cause ?? new Error("Connection silent"));
}

/** Damage to some rows, or a bug of the server's: whoever needs none of them is served all the same. */
export function isOfSome({ cause }: WebhookdError): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("XX");
}

/** A key that is taken, a deadlock, a lock that was not to be had, or rows that changed meanwhile, where the server is strict. */
function isOutrun(error: unknown): boolean {
  return isOfOldTables(error) || faultOf(error).is === "outrun";
}

/** Where nobody does it again: what callers are told. */
export function toldOf(error: unknown): unknown {
  return error instanceof Outrun ? storageUnavailable(error) : error;
}

/** What callers are told when the storage is at fault; null for any other error. */
function storageError(error: unknown): WebhookdError | null {
  if (error instanceof WebhookdError || !(error instanceof Error)) return null;
  const { is } = faultOf(error);
  if (is === "full") return storageFull(error);
  return is === "unavailable" ? storageUnavailable(error) : null;
}
