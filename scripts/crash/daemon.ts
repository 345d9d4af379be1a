/** Runs the real program as a process. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS } from "../package/node-flags.ts";
import { Api } from "./api.ts";
import { watchOver } from "./children.ts";
import { monotonic } from "./journal.ts";
import { LADDER, TIMEOUT_MS } from "./site.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** The program from its sources, on the Node that runs this. */
export const SOURCES = [process.execPath, ...NODE_FLAGS, fileURLToPath(new URL("../../cli/main.ts", import.meta.url))];
/** Much longer than a start may take on any machine, so that it only finds starts that hang. */
const STUCK_MS = 120_000;

export interface Home {
  /** The directory of this life. */
  readonly dir: string;
  /** The daemon's directory below it. If absent, `data`. */
  readonly data?: string;
  /** A file to run, and its first arguments. */
  readonly program: readonly string[];
  /** Node keeps compiled code here, because rounds spend most of their time on starts. */
  readonly compileCache: string;
  /** Environment variables in addition to those of the site. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The time at which we killed it, or at which it was found gone. */
  readonly at: number;
}

export class DaemonProcess {
  readonly pid: number;
  readonly ended: Promise<End>;
  /** Resolves with the start-up time in milliseconds, or null if the process ended before it listened. */
  readonly listening: Promise<number | null>;
  readonly #home: Home;
  readonly #child: ChildProcess;
  #killedAt: number | null = null;
  #url: string | null = null;

  private constructor(home: Home) {
    this.#home = home;
    const log = openSync(join(home.dir, "daemon.log"), "a");
    const startedAt = monotonic();
    const [file, ...first] = home.program;
    const args = [
      ...first,
      "serve",
      "--dev",
      "--data-dir",
      dataDir(home),
      "--listen",
      "127.0.0.1:0",
      "--log-format",
      "json",
    ];
    this.#child = watchOver(
      spawn(file!, args, {
        cwd: home.dir,
        env: environment(home),
        stdio: ["ignore", "pipe", log],
      }),
    );
    this.pid = this.#child.pid!;
    this.ended = once(this.#child, "close").then(([code, signal]) => {
      closeSync(log);
      return { code, signal, at: this.#killedAt ?? monotonic() } as End;
    });
    this.listening = new Promise((resolve) => {
      createInterface({ input: this.#child.stdout! }).on("line", (line) => {
        writeSync(log, `${line}\n`);
        if (this.#url !== null || !line.includes('"listening"')) return;
        this.#url = (JSON.parse(line) as { url: string }).url;
        resolve(monotonic() - startedAt);
      });
      unawaited(this.ended.then(() => resolve(null)));
    });
  }

  static start(home: Home): DaemonProcess {
    mkdirSync(home.dir, { recursive: true });
    return new DaemonProcess(home);
  }

  get hasListened(): boolean {
    return this.#url !== null;
  }

  /** Available once the process listens. `keyDir` is the data directory that contains the first key. */
  api(keyDir = dataDir(this.#home)): Api {
    return new Api(this.#url!, readFileSync(join(keyDir, "admin.key"), "utf8").trim());
  }

  /** Does the same as `listening`, and kills a process that neither listens nor ends. */
  async untilListening(): Promise<number | null> {
    const stuck = setTimeout(() => this.kill(), STUCK_MS);
    const startUpMs = await this.listening;
    clearTimeout(stuck);
    return startUpMs;
  }

  terminate(): void {
    this.#child.kill("SIGTERM");
  }

  suspend(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  kill(): void {
    this.#killedAt ??= monotonic();
    this.#child.kill("SIGKILL");
  }
}

export function dataDir(home: Home): string {
  return join(home.dir, home.data ?? "data");
}

/** Leaves out the settings of the person who runs this. */
function environment(home: Home): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("WEBHOOKD_") && name !== "NODE_OPTIONS");
  return {
    ...Object.fromEntries(own),
    NODE_COMPILE_CACHE: home.compileCache,
    WEBHOOKD_RETRY_DELAYS: LADDER.map((ms) => `${ms}ms`).join(","),
    WEBHOOKD_RETRY_TIMEOUT: `${TIMEOUT_MS}ms`,
    WEBHOOKD_DATA_DISK_FLOOR: "1MiB",
    ...home.settings,
  };
}
