import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An executable alone in an empty directory, as on a machine to which one file was copied. */
export class Site {
  readonly directory = mkdtempSync(join(tmpdir(), "webhookd-executable-"));
  readonly executable: string;
  readonly dataDir = join(this.directory, "data");
  /** The command that starts it. */
  readonly command: readonly string[];
  /** The environment names a home and a temporary directory, in which the executable must write nothing. */
  readonly env: NodeJS.ProcessEnv;

  /** `emulator` is the command that runs executables for another processor. */
  constructor(file: string, emulator: string | null) {
    this.executable = join(this.directory, basename(file));
    copyFileSync(file, this.executable);
    this.command = emulator === null ? [this.executable] : [...emulator.split(" "), this.executable];
    this.env = { HOME: join(this.directory, "home"), TMPDIR: join(this.directory, "tmp") };
    for (const directory of Object.values(this.env)) mkdirSync(directory!);
  }

  run(words: readonly string[], env: NodeJS.ProcessEnv = this.env): Promise<Run> {
    const [command, ...before] = this.command as [string];
    const options = { cwd: this.directory, env, timeout: 60_000 };
    return new Promise((resolve) => {
      const child = execFile(command, [...before, ...words], options, (_, stdout, stderr) =>
        resolve({ code: child.exitCode ?? -1, stdout, stderr }),
      );
    });
  }

  /** Runs a client command against this site's daemon, which must succeed. Returns its stdout. */
  async ask(...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run([...words, "--socket", join(this.dataDir, "webhookd.sock")]);
    assert.equal(code, 0, `${words.join(" ")} is exit ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** `more` is added to the environment. */
  async serve(more: Readonly<Record<string, string>> = {}): Promise<Daemon> {
    const [command, ...before] = this.command as [string];
    const words = ["serve", "--dev", "--data-dir", this.dataDir, "--listen", "127.0.0.1:0"];
    const began = performance.now();
    const child = spawn(command, [...before, ...words], {
      cwd: this.directory,
      env: { ...this.env, ...more },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stderr.pipe(process.stderr);
    const lines: string[] = [];
    const silence = setTimeout(() => child.kill("SIGKILL"), 60_000);
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      const { msg, url } = JSON.parse(line) as { msg: string; url: string };
      if (msg !== "listening") continue;
      clearTimeout(silence);
      child.stdout.resume();
      return new Daemon(child, url, performance.now() - began, join(this.dataDir, "admin.key"));
    }
    clearTimeout(silence);
    throw new Error(`serve ended before it listened:\n${lines.join("\n")}`);
  }

  /** Returns the files that were written outside the data directory. */
  strays(): string[] {
    return readdirSync(this.directory, { recursive: true, encoding: "utf8" })
      .filter((path) => path !== basename(this.executable) && !/^(home|tmp)$|^data\b/.test(path))
      .toSorted();
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export class Daemon {
  readonly url: string;
  /** The time from the start of the process until it logged that it listens. */
  readonly startedMs: number;
  readonly #process: ChildProcess;
  readonly #keyFile: string;
  /** The output so far. */
  stderr = "";

  constructor(process: ChildProcess, url: string, startedMs: number, keyFile: string) {
    this.#process = process;
    this.url = url;
    this.startedMs = startedMs;
    this.#keyFile = keyFile;
    process.stderr!.on("data", (chunk) => (this.stderr += String(chunk)));
  }

  post(path: string, body: object): Promise<Record<string, string>> {
    return this.#call("POST", path, { headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  }

  get<Body>(path: string): Promise<Body> {
    return this.#call("GET", path);
  }

  async #call<Body>(method: string, path: string, { headers, body }: RequestInit = {}): Promise<Body> {
    const authorization = `Bearer ${readFileSync(this.#keyFile, "utf8").trim()}`;
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { ...headers, authorization },
      ...(body !== undefined && { body }),
      ...deadline(),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Body;
  }

  async stop(): Promise<void> {
    const exit = once(this.#process, "exit", deadline());
    this.#process.kill("SIGTERM");
    const [code] = (await exit) as [number | null];
    assert.equal(code, 0, "SIGTERM ends serve with 0");
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}

export function deadline(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(60_000) };
}
