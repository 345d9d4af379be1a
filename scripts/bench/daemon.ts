/** The program under test, as a separate process. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { START } from "../../src/bundle.ts";
import { SETTINGS, variableOf } from "../../src/config/schema.ts";
import { bundle } from "../build.ts";
import { watchOver } from "../crash/children.ts";
import { NODE_FLAGS } from "../package/node-flags.ts";
import { monotonic } from "./ledger.ts";
import { EVENT_TYPE } from "./payload.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const SOURCE = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
let bundled: Promise<string> | undefined;

/** Bundles the program as a release does. Run from source, Node's type stripping alone takes 50 MiB. */
function program(): Promise<string> {
  return (bundled ??= bundle(`${process.platform}-${process.arch}`).then(({ directory }) => join(directory, START)));
}

/** An executable to measure instead of the bundle. */
const EXECUTABLE = process.env["WEBHOOKD_BENCH_EXECUTABLE"];

/** Returns the executable, or Node with the bundle. */
export async function daemonCommand(): Promise<string[]> {
  return EXECUTABLE === undefined ? [process.execPath, ...NODE_FLAGS, await program()] : [resolve(EXECUTABLE)];
}

export interface DaemonOptions {
  readonly dir: string;
  readonly threads: number | null;
  /** If true, writes CPU profiles of its threads into `dir` when it ends. */
  readonly profile?: boolean;
  /** More settings, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The data directory that contains the first key. If absent, its own. */
  readonly keyDir?: string;
}

export class DaemonUnderTest {
  readonly pid: number;
  readonly port: number;
  readonly key: string;
  /** The time from the start of the process until it listens. */
  readonly startMs: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  private constructor(child: ChildProcess, ended: Promise<unknown[]>, at: { port: number; key: string; ms: number }) {
    this.#child = child;
    this.#ended = ended;
    this.pid = child.pid!;
    this.port = at.port;
    this.key = at.key;
    this.startMs = at.ms;
  }

  static async start(options: DaemonOptions): Promise<DaemonUnderTest> {
    const { dir, threads, profile = false, settings = {}, keyDir = join(dir, "data") } = options;
    const args = ["serve", "--dev", "--data-dir", join(dir, "data"), "--listen", "127.0.0.1:0", "--log-format", "json"];
    const logFile = join(dir, "daemon.log");
    const log = openSync(logFile, "a");
    const profiled = [process.execPath, ...NODE_FLAGS, "--cpu-prof", `--cpu-prof-dir=${dir}`, SOURCE];
    const command = profile ? profiled : await daemonCommand();
    const startedAt = monotonic();
    const child = watchOver(
      spawn(command[0]!, [...command.slice(1), ...args], {
        cwd: dir,
        env: { ...environment(threads), ...settings },
        stdio: ["ignore", "pipe", log],
      }),
    );
    const ended = once(child, "close");
    const url = await new Promise<string | null>((resolve) => {
      createInterface({ input: child.stdout! }).on("line", (line) => {
        writeSync(log, `${line}\n`);
        if (line.includes('"listening"')) resolve((JSON.parse(line) as { url: string }).url);
      });
      unawaited(
        ended.then(() => {
          closeSync(log);
          resolve(null);
        }),
      );
    });
    if (url === null) throw new Error(`the daemon did not start:\n${readFileSync(logFile, "utf8")}`);
    const key = readFileSync(join(keyDir, "admin.key"), "utf8").trim();
    return new DaemonUnderTest(child, ended, { port: Number(new URL(url).port), key, ms: monotonic() - startedAt });
  }

  /** Registers an endpoint for the published events, and returns its secret. */
  async register(url: string, tenant?: string): Promise<string> {
    const query = tenant === undefined ? "" : `?tenant=${tenant}`;
    const response = await fetch(`http://127.0.0.1:${this.port}/v1/webhooks${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: JSON.stringify({ url, events: [EVENT_TYPE] }),
    });
    const body = (await response.json()) as { signing_secret: string };
    if (response.status !== 201)
      throw new Error(`registration was answered ${response.status}: ${JSON.stringify(body)}`);
    return body.signing_secret;
  }

  /** Lets attempts on the wire end. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const [code, signal] = await this.#ended;
    if (code !== 0) throw new Error(`the daemon ended with ${String(signal ?? code)}`);
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

/** Leaves out the settings of the person who runs this. */
function environment(threads: number | null): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("WEBHOOKD_") && name !== "NODE_OPTIONS");
  return {
    ...Object.fromEntries(own),
    WEBHOOKD_DATA_DISK_FLOOR: "1MiB",
    ...(threads !== null && { [threadsVariable()]: String(threads) }),
  };
}

/** The daemon refuses variables that it does not know. */
function threadsVariable(): string {
  const variable = "WEBHOOKD_DELIVERY_THREADS";
  if (SETTINGS.some((setting) => variableOf(setting) === variable)) return variable;
  throw new Error("this webhookd has no setting for its threads: leave out --threads");
}
