import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { it as base } from "vitest";
import { V8_CODE_FLAG } from "../../scripts/package/node-flags.ts";
import { TestReceiver, type Answer } from "./receiver.ts";

const CHECKOUT = resolve(import.meta.dirname, "../..");
export const MAIN = join(CHECKOUT, "cli/main.ts");
const SOURCES = [process.execPath, V8_CODE_FLAG, MAIN] as const;
export const SCRIPT = join(CHECKOUT, "scripts/webhookd");

/** Each test gets its own machine; tests may run at the same time. */
export const it = base.extend<{ machine: Machine }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads what a fixture needs from this pattern.
  machine: async ({}, use) => {
    const machine = new Machine();
    await use(machine);
    await machine.end();
  },
});

export interface SpawnOptions {
  /** Settings by the names of their variables, such as `{ RETRY_DELAYS: "10ms,20ms" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Other environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Runs as another user. */
  readonly uid?: number;
  /** Replaces the pipes, for example to pass on a descriptor. */
  readonly stdio?: StdioOptions;
}

export interface ServeOptions extends SpawnOptions {
  readonly dir?: string;
  /** Allows endpoints with plain http on this host, which test receivers use. True by default. */
  readonly dev?: boolean;
  readonly flags?: readonly string[];
  /** The program to start in place of the sources, such as `scripts/webhookd` or the bundle's file on this Node. */
  readonly program?: readonly [string, ...string[]];
}

/** A home directory, with the processes and receivers that one test starts. `end` stops and removes them all. */
export class Machine {
  readonly home = mkdtempSync(join(tmpdir(), "webhookd-process-"));
  /** The data directory of every command that names no other. */
  readonly dir = join(this.home, "data");
  readonly #processes: TestProcess[] = [];
  readonly #receivers: TestReceiver[] = [];

  /** Starts any program. PATH is the only variable of the test run that it inherits. */
  spawn(
    file: string,
    args: readonly string[],
    { settings = {}, env: more = {}, ...options }: SpawnOptions = {},
  ): TestProcess {
    const env: Record<string, string> = {
      HOME: this.home,
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
      WEBHOOKD_DATA_DIR: this.dir,
      ...more,
    };
    // The compile cache halves the time of a start, most of which is spent compiling the same modules. Programs outside
    // this checkout run without it, because tests measure them as they are.
    const isOurs = [file, ...args].some((word) => word === MAIN || word === SCRIPT);
    if (isOurs) env["NODE_COMPILE_CACHE"] = join(CHECKOUT, ".cache/compile");
    for (const [name, value] of Object.entries(settings)) env[`WEBHOOKD_${name}`] = value;
    const started = new TestProcess(spawn(file, args, { cwd: this.home, ...options, env }));
    this.#processes.push(started);
    return started;
  }

  /** Starts `webhookd serve` on any free port. The process may end before it listens. */
  start({ dir = this.dir, dev = true, flags = [], program = SOURCES, ...options }: ServeOptions = {}): TestProcess {
    // On a busy machine an attempt may take longer than its default time limit, which few tests are about.
    const settings = { RETRY_TIMEOUT: "10m", ...options.settings };
    const words = ["serve", "--data-dir", dir, ...(dev ? ["--dev"] : []), ...flags];
    if (!words.includes("--listen")) words.push("--listen", "127.0.0.1:0");
    const [file, ...first] = program;
    return this.spawn(file, [...first, ...words], { ...options, settings });
  }

  async serve(options: ServeOptions = {}): Promise<DaemonProcess> {
    const process = this.start(options);
    const { url } = await process.json(({ msg }) => msg === "listening");
    return new DaemonProcess(process, String(url), options.dir ?? this.dir);
  }

  /** Runs a command until it ends. */
  async webhookd(...words: string[]): Promise<Ended> {
    const process = this.spawn(globalThis.process.execPath, [MAIN, ...words]);
    return { code: await process.exit, stdout: process.stdout, stderr: process.stderr };
  }

  async receiver(...script: Answer[]): Promise<TestReceiver> {
    const receiver = await TestReceiver.start(script);
    this.#receivers.push(receiver);
    return receiver;
  }

