/** The databases and queues of the other tools, each as durable as its own documentation recommends. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { freePort, listens, plain, programAt, startProgram, type Running } from "./program.ts";

export interface Service extends Running {
  readonly port: number;
  readonly url: string;
}

/** PostgreSQL refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const POSTGRES_ROOT = "/usr/lib/postgresql";

export const NEEDED = {
  postgres: { at: inPostgres("postgres"), from: "it is PostgreSQL's, in any distribution" },
  "redis-server": { at: programAt("redis-server"), from: "it is Redis, in any distribution" },
  "rabbitmq-server": {
    // Debian's script on PATH would change to another user.
    at: programAt("rabbitmq-server", ["/usr/lib/rabbitmq/bin"]),
    from: "it is RabbitMQ's, in any distribution",
  },
} as const;

/** Keeps the defaults: fsync, synchronous_commit and full_page_writes are on. */
export async function startPostgres(dir: string): Promise<Service> {
  const data = join(dir, "postgres");
  mkdirSync(data, { mode: 0o700 });
  const as = process.getuid?.() === 0 ? NOBODY : undefined;
  if (as !== undefined) {
    chmodSync(dir, 0o711);
    chownSync(data, as.uid, as.gid);
  }
  const init = ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"];
  execFileSync(inPostgres("initdb")!, init, { cwd: data, env: plain(data), stdio: "ignore", ...as });
  const port = await freePort();
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "300" };
  const args = ["-D", data, "-p", String(port), ...Object.entries(settings).flatMap(([k, v]) => ["-c", `${k}=${v}`])];
  const ready = async () => {
    const client = new Client({ connectionString: url });
    client.on("error", () => {});
    await client.connect();
    await client.end();
  };
  const file = NEEDED.postgres.at!;
  return { ...(await startProgram({ file, args, dir, ready, end: "SIGQUIT", ...(as && { as }) })), port, url };
}

/** Syncs its log once a second, so a power cut may lose the last second, which webhookd would have kept. */
export async function startRedis(dir: string): Promise<Service> {
  const data = join(dir, "redis");
  mkdirSync(data);
  const port = await freePort();
  const settings = {
    port: String(port),
    bind: "127.0.0.1",
    dir: data,
    appendonly: "yes",
    appendfsync: "everysec",
    save: "",
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const file = NEEDED["redis-server"].at!;
  const running = await startProgram({ file, args, dir, ready: () => listens(port) });
  return { ...running, port, url: `redis://127.0.0.1:${port}` };
}

export async function startRabbit(dir: string): Promise<Service> {
  const data = join(dir, "rabbitmq");
  mkdirSync(data);
  const [port, distribution, directory] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(data, "rabbitmq.conf"), `listeners.tcp.1 = 127.0.0.1:${port}\n`);
  writeFileSync(join(data, "plugins"), "[].\n");
  const env = {
    HOME: data,
    // Makes its script exec the server. Otherwise we would have to ask the script to end it.
    RUNNING_UNDER_SYSTEMD: "1",
    RABBITMQ_NODENAME: `bench-${port}@localhost`,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    RABBITMQ_CONFIG_FILE: join(data, "rabbitmq.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(data, "plugins"),
    RABBITMQ_MNESIA_BASE: join(data, "mnesia"),
    RABBITMQ_LOG_BASE: join(data, "log"),
    RABBITMQ_PID_FILE: join(data, "pid"),
    ERL_EPMD_PORT: String(directory),
    ERL_EPMD_ADDRESS: "127.0.0.1",
  };
  // Start epmd here, because it would outlive a RabbitMQ that started it.
  const names = await startProgram({
    file: programAt("epmd")!,
    args: ["-port", String(directory), "-address", "127.0.0.1"],
    dir,
    env,
    ready: () => listens(directory),
  });
  const server = await startProgram({
    file: NEEDED["rabbitmq-server"].at!,
    args: [],
    dir,
    env,
    ready: () => listens(port),
  });
  const stop = async () => {
    await server.stop();
    await names.stop();
  };
  return { ...server, stop, port, url: `amqp://guest:guest@127.0.0.1:${port}` };
}

/** Returns the newest version that a distribution has installed, or the one on PATH. */
function inPostgres(name: string): string | null {
  let versions: string[] = [];
  try {
    versions = readdirSync(POSTGRES_ROOT).toSorted((a, b) => Number(b) - Number(a));
  } catch {}
  return programAt(
    name,
    versions.map((version) => join(POSTGRES_ROOT, version, "bin")),
  );
}
