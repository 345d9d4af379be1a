/**
 * The processes that get requests: the daemon in each of the ways that it listens, and the receiver of `webhookd
 * listen`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text as textOf } from "node:stream/consumers";
import { tlsFile } from "../../test/harness/tls.ts";
import { SOURCES } from "../crash/daemon.ts";
import { watchOver } from "../crash/children.ts";
import type { Place } from "./connection.ts";
import { API_PATHS, EVENT, EVENTS, type Kind, RECEIVER_PATHS } from "./requests.ts";

export const MODES = ["plain", "proxy", "tls", "socket", "receiver"] as const;
export type Mode = (typeof MODES)[number];

const SETTINGS: Partial<Record<Mode, Readonly<Record<string, string>>>> = {
  proxy: { SERVER_BEHIND_PROXY: "true", SERVER_TRUSTED_PROXIES: "127.0.0.0/8" },
  tls: { SERVER_TLS_CERT: tlsFile("good"), SERVER_TLS_KEY: tlsFile("leaf.key") },
};

/** One process under test. */
export class Victim {
  readonly pid: number;
  readonly place: Place;
  readonly kind: Kind;
  /** Lines that it logged as errors, or wrote to standard error. */
  readonly errors: readonly string[];
  /** The way the process ended. Null while it runs. */
  end: string | null = null;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  private constructor(child: ChildProcess, place: Place, kind: Kind, errors: readonly string[]) {
    this.pid = child.pid!;
    this.place = place;
    this.kind = kind;
    this.errors = errors;
    this.#child = child;
    this.#ended = once(child, "close").then(([code, signal]) => {
      this.end = signal === null ? `exit code ${code}` : `signal ${signal}`;
    });
  }

  static async start(mode: Mode, home: string): Promise<Victim> {
    const dir = join(home, mode);
    const data = join(dir, "data");
    mkdirSync(dir);
    const [file, ...first] = SOURCES;
    const serve = ["serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--log-format", "json"];
    const words = mode === "receiver" ? ["listen", "--port", "0", "--json"] : serve;
    const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", HOME: dir, WEBHOOKD_DEBUG: "1" };
    for (const [name, value] of Object.entries(SETTINGS[mode] ?? {})) env[`WEBHOOKD_${name}`] = value;
    const child = watchOver(spawn(file!, [...first, ...words], { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"] }));
    const errors: string[] = [];
    const port = await new Promise<number>((resolve, reject) => {
      createInterface({ input: child.stdout! }).on("line", (line) => {
        const { msg, kind, level, url } = (line.startsWith("{") ? JSON.parse(line) : {}) as Record<string, unknown>;
        if (msg === "listening" || kind === "listening") resolve(Number(new URL(String(url)).port));
        if (level === "error") errors.push(line);
      });
      createInterface({ input: child.stderr! }).on("line", (line) => errors.push(line));
      child.once("close", () => reject(new Error(`the process ended before it listened\n${errors.join("\n")}`)));
    });
    if (mode === "receiver") {
      return new Victim(child, { port }, { key: null, isProxied: false, paths: RECEIVER_PATHS }, errors);
    }
    const socket = { path: join(data, "webhookd.sock") };
    const place = mode === "socket" ? socket : { port, secure: mode === "tls" };
    const key = mode === "socket" ? null : await newKey(socket);
    return new Victim(child, place, { key, isProxied: mode === "proxy", paths: API_PATHS }, errors);
  }

  /** Returns the memory in MiB, or null on a system without /proc. */
  rss(): number | null {
    try {
      const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"))?.[1];
      return kib === undefined ? null : Number(kib) / 1024;
    } catch {
      return null;
    }
  }

  /** Sends a good request, which the process must still answer normally. Returns the status. */
  async goodRequest(): Promise<number> {
    const isApi = this.kind.paths === API_PATHS;
    const headers: Record<string, string> = this.kind.key === null ? {} : { authorization: `Bearer ${this.kind.key}` };
    return (await ask(this.place, isApi ? EVENTS : "/", EVENT, headers)).status;
  }

  /** Stops the process as an operator does. Returns how it ended. */
  async stop(): Promise<string> {
    const stuck = setTimeout(() => this.#child.kill("SIGKILL"), STOP_MS);
    this.#child.kill("SIGTERM");
    await this.#ended;
    clearTimeout(stuck);
    return this.end!;
  }
}

const STOP_MS = 60_000;

async function newKey(socket: Place): Promise<string> {
  const body = JSON.stringify({ name: "fuzz", scopes: ["read", "publish"], tenant: "default" });
  const { status, text } = await ask(socket, "/v1/keys", body, {});
  if (status !== 201) throw new Error(`no key was made: ${text}`);
  return (JSON.parse(text) as { key: string }).key;
}

function ask(
  { port, path: socketPath, secure }: Place,
  path: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; text: string }> {
  const options = {
    ...(socketPath === undefined ? { host: "127.0.0.1", port } : { socketPath }),
    path,
    method: "POST",
    agent: false,
    rejectUnauthorized: false,
    headers: { host: "localhost", "content-type": "application/json", "content-length": body.length, ...headers },
  };
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(options, (response) => {
      textOf(response).then((text) => resolve({ status: response.statusCode!, text }), reject);
    });
    request.on("error", reject).end(body);
  });
}
