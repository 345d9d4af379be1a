/**
 * What is asked of PostgreSQL: one connection writes, one renews the lease, one is for short questions, and some are for
 * lists. Statements are pipelined: none waits for the answer to the one before it, unless its caller does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "pg";
import { WebhookdError } from "../../../domain/errors.ts";
import { commit, durably, FailedBefore, NotReplicated } from "./commit.ts";
import { BY_KEYS, gather, isOfOldTables, LIST_PLANS, run } from "./prepared.ts";
import { configsOf, OPTIONS, Session } from "./session.ts";
import { within } from "./within.ts";
import { storageFull, storageUnavailable } from "../../files/unavailable.ts";

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

/** The answer to a commit was lost, and for now nobody can be asked what became of it. */
export class CommitInDoubt extends Error {
  /** Resolves when that is known; to false if the database is closed first. */
  readonly wasMade: Promise<boolean>;

  constructor(wasMade: Promise<boolean>, cause: unknown) {
    super("it is not known whether it was committed", { cause });
    this.wasMade = wasMade;
  }
}

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
  readonly #short: Queries;
  readonly #writer: Session;
  readonly #sessions: Session[] = [];
  #inDoubt = false;
  #closed = false;

  constructor(url: string) {
    this.url = url;
    const configs = configsOf(url);
    const session = (timeoutMs: number, plans: string) => {
      const limits = `-c statement_timeout=${timeoutMs} -c idle_in_transaction_session_timeout=${IDLE_MS}`;
      const some = new Session(configs.map((config) => ({ ...config, options: `${OPTIONS} ${limits} ${plans}` })));
      this.#sessions.push(some);
      return some;
    };
    // Nothing may end its wait for a standby.
    this.#writer = session(0, BY_KEYS);
    this.lease = queriesOver([session(0, BY_KEYS)]);
    this.#short = queriesOver([session(0, BY_KEYS)]);
    this.lists = queriesOver(Array.from({ length: LISTERS }, () => session(LIST_MS, LIST_PLANS)));
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
    return telling(async () => {
      if (this.#inDoubt) throw storageUnavailable();
      const client = await this.#writer.client();
      gather(client)
        .query("BEGIN")
        .catch(() => {});
      const left = mark === null ? null : leaveMark(client, mark);
      let first: unknown = null;
      let result: T;
      try {
        result = await work(queriesOn(client, (error) => (first ??= error)));
      } catch (error) {
        const fault = (await left) ?? (isAftermath(error) ? (first ?? error) : error);
        // A server that does not answer would not answer this either; without the connection it undoes the transaction.
        if (storageError(fault) === null) await client.query("ROLLBACK").catch(() => this.#writer.drop());
        else this.#writer.drop();
        throw fault;
      }
      await this.#commit(client, mark);
      return result;
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
      if (is === "lost") is = await within(ASK_MS, known);
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
    await Promise.all(this.#sessions.map((session) => session.close()));
  }
}

function queriesOver(sessions: readonly Session[]): Queries {
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

/** `onError` hears of what fails in the order in which it was asked. */
export function queriesOn(client: Client, onError: (error: unknown) => void = () => {}): Queries {
  const ask = (sql: string, values: readonly unknown[] = []) => {
    const asked = run(client, sql, values);
    asked.catch(onError);
    return asked;
  };
  return {
    rows: async <R extends object>(sql: string, values?: readonly unknown[]) => (await ask(sql, values)).rows as R[],
    change: async (sql, values) => (await ask(sql, values)).rowCount ?? 0,
    async script(sql) {
      await client.query(sql);
    },
  };
}

/** Another statement of the transaction had failed before it. */
function isAftermath(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "25P02";
}

async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageError(error) ?? (isOutrun(error) ? new Outrun("another node was faster", { cause: error }) : error);
  }
}

/** Damage to some rows, or a bug of the server's: whoever needs none of them is served all the same. */
export function isOfSome({ cause }: WebhookdError): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("XX");
}

/** A key that is taken, a deadlock, a lock that was not to be had, or rows that changed meanwhile, where the server is strict. */
function isOutrun(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error)) return false;
  return /^(23505|40001|40P01|55P03)$/.test(String(error.code)) || isOfOldTables(error);
}

/** Where nobody does it again: what callers are told. */
export function toldOf(error: unknown): unknown {
  return error instanceof Outrun ? storageUnavailable(error) : error;
}

/** What callers are told when the storage is at fault; null for any other error. */
function storageError(error: unknown): WebhookdError | null {
  if (error instanceof WebhookdError || !(error instanceof Error)) return null;
  const code = "code" in error ? String(error.code) : "";
  if (code === "53100") return storageFull(error);
  if (error instanceof NotReplicated) return storageUnavailable(error);
  // No connection, no resources, no time left, shutting down or recovering, read only, a right that was taken away, an
  // error of the system, damage.
  if (/^(08|53|57P|57014|58|25006|25P03|25P04|42501|XX)/.test(code) || /^E[A-Z]+$/.test(code))
    return storageUnavailable(error);
  return /^(Connection|Query read timeout|timeout expired|Client )/.test(error.message)
    ? storageUnavailable(error)
    : null;
}
