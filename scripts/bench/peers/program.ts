/** Finds other people's programs and packages, starts a program, waits for it and ends it. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, closeSync, constants, openSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer, type AddressInfo } from "node:net";
import { delimiter, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watchOver } from "../../crash/children.ts";
import { monotonic } from "../ledger.ts";

/** A directory with programs, and with packages in its `node_modules`. It comes before PATH. */
const OWN = process.env.WEBHOOKD_PEERS;
const READY_MS = 60_000;
const LOOK_MS = 5;
const END_MS = 10_000;

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly dir: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly as?: { readonly uid: number; readonly gid: number };
  /** Rejects, or never resolves, until the program serves. */
  readonly ready: () => Promise<unknown>;
  /** The signal that ends the whole program at once. */
  readonly end?: NodeJS.Signals;
}

export interface Running {
  readonly pid: number;
  readonly startMs: number;
  stop(): Promise<void>;
}

/** Returns the path of a program, or null. `places` are system directories that take precedence over PATH. */
export function programAt(name: string, places: readonly string[] = []): string | null {
  const directories = [...(OWN === undefined ? [] : [OWN]), ...places, ...(process.env.PATH ?? "").split(delimiter)];
  const paths = directories.filter((directory) => directory !== "").map((directory) => resolve(directory, name));
  return paths.find(isProgram) ?? null;
}

/** Returns a sentence about the first missing requirement and how to get it, or null if there is none. */
export function firstMissing(needed: Readonly<Record<string, { readonly at: string | null; readonly from: string }>>) {
  const found = Object.entries(needed).find(([, { at }]) => at === null);
  return found === undefined ? null : `${found[0]} is neither in WEBHOOKD_PEERS nor on PATH: ${found[1].from}`;
}

/** Loads packages from `node_modules` in WEBHOOKD_PEERS, because no lockfile of this project has them. */
export const packages: NodeJS.Require | null =
  OWN === undefined ? null : createRequire(join(resolve(OWN), "bench.cjs"));

/** Returns the directory of a package, or null. */
export function packageAt(name: string): string | null {
  const path = OWN === undefined ? null : join(resolve(OWN), "node_modules", name);
  return path !== null && isThere(join(path, "package.json")) ? path : null;
}

/** Returns the first version number that the program prints. */
export function versionOf(file: string, ...args: readonly string[]): string {
  const text = execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], timeout: 20_000 });
  return /\d+(\.\d+)+/.exec(text)?.[0] ?? text.trim().split("\n")[0]!;
}

export async function startProgram({ file, args, dir, env, as, ready, end = "SIGKILL" }: Program): Promise<Running> {
  const name = file.split("/").at(-1)!;
  const logFile = join(dir, `${name}.log`);
  const log = openSync(logFile, "a");
  const startedAt = monotonic();
  const child = watchOver(
    spawn(file, args, { cwd: dir, env: { ...plain(dir), ...env }, stdio: ["ignore", log, log], ...as }),
  );
  closeSync(log);
  const failure = await until(ready, child);
  const startMs = monotonic() - startedAt;
  const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
  const stop = async () => {
    child.kill(end);
    const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
    await ended;
    clearTimeout(late);
  };
  if (failure === null) return { pid: child.pid!, startMs, stop };
  await stop();
  throw new Error(`${name} did not start: ${failure}\n${readFileSync(logFile, "utf8").slice(-2000)}`);
}

/** Returns why it is not ready in time, or null if it is. */
async function until(ready: () => Promise<unknown>, child: ChildProcess): Promise<string | null> {
  let why = "nothing";
  child.once("error", (error) => (why = error.message));
  for (const deadline = monotonic() + READY_MS; monotonic() < deadline; await sleep(LOOK_MS)) {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return `it ended (${why})`;
    try {
      await ready();
      return null;
    } catch (error) {
      why = (error as Error).message;
    }
  }
  return why;
}

/** Leaves out the settings of the person who runs this. */
export function plain(dir: string): Record<string, string> {
  return { PATH: process.env.PATH ?? "", HOME: dir, LC_ALL: "C", TZ: "UTC" };
}

/** Throws unless the response is a 2xx. Returns its JSON, or null. */
export async function ask(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${init.method ?? "GET"} ${url} was answered ${response.status}: ${text}`);
  return response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : null;
}

/** Throws unless something listens there. */
export async function listens(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    // If nobody listens on an ephemeral port, a connection may connect to itself.
    if (socket.localPort === port) throw new Error("nobody listens there yet");
  } finally {
    socket.destroy();
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

function isProgram(path: string): boolean {
  return isThere(path, constants.X_OK);
}

function isThere(path: string, mode = constants.R_OK): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
