/**
 * Connections to PostgreSQL: one that writes, one that renews the lease, one for short questions, and some for lists. Of several hosts the one is used that takes writes, so
 * that a standby which was promoted is found without a restart. Statements are pipelined: none waits for the answer to
 * the one before it, unless its caller does.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Client, types, type ClientConfig, type QueryConfig } from "pg";
import { WebhookdError } from "../../../domain/errors.ts";
import { storageFull, storageUnavailable } from "../../sqlite/engine/condition.ts";
import { BY_KEYS, gather, isOfOldTables, LIST_PLANS, run } from "./prepared.ts";

const CONNECT_MS = 2000;
const QUERY_MS = 10_000;
/** For how long, and how far apart, what became of a commit is asked. */
const ASK_MS = 5000;
const ASK_AGAIN_MS = 250;
/** As long as a lease: a process that is suspended in the middle of a transaction holds up nobody for longer. */
const IDLE_MS = 5000;
const LISTERS = 2;
/** The server gives up a list before its caller does: otherwise the next one would wait behind it. */
const LIST_MS = 9000;
const INT8 = 20;

/** What is committed, and how, must not depend on what a role or a database has for its default. */
const OPTIONS = "-c synchronous_commit=on -c default_transaction_isolation=read\\ committed -c timezone=UTC";

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
const BAR = "INSERT INTO last_commit (id) VALUES ($1) ON CONFLICT DO NOTHING";

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

  /** One at a time. Rejects with a `WebhookdError` when the storage is at fault. */
  async transaction<T>(work: (tx: Queries) => Promise<T>, mark: Mark | null = null): Promise<T> {
    return telling(async () => {
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
      const committed = await client.query("COMMIT").catch(async (error: unknown) => {
        this.#writer.drop();
        if (mark !== null && (await this.#wasCommitted(mark))) return { command: "COMMIT" };
        throw error;
      });
      if (committed.command !== "COMMIT") throw new Error("a statement of the transaction failed, and nobody said so");
      return result;
    });
  }

  /**
   * The answer to a commit was lost: what it came to is asked of whichever server takes writes now. Whoever is told that
   * nothing was done does it again, and an event that is there would be there twice. A transaction's number would not
   * tell: a server that has lost the transaction gives its number to another one.
   */
  async #wasCommitted({ id }: Mark): Promise<boolean> {
    for (const enough = AbortSignal.timeout(ASK_MS); !enough.aborted;) {
      try {
        // Waits for the transaction if that is still open, and bars it if it has not begun.
        const asked: QueryConfig & Pick<ClientConfig, "query_timeout"> = {
          text: BAR,
          values: [id],
          query_timeout: ASK_MS,
        };
        const { rowCount } = await (await this.#writer.client()).query(asked);
        return rowCount === 0;
      } catch {
        this.#writer.drop();
      }
      await sleep(ASK_AGAIN_MS);
    }
    return false;
  }

  async close(): Promise<void> {
    await Promise.all(this.#sessions.map((session) => session.close()));
  }
}

function queriesOver(sessions: readonly Session[]): Queries {
  let next = 0;
  const asking = <T>(ask: (queries: Queries) => Promise<T>) => {
    const session = sessions[next++ % sessions.length]!;
    const once = async () => ask(queriesOn(await session.client()));
    // After a migration the next time it is planned anew.
    return telling(() => once().catch((error: unknown) => (isOfOldTables(error) ? once() : Promise.reject(error))));
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

/** A connection that is made when it is wanted, and again when it was lost. */
class Session {
  readonly #configs: ClientConfig[];
  #client: Promise<Client> | null = null;
  #closed = false;

  constructor(configs: ClientConfig[]) {
    this.#configs = configs;
  }

  client(): Promise<Client> {
    if (this.#closed) return Promise.reject(storageUnavailable());
    if (this.#client !== null) return this.#client;
    const client: Promise<Client> = connect(this.#configs, () => {
      if (this.#client === client) this.#client = null;
    });
    this.#client = client;
    client.catch(() => this.drop());
    return client;
  }

  drop(): void {
    const client = this.#client;
    this.#client = null;
    client?.then((open) => open.end()).catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    await client?.then((open) => open.end()).catch(() => {});
  }
}

/** To the first host that takes writes. */
export async function connect(configs: ClientConfig[], onLost: () => void): Promise<Client> {
  let last: unknown = null;
  const order = configs.slice();
  for (const config of order) {
    const client = new Client(config);
    // Of a host that is given up nobody wants to hear.
    let isChosen = false;
    for (const event of ["error", "end"]) client.on(event as "end", () => isChosen && onLost());
    try {
      await client.connect();
      const { rows } = await client.query<{ standby: boolean }>("SELECT pg_is_in_recovery() AS standby");
      isChosen = rows[0]!.standby === false;
      if (isChosen) {
        // The others of this process try it first.
        configs.sort((one, other) => Number(other === config) - Number(one === config));
        return client;
      }
      last = new Error("the server is a standby");
    } catch (error) {
      last = error;
    }
    client.end().catch(() => {});
  }
  throw storageUnavailable(last);
}

export function queriesOn(client: Client): Queries {
  return {
    rows: async <R extends object>(sql: string, values: readonly unknown[] = []) =>
      (await run(client, sql, values)).rows as R[],
    change: async (sql, values = []) => (await run(client, sql, values)).rowCount ?? 0,
    async script(sql) {
      await client.query(sql);
    },
  };
}

/** Instants and keys fit into a number. */
const numbers = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === INT8 && format !== "binary" ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/;

/** For people: the hosts and the database, without user and password. */
export function hostsOf(url: string): string {
  const [, , hosts = "", after = ""] = ADDRESS.exec(url) ?? [];
  return `${hosts}${after.replace(/\?.*/s, "")}`;
}

export function configsOf(url: string): ClientConfig[] {
  const [, before, hosts, after] = ADDRESS.exec(url) ?? [];
  if (before === undefined) throw new Error("not a postgres:// address");
  return hosts!.split(",").map((host) => ({
    connectionString: `${before}${host}${after}`,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    pipeline: true,
    options: OPTIONS,
    application_name: "webhookd",
    types: numbers,
  }));
}

async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageError(error) ?? (isOutrun(error) ? new Outrun("another node was faster", { cause: error }) : error);
  }
}

/** A key that is taken, a deadlock, a lock that was not to be had, or rows that changed meanwhile, where the server is strict. */
function isOutrun(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error)) return false;
  return /^(23505|40001|40P01|55P03)$/.test(String(error.code)) || isOfOldTables(error);
}

/** What callers are told when the storage is at fault; null for any other error. */
function storageError(error: unknown): WebhookdError | null {
  if (error instanceof WebhookdError || !(error instanceof Error)) return null;
  const code = "code" in error ? String(error.code) : "";
  if (code === "53100") return storageFull(error);
  // No connection, no resources, no time left, shutting down or recovering, read only, an error of the system.
  if (/^(08|53|57P|57014|58|25006|25P03)/.test(code) || /^E[A-Z]+$/.test(code)) return storageUnavailable(error);
  return /^(Connection|Query read timeout|timeout expired|Client )/.test(error.message)
    ? storageUnavailable(error)
    : null;
}
