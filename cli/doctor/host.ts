/** Checks this host without asking the daemon. */
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Config } from "../../src/config.ts";
import { openFilesFor, connectionBudget, softLimitOf } from "../../src/domain/files.ts";
import type { Io } from "../io.ts";
import { count, size } from "../output/words.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";

/** These change how Node speaks TLS, or what it runs, and the daemon inherits them from the same place. */
const TELLING = ["NODE_OPTIONS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS", "SSLKEYLOGFILE"];
const MIB = 2 ** 20;

export function* hostFindings(io: Io): Generator<Finding> {
  for (const name of TELLING) {
    if (io.env[name]) yield warn("environment", `${name} is set`, `unset ${name}, unless you set it on purpose`);
  }
}

interface DataPlace {
  readonly config: Config;
  /** The owner of the data directory, such as `of the running daemon`. */
  readonly of: string;
}

export function* dataFindings({ config, of }: DataPlace, now: number): Generator<Finding> {
  const { dir } = config.data;
  if (!existsSync(dir)) {
    yield* clock(config, now);
    yield warn("data", `${dir}, the directory ${of}, does not exist yet`, "webhookd serve creates it");
    yield* space(config, dirname(dir));
    return;
  }
  try {
    accessSync(dir, constants.R_OK | constants.X_OK);
  } catch {
    return yield warn(
      "data",
      `this user may not read ${dir}, the directory ${of}`,
      "run this as its owner, or as root",
    );
  }
  yield ok("data", `${dir}, the directory ${of}`);
  yield* clock(config, now);
  yield* modes(config);
  yield* space(config, dir);
  if (config.data.store === "") yield* database(dir);
  yield* openFiles(config);
}

function* modes({ data: { dir, secretKeyFile } }: Config): Generator<Finding> {
  let isFaulty = false;
  // systemd passes credentials with a group bit set, which stands for an access list.
  const others = (file: string) => (dirname(file) === dir ? 0o077 : 0o007);
  for (const file of [dir, ...["webhookd.db", "admin.key"].map((name) => join(dir, name)), secretKeyFile]) {
    const mode = modeOf(file);
    if (mode === null || (mode & (file === dir ? 0o077 : others(file))) === 0) continue;
    isFaulty = true;
    const wanted = file === dir ? "700" : "600";
    yield fail("files", `${file} is open to other users (${mode.toString(8)})`, `chmod ${wanted} ${file}`);
  }
  // SQLite creates its two other files with the mode that the database has at the time, and they survive a crash.
  for (const file of [dir, ...["webhookd.db", "webhookd.db-wal", "webhookd.db-shm"].map((name) => join(dir, name))]) {
    const mode = modeOf(file);
    if (mode === null || !existsSync(file) || (mode & 0o200) !== 0) continue;
    isFaulty = true;
    yield fail("files", `${file} cannot be written to by its owner (${mode.toString(8)})`, `chmod u+w ${file}`);
  }
  if (existsSync(join(dir, "webhookd.db")) && !existsSync(secretKeyFile)) {
    const todo = "restore it from your copy, or name it with [data] secret_key_file";
    yield fail("files", `${secretKeyFile} is missing, and without it no signing secret can be read`, todo);
  } else if (!isFaulty) yield ok("files", `${dir} and its keys are private to the daemon`);
}

function modeOf(file: string): number | null {
  // Windows has no such mode bits.
  if (process.platform === "win32") return null;
  return (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
}

function* space({ data: { diskFloor } }: Config, dir: string): Generator<Finding> {
  let free: number;
  try {
    const { bavail, bsize } = statfsSync(dir);
    free = bavail * bsize;
  } catch {
    return;
  }
  const shown = `${size(free)} free, ${size(diskFloor)} needed`;
  if (free < diskFloor) yield fail("disk", `${shown}: new events are refused`, "free some space; deliveries continue");
  else if (free < 2 * diskFloor) yield warn("disk", shown, "free some space before new events are refused");
  else yield ok("disk", shown);
}

function* database(dir: string): Generator<Finding> {
  const file = join(dir, "webhookd.db");
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0) return yield missing(dir, file);
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const shown = `${size(bytes)}, write-ahead log ${size(log)}`;
  if (log > 256 * MIB && log > bytes / 4) {
    yield warn("database", shown, "watch webhookd status: a log that keeps growing means that the disk is too slow");
  } else yield ok("database", shown);
}

