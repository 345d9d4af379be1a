/**
 * A connection to PostgreSQL. Of several hosts the one is used that takes writes, so that a standby which was promoted is
 * found without a restart.
 */
import type { Duplex } from "node:stream";
import { Client, types, type ClientConfig } from "pg";
import { heed } from "./commit.ts";
import { within } from "./within.ts";
import { storageUnavailable } from "../../files/unavailable.ts";

const CONNECT_MS = 2000;
const QUERY_MS = 10_000;
const END_MS = 1000;
const INT8 = 20;

/** What is committed, and how, must not depend on what a role or a database has for its default. */
export const OPTIONS =
  "-c synchronous_commit=on -c client_min_messages=warning -c default_transaction_isolation=read\\ committed -c lock_timeout=0 -c timezone=UTC";

/** A connection that is made when it is wanted, and again when it was lost. */
export class Session {
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
    client?.then(end).catch(() => {});
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    await client?.then(end).catch(() => {});
  }
}

/** What it is being asked is answered first, unless that takes long. */
async function end(client: Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  if ((await within(END_MS, client.end())) === "late") stream.destroy();
}

/** To the first host that takes writes. */
export async function connect(configs: ClientConfig[], onLost: () => void): Promise<Client> {
  let last: unknown = null;
  const order = configs.slice();
  for (const config of order) {
    const client = new Client(config);
    heed(client);
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
