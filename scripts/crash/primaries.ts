/** A PostgreSQL that takes writes, and a synchronous standby of it that is promoted when the first was killed. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { binaries, freePort, withClient } from "../../test/harness/postgres.ts";
import { watchOver } from "./children.ts";

const run = promisify(execFile);
const NOBODY = 65534;
/** Started as root, PostgreSQL has its files as nobody. */
const isRoot = process.getuid?.() === 0;
const AS = isRoot ? { uid: NOBODY, gid: NOBODY } : {};
const ENV = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };
const POLL_MS = 10;

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

  private constructor(dir: string, bin: string, ports: readonly [number, number]) {
    this.#dir = dir;
    this.#bin = bin;
    this.#ports = ports;
  }

  /** Null where there is no PostgreSQL. */
  static async start({ standby = true } = {}): Promise<Primaries | null> {
    // Of its own: nobody may look into that of the check.
    const dir = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
    const bin = binaries(dir);
    if (bin === null) return null;
    const pair = new Primaries(dir, bin, [await freePort(), await freePort()]);
    const data = join(dir, "first");
    await pair.#belongs(dir);
    const init = ["-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    await run(join(bin, "initdb"), init, { ...AS, env: ENV, cwd: dir });
    pair.#primary = await pair.#serve(data, pair.#ports[0]);
    if (standby) await pair.#follow();
    return pair;
  }

  /** Both hosts, in this order whoever takes writes. */
  urlOf(database: string): string {
    return `postgres://test@${this.#ports.map((port) => `127.0.0.1:${port}`).join(",")}/${database}`;
  }

  /** Of the one that takes writes; it starts one for each connection. */
  get pid(): number {
    return this.#primary.process.pid!;
  }

  /** Of the one that takes writes. */
  primaryUrl(database: string): string {
    return urlOf(this.#primary.port, database);
  }

  ask(sql: string): Promise<void> {
    return withClient(this.primaryUrl("postgres"), async (client) => void (await client.query(sql)));
  }

  /** As if its host were lost: all of its processes at once. */
  async killPrimary(): Promise<void> {
    await killTree(this.#primary.process);
  }

  /** As a disk that hangs does: connections stay open, new ones are taken by the kernel, and nothing is answered. */
  suspend(): void {
    for (const pid of treeOf(this.#primary.process.pid!)) signal(pid, "SIGSTOP");
  }

  resume(): void {
    for (const pid of treeOf(this.#primary.process.pid!)) signal(pid, "SIGCONT");
  }

  /** The standby takes writes when it is done. */
  async promote(): Promise<void> {
    const standby = this.#standby!;
    await withClient(urlOf(standby.port, "postgres"), (client) => client.query("SELECT pg_promote(true, 60)"));
    const dead = this.#primary;
    this.#primary = standby;
    rmSync(dead.data, { recursive: true, force: true });
  }

  /** A new standby in place of the one that was lost; from then on no commit is answered that it does not have. */
  async follow(): Promise<void> {
    await this.#follow();
  }

  async stop(): Promise<void> {
    for (const { process } of [this.#primary, this.#standby ?? this.#primary]) await killTree(process);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #follow(): Promise<void> {
    const { data: from, port } = this.#primary;
    const to = join(this.#dir, `follows-${port}-${Date.now()}`);
    await withClient(urlOf(port, "postgres"), async (client) => {
      await client.query("SELECT pg_backup_start('standby', true)");
      cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith("postmaster.pid") });
      const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
      writeFileSync(join(to, "backup_label"), rows[0]!.labelfile);
      cpSync(join(from, "pg_wal"), join(to, "pg_wal"), { recursive: true });
    });
    writeFileSync(join(to, "standby.signal"), "");
    const auto = join(to, "postgresql.auto.conf");
    appendFileSync(auto, `primary_conninfo = 'host=127.0.0.1 port=${port} user=test application_name=other'\n`);
    await this.#belongs(to);
    this.#standby = await this.#serve(
      to,
      this.#ports.find((one) => one !== port)!,
    );
    await withClient(urlOf(port, "postgres"), async (client) => {
      const state = async () => (await client.query("SELECT state FROM pg_stat_replication")).rows[0]?.state;
      while ((await state()) !== "streaming") await sleep(POLL_MS);
      // Of the one that takes writes alone: the other must not wait for anybody when it is promoted.
      await client.query("ALTER SYSTEM SET synchronous_standby_names = 'other'");
      await client.query("SELECT pg_reload_conf()");
      const sync = async () => (await client.query("SELECT sync_state FROM pg_stat_replication")).rows[0]?.sync_state;
      while ((await sync()) !== "sync") await sleep(POLL_MS);
    });
  }

  async #belongs(path: string): Promise<void> {
    if (isRoot) await run("chown", ["-R", `${NOBODY}:${NOBODY}`, path]);
    if (existsSync(join(path, "PG_VERSION"))) chmodSync(path, 0o700);
  }

  async #serve(data: string, port: number): Promise<Server> {
    const where = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", this.#dir];
    const settings = { shared_buffers: "128MB", max_connections: "100", max_wal_senders: "4", wal_keep_size: "512MB" };
    const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const child = spawn(join(this.#bin, "postgres"), [...where, ...words], {
      ...AS,
      env: ENV,
      cwd: this.#dir,
      stdio: "ignore",
    });
    watchOver(child);
    for (;;) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with ${child.exitCode}`);
      const isReady = await withClient(urlOf(port, "postgres"), async () => true).catch(() => false);
      if (isReady) return { port, data, process: child };
      await sleep(POLL_MS);
    }
  }
}

function urlOf(port: number, database: string): string {
  return `postgres://test@127.0.0.1:${port}/${database}`;
}

/** The processes that serve connections go with the one that started them, in the same moment. */
async function killTree(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const all = treeOf(child.pid!);
  for (const pid of all) signal(pid, "SIGKILL");
  await gone;
}

/** A process and those that it started. */
function treeOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return [pid, ...children.split(" ").filter(Boolean).map(Number)];
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has just ended.
  }
}