  async end(): Promise<void> {
    for (const process of this.#processes) process.kill("SIGKILL");
    await Promise.all(this.#processes.map(({ exit }) => exit));
    for (const receiver of this.#receivers) await receiver.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** An exit code, or the signal that killed the process. */
export type Exit = number | NodeJS.Signals;

export interface Ended {
  readonly code: Exit;
  readonly stdout: string;
  readonly stderr: string;
}

interface Waiter {
  readonly matches: (line: string) => boolean;
  readonly resolve: (line: string) => void;
  readonly reject: (error: Error) => void;
}

/** A real process, with its output and its exit. */
export class TestProcess {
  readonly child: ChildProcess;
  /** Resolves once the process has ended and all of its output was read. */
  readonly exit: Promise<Exit>;
  readonly lines: string[] = [];
  stdout = "";
  stderr = "";
  #waiters: Waiter[] = [];
  #ended = false;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout!.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    createInterface({ input: child.stdout! }).on("line", (line) => this.#read(line));
    this.exit = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve(code ?? signal!));
    });
    this.exit.finally(() => this.#end()).catch(() => {});
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves to the first matching line, printed already or later. Rejects if the process ends without one. */
  line(matches: (line: string) => boolean): Promise<string> {
    const line = this.lines.find(matches);
    if (line !== undefined) return Promise.resolve(line);
    if (this.#ended) return Promise.reject(this.#endedEarly());
    return new Promise((resolve, reject) => this.#waiters.push({ matches, resolve, reject }));
  }

  /** Does the same for lines of JSON. */
  async json(matches: (fields: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
    return JSON.parse(await this.line((line) => line.startsWith("{") && matches(JSON.parse(line))));
  }

  #read(line: string): void {
    this.lines.push(line);
    const matching = this.#waiters.filter(({ matches }) => matches(line));
    this.#waiters = this.#waiters.filter((waiter) => !matching.includes(waiter));
    for (const { resolve } of matching) resolve(line);
  }

  #end(): void {
    this.#ended = true;
    for (const { reject } of this.#waiters) reject(this.#endedEarly());
  }

  #endedEarly(): Error {
    return new Error(`the process ended without the line; it printed\n${this.stdout}${this.stderr}`);
  }
}

/** A listening daemon, with a client that uses its admin key. */
export class DaemonProcess {
  readonly process: TestProcess;
  readonly url: string;
  readonly dir: string;
  /** The admin key. */
  readonly key: string;

  constructor(process: TestProcess, url: string, dir: string) {
    this.process = process;
    this.url = url;
    this.dir = dir;
    this.key = readFileSync(join(dir, "admin.key"), "utf8").trim();
  }

  async request(method: string, path: string, body?: unknown, key = this.key): Promise<{ status: number; body: any }> {
    const answer = async () => {
      const response = await fetch(new URL(path, this.url), {
        method,
        headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { response, text: await response.text() };
    };
    const { response, text } = await answer().catch((error: unknown) => {
      const printed = `${this.process.stdout}${this.process.stderr}`.slice(-4000);
      throw new Error(`${method} ${path} had no answer; the daemon printed\n${printed}`, { cause: error });
    });
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  async register(url: string, more: object = {}): Promise<{ id: string; signing_secret: string }> {
    const { status, body } = await this.request("POST", "/v1/webhooks", { url, events: ["budget.exceeded"], ...more });
    if (status !== 201) throw new Error(`registration was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Returns the id of the new event. */
  async publish(data: object = { budget_id: "bud_1" }): Promise<string> {
    const { status, body } = await this.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data });
    if (status !== 202) throw new Error(`the publish was answered ${status}: ${JSON.stringify(body)}`);
    return body.id;
  }

  async event(id: string): Promise<any> {
    return (await this.request("GET", `/v1/webhooks/events/${id}`)).body;
  }

  /** Waits until the event is no longer pending and returns it. */
  async settled(id: string): Promise<any> {
    for (;;) {
      const event = await this.event(id);
      if (event.status !== "pending") return event;
    }
  }

  /** Returns the attempts, oldest first. */
  async attempts(id: string): Promise<any[]> {
    return (await this.request("GET", `/v1/webhooks/events/${id}/attempts?order=oldest`)).body.data;
  }

  /** Sends the signal and waits until the daemon begins to stop. */
  async beginStop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.process.kill(signal);
    await this.process.json(({ msg }) => msg === "draining");
  }

  /** Stops the daemon and returns its exit code. */
  stop(): Promise<Exit> {
    this.process.kill("SIGTERM");
    return this.process.exit;
  }

  kill9(): Promise<Exit> {
    this.process.kill("SIGKILL");
    return this.process.exit;
  }
}