/** Distinguishes a store that `serve` would create from a missing one, which it refuses to replace. */
function missing(dir: string, file: string): Finding {
  const moved = readdirSync(dir).some((name) => name.startsWith("webhookd.db.moved-"));
  if (moved) return fail("database", `the store of ${dir} was moved to PostgreSQL`, "name that in [data] store");
  if (!existsSync(join(dir, "STORE")))
    return warn("database", `${file} does not exist yet`, "webhookd serve creates it");
  const what = `${dir} held a store, but its database ${file} is missing or empty`;
  return fail("database", what, "restore a backup with: webhookd restore FILE");
}

/**
 * Reads the limits of the daemon if it runs here and its process can be inspected. Otherwise reads those of this
 * process, which was probably started the same way.
 */
function* openFiles({ data: { dir }, delivery, server }: Config): Generator<Finding> {
  const pid = daemonPid(dir);
  const limit = limitOf(pid ?? "self") ?? (pid === null ? null : limitOf("self"));
  const fileSize = limitOf(pid ?? "self", "file size") ?? Infinity;
  if (fileSize !== Infinity) {
    const what = `a limit of ${fileSize} bytes for a file: the database cannot grow beyond it`;
    yield warn("limits", what, "set LimitFSIZE=infinity in the unit, or ulimit -f unlimited in a shell");
  }
  if (limit === null) return;
  const wanted = openFilesFor(delivery.maxInFlight);
  const shown = `a limit of ${limit} open files${pid === null ? " in this shell" : ""}`;
  const todo = `set LimitNOFILE=${wanted} in the unit, or ulimit -n ${wanted} in a shell, or lower [delivery] max_in_flight`;
  const { inFlight } = connectionBudget(limit);
  if (inFlight < delivery.maxInFlight)
    yield warn(
      "limits",
      `${shown}: enough for ${count(inFlight, "attempt", "attempts")} at once; ${delivery.maxInFlight} need ${wanted}`,
      todo,
    );
  else yield ok("limits", shown);
  if (server.socket === "")
    yield warn("socket", "every possible path for the unix socket is too long", "set [server] socket");
}

function daemonPid(dir: string): number | null {
  try {
    const { pid } = JSON.parse(readFileSync(join(dir, "webhookd.pid"), "utf8")) as { pid: unknown };
    return typeof pid === "number" && existsSync(`/proc/${pid}/limits`) ? pid : null;
  } catch {
    return null;
  }
}

function limitOf(pid: number | "self", name?: "file size"): number | null {
  try {
    return softLimitOf(readFileSync(`/proc/${pid}/limits`, "latin1"), name);
  } catch {
    return null;
  }
}

/**
 * The store's times come from this clock, and receivers refuse a Standard Webhooks signature when it is five minutes
 * off.
 */
function* clock({ data: { dir } }: Config, now: number): Generator<Finding> {
  const written = Math.max(0, ...["webhookd.db", "webhookd.db-wal"].map((name) => mtimeOf(join(dir, name))));
  const shown = new Date(now).toISOString();
  const ahead = Math.round((written - now) / 1000);
  if (ahead > 60) {
    yield fail("clock", `${shown} is ${ahead} s before the last write to the database`, "timedatectl status");
  } else if (existsSync("/run/systemd/timesync") && !existsSync("/run/systemd/timesync/synchronized")) {
    yield warn("clock", `${shown}, not synchronised`, "timedatectl status");
  } else yield ok("clock", shown);
}

function mtimeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
