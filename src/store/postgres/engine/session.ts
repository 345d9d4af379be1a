/**
 * A connection to PostgreSQL. If the URL names several hosts, it uses the one that accepts writes, so that a promoted
 * standby is found without a restart.
 */
import { POSTGRES_ADDRESS } from "../../../domain/network/postgres-address.ts";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, DatabaseError, types, type ClientConfig } from "pg";
import { storageUnavailable } from "../../files/unavailable.ts";
import { heed } from "./commit.ts";

const CONNECT_MS = 2000;
const QUERY_MS = 10_000;
const END_MS = 1000;
const INT8 = 20;

export type Settings = Readonly<Record<string, string>>;

/** Commits must not depend on the defaults of a role or a database. */
const SETTINGS: Settings = {
  synchronous_commit: "on",
  client_min_messages: "warning",
  default_transaction_isolation: "read committed",
  lock_timeout: "0",
  TimeZone: "UTC",
};

interface Open {
  readonly made: Promise<Client>;
  /** Stays the same client until it is given up. */
  readonly client: Promise<Client>;
  readonly giveUp: (error: Error) => void;
}

/** A connection that is opened when it is needed, and again after it was lost. */
export class Session {
  readonly #configs: ClientConfig[];
  readonly #settings: Settings;
  #open: Open | null = null;
  #closed = false;

  constructor(configs: ClientConfig[], settings: Settings) {
    this.#configs = configs;
    this.#settings = settings;
  }

  client(): Promise<Client> {
    if (this.#closed) return Promise.reject(storageUnavailable());
    if (this.#open !== null) return this.#open.client;
    const { promise, reject } = Promise.withResolvers<never>();
    const forget = () => {
      if (this.#open === open) this.#open = null;
    };
    const made = connect(this.#configs, this.#settings, forget);
    const open: Open = { made, client: Promise.race([made, promise]), giveUp: reject };
    this.#open = open;
    open.client.catch(forget);
    return open.client;
  }

  /** Queries in progress may still be answered. */
  drop(): void {
    this.#take()
      ?.made.then(end)
      .catch(() => {});
  }

  /** Queries in progress fail at once, and so do callers that wait for the connection. */
  cut(): void {
    const open = this.#take();
    open?.giveUp(storageUnavailable());
    open?.made.then((client) => streamOf(client).destroy()).catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#take()
      ?.made.then(end)
      .catch(() => {});
  }

  #take(): Open | null {
    const open = this.#open;
    this.#open = null;
    return open;
  }
}

/** Lets queries in progress be answered first, unless that takes long. */
async function end(client: Client): Promise<void> {
  if ((await within(END_MS, client.end())) === "late") streamOf(client).destroy();
}

/** The stream that the driver has, but its types leave out. */
export function streamOf(client: Client): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}

/** Connects to the first host that accepts writes. */
export async function connect(configs: ClientConfig[], settings: Settings, onLost: () => void): Promise<Client> {
  const found: unknown[] = [];
  const order = configs.slice();
  for (const config of order) {
    const client = new Client(config);
    heed(client);
    // Nobody cares about the errors of a host that was given up.
    let isChosen = false;
    for (const event of ["error", "end"]) client.on(event as "end", () => isChosen && onLost());
    try {
      await client.connect();
      isChosen = await prepare(client, settings);
      if (isChosen) {
        // The other sessions of this process try it first.
        configs.sort((one, other) => Number(other === config) - Number(one === config));
        return client;
      }
      found.push(refused("25006", "the server is a standby"));
    } catch (error) {
      found.push(error);
    }
    client.end().catch(() => {});
  }
  // A server's error says more than one about a server that cannot be reached, or is a standby.
  throw storageUnavailable(found.find((error) => error instanceof DatabaseError) ?? found.at(-1));
}

interface Setting {
  readonly pid: number;
  readonly name: string;
  readonly value: string;
}

const SET = `SELECT pg_backend_pid() AS pid, pg_is_in_recovery() AS standby, s.name,
  set_config(s.name, s.value, false) AS value FROM unnest($1::text[], $2::text[]) AS s (name, value)`;
const READ = `SELECT pg_backend_pid() AS pid, s.name, current_setting(s.name) AS value
  FROM unnest($1::text[]) AS s (name)`;

const pids = new WeakMap<Client, number>();

/** Returns the id of the server process behind the connection. */
export function pidOf(client: Client): number {
  return pids.get(client)!;
}

/**
 * Returns true if the server accepts writes. The settings are made after the connection, because a pooler may drop
 * those that come with it. They are read back, because they are useless if each statement may run in another process.
 */
async function prepare(client: Client, more: Settings): Promise<boolean> {
  const wanted = { ...SETTINGS, ...more };
  const names = Object.keys(wanted);
  const [made, read] = await Promise.all([
    client.query<Setting & { standby: boolean }>(SET, [names, Object.values(wanted)]),
    client.query<Setting>(READ, [names]),
  ]);
  const { pid, standby } = made.rows[0]!;
  for (const [at, { name, value }] of made.rows.entries()) {
    const now = read.rows[at]!;
    if (now.pid !== pid) throw pooled();
    if (now.value !== value) throw refused("42P05", `${name} was set to ${value}, and is ${now.value}`);
  }
  pids.set(client, pid);
  return !standby;
}

/**
 * Returns the error for a pooler that runs one connection's statements in several processes, or several connections' in
 * one.
 */
export function pooled(): Error {
  return refused("42P05", "connections share a server process");
}

function refused(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** Instants and keys fit into a number. */
const numbers = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === INT8 && format !== "binary" ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

export function configsOf(url: string): ClientConfig[] {
  const [, before, hosts, after] = POSTGRES_ADDRESS.exec(url) ?? [];
  if (before === undefined) throw new Error("not a postgres:// address");
  return hosts!.split(",").map((host) => ({
    connectionString: `${before}${host}${after}`,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    pipeline: true,
    application_name: "webhookd",
    types: numbers,
  }));
}

/**
 * Returns the answer, or "late" if it takes longer. The answer may still arrive after that, and the caller must handle
 * it.
 */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T | "late"> {
  const enough = new AbortController();
  const late = sleep(ms, "late" as const, { signal: enough.signal }).catch(() => "late" as const);
  return Promise.race([answer, late]).finally(() => enough.abort());
}
