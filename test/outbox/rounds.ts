/**
 * Kills webhookd, the application or the application's database, round after round, while the application inserts rows.
 * In the end each order that was committed must have one event, and no other event may be there.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { postgresSql, sqliteSql } from "../../src/domain/outbox/init-sql.ts";
import { AS_ITSELF, binaries, makeCluster, ready, withClient } from "../harness/postgres.ts";
import { ownPort } from "../harness/port.ts";
import type { DaemonProcess, Machine, TestProcess } from "../harness/process.ts";

const LOAD_MS = [50, 100, 200, 400] as const;
const SETTLE_MS = 60_000;

export type Kind = "postgres" | "sqlite";
const VICTIMS: Readonly<Record<Kind, readonly ("webhookd" | "application" | "database")[]>> = {
  postgres: ["webhookd", "database", "application"],
  sqlite: ["webhookd", "application"],
};

/** The application's database. */
interface Base {
  readonly kind: Kind;
  /** The URL or the file. */
  readonly where: string;
  rows(sql: string): Promise<readonly { readonly n: number }[]>;
  /** Kills the server, and starts it again. */
  restart(): Promise<void>;
  end(): Promise<void>;
}

class Server implements Base {
  readonly kind = "postgres";
  readonly where: string;
  readonly #dir: string;
  readonly #bin: string;
  readonly #port: number;
  #process: ChildProcess | null = null;

  private constructor(dir: string, bin: string, port: number) {
    this.#dir = dir;
    this.#bin = bin;
    this.#port = port;
    this.where = `postgres://test@127.0.0.1:${port}/postgres`;
  }

  static async start(): Promise<Server> {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
    const bin = binaries(dir);
    if (bin === null) throw new Error("there is no PostgreSQL to test with");
    await makeCluster(bin, join(dir, "data"));
    const server = new Server(dir, bin, await ownPort());
    await server.#serve();
    await withClient(server.where, async (client) => {
      await client.query("CREATE TABLE orders (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)");
      await client.query("CREATE ROLE webhookd LOGIN");
      await client.query(postgresSql({ table: "webhookd_outbox", tenantColumn: null, role: "webhookd" }));
    });
    return server;
  }

  /** The children of a killed server end a little later, and a new one refuses to start before that. */
  async #serve(): Promise<void> {
    const end = performance.now() + SETTLE_MS;
    for (;;) {
      try {
        return await this.#try();
      } catch (error) {
        if (performance.now() > end) throw error;
        await sleep(50);
      }
    }
  }

  async #try(): Promise<void> {
    const where = ["-D", join(this.#dir, "data"), "-p", String(this.#port), "-h", "127.0.0.1", "-k", this.#dir];
    // The system goes on, and has all that a killed server had written.
    const words = [...where, "-c", "fsync=off"];
    const started = spawn(join(this.#bin, "postgres"), words, { ...AS_ITSELF, cwd: this.#dir, stdio: "ignore" });
    this.#process = started;
    await ready(started, this.where);
  }

  rows(sql: string): Promise<readonly { readonly n: number }[]> {
    return withClient(this.where, async (client) => (await client.query<{ n: number }>(sql)).rows);
  }

  async restart(): Promise<void> {
    await this.#kill();
    await this.#serve();
  }

  async #kill(): Promise<void> {
    const process = this.#process!;
    if (process.exitCode !== null || process.signalCode !== null) return;
    const ended = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await ended;
  }

  async end(): Promise<void> {
    await this.#kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

class File implements Base {
  readonly kind = "sqlite";
  readonly where: string;

  constructor(file: string) {
    this.where = file;
    const db = new Database(file);
    db.exec("CREATE TABLE orders (n INTEGER PRIMARY KEY AUTOINCREMENT)");
    db.exec(sqliteSql({ table: "webhookd_outbox", tenantColumn: null }));
    db.close();
  }

  async rows(sql: string): Promise<readonly { readonly n: number }[]> {
    const db = new Database(this.where, { readonly: true });
    try {
      return db.prepare<[], { n: number }>(sql).all();
    } finally {
      db.close();
    }
  }

  async restart(): Promise<void> {}

  async end(): Promise<void> {}
}

export interface RoundsOptions {
  readonly kind: Kind;
  readonly rounds: number;
}

export interface Verdict {
  readonly committed: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** Events of orders that were never committed. */
  readonly invented: readonly string[];
  readonly setAside: number;
}

export async function outboxRounds(machine: Machine, { kind, rounds }: RoundsOptions): Promise<Verdict> {
  const base = kind === "postgres" ? await Server.start() : new File(join(machine.home, "shop.db"));
  try {
    const config = join(machine.home, "webhookd.toml");
    const at = kind === "sqlite" ? base.where : base.where.replace("test@", "webhookd@");
    writeFileSync(config, `[[outbox]]\nname = "shop"\n${kind === "sqlite" ? "sqlite" : "url"} = "${at}"\n`);
    const serve = () => machine.serve({ flags: ["--config", config, "--paused"] });
    const apply = async (): Promise<TestProcess> => {
      const words = [join(import.meta.dirname, "application-process.ts"), kind, base.where];
      const started = machine.spawn(process.execPath, words);
      await started.line((line) => line === "begun");
      return started;
    };
    let daemon: DaemonProcess = await serve();
    let application = await apply();
    for (let round = 0; round < rounds; round++) {
      const victim = VICTIMS[kind][round % VICTIMS[kind].length]!;
      await sleep(LOAD_MS[round % LOAD_MS.length]);
      if (victim === "webhookd") {
        await daemon.kill9();
        daemon = await serve();
      } else if (victim === "application") {
        application.kill("SIGKILL");
        await application.exit;
        application = await apply();
      } else await base.restart();
    }
    application.kill("SIGKILL");
    await application.exit;
    await settled(base);
    const verdict = await judge(base, daemon);
    await daemon.stop();
    return verdict;
  } finally {
    await base.end();
  }
}

/** Waits until all rows were published or set aside. Throws if there were no fewer of them for too long. */
async function settled(base: Base): Promise<void> {
  let [least, since] = [Infinity, performance.now()];
  while (performance.now() - since < SETTLE_MS) {
    const [waiting] = await base.rows("SELECT count(*) AS n FROM webhookd_outbox WHERE problem IS NULL");
    const left = Number(waiting!.n);
    if (left === 0) return;
    if (left < least) [least, since] = [left, performance.now()];
    await sleep(50);
  }
  throw new Error(`${least} rows were still waiting, and no fewer for ${SETTLE_MS / 1000} s`);
}

async function judge(base: Base, daemon: DaemonProcess): Promise<Verdict> {
  const committed = new Set((await base.rows("SELECT n FROM orders")).map(({ n }) => String(n)));
  const counts = new Map<string, number>();
  let cursor = "";
  do {
    const { body } = await daemon.request("GET", `/v1/webhooks/events?limit=100${cursor}`);
    for (const { publisher_id: n } of body.data as { publisher_id: string }[]) counts.set(n, (counts.get(n) ?? 0) + 1);
    cursor = typeof body.next_cursor === "string" ? `&cursor=${encodeURIComponent(body.next_cursor)}` : "";
  } while (cursor !== "");
  const [aside] = await base.rows("SELECT count(*) AS n FROM webhookd_outbox");
  return {
    committed: committed.size,
    lost: [...committed].filter((n) => !counts.has(n)),
    doubled: [...counts].filter(([, count]) => count > 1).map(([n]) => n),
    invented: [...counts.keys()].filter((n) => !committed.has(n)),
    setAside: Number(aside!.n),
  };
}
