/** A PostgreSQL that accepts writes, and its synchronous standby, which is promoted after the first one was killed. */
import { spawn, type ChildProcess } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AS_ITSELF, binaries, copyCluster, makeCluster, ready, withClient } from "../../test/harness/postgres.ts";
import { Link } from "../../test/harness/link.ts";
import { ownPort } from "../../test/harness/port.ts";
import { watchOver } from "./children.ts";
import { NodeLife, type NodeLifeOptions } from "./node-life.ts";

const POLL_MS = 10;
const DATABASE = "webhookd";

interface Server {
  readonly port: number;
  readonly data: string;
  readonly process: ChildProcess;
}

export class Primaries {
  readonly #dir: string;
  readonly #bin: string;
  readonly #ports: readonly [number, number];
  #primary!: Server;
  #standby: Server | null = null;
  /** The connection from the standby to the primary. */
  #link: Link | null = null;

  private constructor(dir: string, bin: string, ports: readonly [number, number]) {
    this.#dir = dir;
    this.#bin = bin;
    this.#ports = ports;
  }

  /** Returns null if there is no PostgreSQL. */
  static async start({ standby = true } = {}): Promise<Primaries | null> {
    // Use a separate directory, because nobody may look into that of the check.
    const dir = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
    const bin = binaries(dir);
    if (bin === null) {
      rmSync(dir, { recursive: true });
      return null;
    }
    const pair = new Primaries(dir, bin, [await ownPort(), await ownPort()]);
    const data = join(dir, "first");
    await makeCluster(bin, data);
    pair.#primary = await pair.#serve(data, pair.#ports[0]);
    if (standby) await pair.follow();
    return pair;
  }

  /** Returns a URL with both hosts, in the same order whichever is the primary. */
  urlOf(database: string): string {
    return `postgres://test@${this.#ports.map((port) => `127.0.0.1:${port}`).join(",")}/${database}`;
  }

  /** The primary's process id. It starts a process for each connection. */
  get pid(): number {
    return this.#primary.process.pid!;
  }

  /** The URL of the primary alone. */
  primaryUrl(database: string): string {
    return urlOf(this.#primary.port, database);
  }

  ask(sql: string): Promise<void> {
    return withClient(this.primaryUrl("postgres"), async (client) => void (await client.query(sql)));
  }

  /** Kills all processes of the primary at once, as if its host were lost. */
  async killPrimary(): Promise<void> {
    await killTree(this.#primary.process);
  }

  /** From now on, lets no byte pass between the two servers. */
  silenceStandby(): void {
    this.#link!.silence();
  }

  resumeStandby(): void {
    this.#link!.resume();
  }

  /**
   * Stops the primary as a hanging disk would: connections stay open, the kernel accepts new ones, and nothing is
   * answered.
   */
  suspend(): void {
    signalTree(this.#primary.process, "SIGSTOP");
  }

  resume(): void {
    signalTree(this.#primary.process, "SIGCONT");
  }

  /** Resolves when the standby accepts writes. */
  async promote(): Promise<void> {
    const standby = this.#standby!;
    await withClient(urlOf(standby.port, "postgres"), (client) => client.query("SELECT pg_promote(true, 60)"));
    const dead = this.#primary;
    this.#primary = standby;
    rmSync(dead.data, { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    for (const { process } of [this.#primary, this.#standby ?? this.#primary]) await killTree(process);
    await this.#link?.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /**
   * Starts a new standby in place of the one that was lost. From then on no commit returns before the standby has it.
   */
  async follow(): Promise<void> {
    const { data: from, port } = this.#primary;
    const to = join(this.#dir, `follows-${port}-${Date.now()}`);
    await copyCluster(urlOf(port, "postgres"), from, to);
    writeFileSync(join(to, "standby.signal"), "");
    const auto = join(to, "postgresql.auto.conf");
    await this.#link?.close();
    this.#link = await Link.to(port);
    const through = `host=127.0.0.1 port=${this.#link.port} user=test application_name=other`;
    appendFileSync(auto, `primary_conninfo = '${through}'\n`);
    this.#standby = await this.#serve(
      to,
      this.#ports.find((one) => one !== port)!,
    );
    await withClient(urlOf(port, "postgres"), async (client) => {
      const state = async () => (await client.query("SELECT state FROM pg_stat_replication")).rows[0]?.state;
      while ((await state()) !== "streaming") await sleep(POLL_MS);
      // Set this only on the primary, because the other must not wait for a standby when it is promoted.
      await client.query("ALTER SYSTEM SET synchronous_standby_names = 'other'");
      await client.query("SELECT pg_reload_conf()");
      const sync = async () => (await client.query("SELECT sync_state FROM pg_stat_replication")).rows[0]?.sync_state;
      while ((await sync()) !== "sync") await sleep(POLL_MS);
    });
  }

  async #serve(data: string, port: number): Promise<Server> {
    const where = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", this.#dir];
    const settings = { shared_buffers: "128MB", max_connections: "100", max_wal_senders: "4", wal_keep_size: "512MB" };
    const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const options = { ...AS_ITSELF, cwd: this.#dir, stdio: "ignore" } as const;
    const child = spawn(join(this.#bin, "postgres"), [...where, ...words], options);
    watchOver(child);
    await ready(child, urlOf(port, "postgres"));
    return { port, data, process: child };
  }
}

/** Runs nodes on a primary and its standby until the work is done. */
export async function onPrimaries<T>(
  options: NodeLifeOptions,
  work: (life: NodeLife, servers: Primaries, primaryUrl: () => string) => Promise<T>,
): Promise<T> {
  const servers = await Primaries.start();
  if (servers === null) throw new Error("there is no PostgreSQL to run nodes on");
  try {
    await servers.ask(`CREATE DATABASE ${DATABASE}`);
    const life = await NodeLife.begin(options, servers.urlOf(DATABASE));
    try {
      return await work(life, servers, () => servers.primaryUrl(DATABASE));
    } finally {
      servers.resume();
      await life.close();
    }
  } finally {
    await servers.stop();
  }
}

function urlOf(port: number, database: string): string {
  return `postgres://test@127.0.0.1:${port}/${database}`;
}

/** Kills a server with the processes that serve its connections, all at the same moment. */
async function killTree(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (signalTree(child, "SIGKILL")) await gone;
}

/** Signals a process and its children. Returns false if it has ended. */
function signalTree(child: ChildProcess, name: NodeJS.Signals): boolean {
  if (child.exitCode !== null || child.signalCode !== null) return false;
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
  for (const pid of [child.pid!, ...children.split(" ").filter(Boolean).map(Number)]) {
    try {
      process.kill(pid, name);
    } catch {
      // The process has just ended.
    }
  }
  return true;
}
