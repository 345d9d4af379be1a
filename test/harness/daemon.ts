import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, fetch } from "undici";
import type { Clock } from "../../src/clock.ts";
import { loadConfig, type Config } from "../../src/config.ts";
import { startDaemon, type Daemon, type DaemonParts } from "../../src/daemon.ts";
import type { FurtherSignature } from "../../src/domain/endpoints/further-signature.ts";
import type { EventType } from "../../src/domain/events/event-type.ts";
import type { OutboxSettings } from "../../src/domain/outbox/outbox.ts";
import { silentLog, type Log } from "../../src/log.ts";
import { ManualClock } from "./clock.ts";
import { afterEveryFile, afterEveryTest } from "./ends.ts";
import { startServer, type TestServer } from "./postgres.ts";
import { inputs } from "../config/inputs.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export interface TestDaemonOptions {
  readonly clock?: Clock;
  /** The system clock in place of `clock`, for tests of a host whose clock may be wrong. */
  readonly hostClock?: Clock;
  readonly network?: DaemonParts["network"];
  readonly startSender?: DaemonParts["startSender"];
  /** Settings by the names of their variables, such as `{ RETRY_DELAYS: "10ms,20ms" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Event types that the configuration adds. */
  readonly eventTypes?: readonly EventType[];
  /** `[[outbox]]` */
  readonly outboxes?: readonly OutboxSettings[];
  /** `[[signature.also]]` */
  readonly also?: readonly FurtherSignature[];
  readonly dev?: boolean;
  readonly log?: Log;
  /** Starts paused. */
  readonly paused?: boolean;
  readonly dir?: string;
  /** The lease on a store in PostgreSQL. Long by default, so that it does not expire when a test moves the time. */
  readonly leaseMs?: number;
}

/** With WEBHOOKD_TEST_STORE=postgres each data directory has a database instead of a file. */
export const onPostgres = process.env.WEBHOOKD_TEST_STORE === "postgres";
let server: Promise<TestServer | null> | null = null;
const databases = new Map<string, string>();

async function storeOf(dir: string): Promise<string> {
  const known = databases.get(dir);
  if (known !== undefined) return known;
  const started = await (server ??= startServer());
  if (started === null) throw new Error("there is no PostgreSQL to test with");
  const name = `daemon_${randomUUID().replaceAll("-", "")}`;
  await started.ask(`CREATE DATABASE ${name} STRATEGY file_copy`);
  databases.set(dir, started.urlOf(name));
  return started.urlOf(name);
}

afterEveryFile(async () => {
  const started = server;
  server = null;
  databases.clear();
  await (await started)?.stop();
});

/** Keeps no idle connection open, because a daemon that is stopping would wait for one more request on it. */
const oneByOne = new Agent({ pipelining: 0 });

/** The real daemon in this process, on a free port and with its own data directory. The test moves the time. */
export class TestDaemon {
  readonly dir: string;
  readonly config: Config;
  readonly daemon: Daemon;
  readonly #key: string;

  private constructor(dir: string, config: Config, daemon: Daemon) {
    this.dir = dir;
    this.config = config;
    this.daemon = daemon;
    this.#key = readFileSync(join(dir, "admin.key"), "utf8").trim();
  }

  static async start(options: TestDaemonOptions = {}): Promise<TestDaemon> {
    const dir = options.dir ?? aDirectory();
    const store: Record<string, string> = onPostgres ? { DATA_STORE: await storeOf(dir) } : {};
    const settings = { ...store, ...options.settings };
    const given = testConfig(dir, { ...options, settings });
    const { eventTypes = [], outboxes = [], also = [] } = options;
    const config = { ...given, signature: { ...given.signature, also }, eventTypes, outboxes };
    const daemon = await startDaemon(config, {
      log: options.log ?? silentLog,
      ...(options.hostClock === undefined
        ? { clock: options.clock ?? new ManualClock() }
        : { hostClock: options.hostClock }),
      leaseMs: options.leaseMs ?? LONG_LEASE_MS,
      // A test that moves the time also calls `tick` itself.
      ...(options.hostClock === undefined && (options.clock ?? new ManualClock()) instanceof ManualClock
        ? { schedule: () => ({ stop() {} }) }
        : {}),
      ...(options.network !== undefined && { network: options.network }),
      ...(options.startSender !== undefined && { startSender: options.startSender }),
    });
    const started = new TestDaemon(dir, config, daemon);
    running.add(started);
    return started;
  }

  get url(): string {
    return this.daemon.url;
  }

  /**
   * Lets time pass in small steps until no work is left, because paced deliveries start only as time passes. Waiting
   * for `daemon.idle` alone would never end after a jump over the time limit of an unconnected attempt: the attempt
   * waits until the network is known to work.
   */
  async settle(clock: ManualClock): Promise<void> {
    const idle = new AbortController();
    unawaited(this.daemon.idle().then(() => idle.abort()));
    for (await pause(1); !idle.signal.aborted; await pause(1)) clock.advance(5);
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: any }> {
    const response = await fetch(new URL(path, this.url), {
      dispatcher: oneByOne,
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  }

  async register(url: string, more: Record<string, unknown> = {}): Promise<{ id: string; signing_secret: string }> {
    const { status, body } = await this.request("POST", "/v1/webhooks", { url, events: ["budget.exceeded"], ...more });
    if (status !== 201) throw new Error(`registration was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Sends `data` byte for byte if it is text. Returns the id of the event. */
  async publish(data: unknown = { budget_id: "bud_1" }, type = "budget.exceeded"): Promise<string> {
    const text = typeof data === "string" ? data : JSON.stringify(data);
    const { status, body } = await this.request("POST", "/v1/webhooks/events", `{"type":"${type}","data":${text}}`);
    if (status !== 202) throw new Error(`the publish was answered ${status}: ${JSON.stringify(body)}`);
    return body.id;
  }

  async event(id: string): Promise<any> {
    return (await this.request("GET", `/v1/webhooks/events/${id}`)).body;
  }

  async attempts(id: string): Promise<any[]> {
    return (await this.request("GET", `/v1/webhooks/events/${id}/attempts?order=oldest`)).body.data;
  }

  /** Opens the stream of changes. */
  async follow(): Promise<{ text(): string; ended: Promise<void> }> {
    const response = await fetch(new URL("/v1/webhooks/stream", this.url), {
      headers: { authorization: `Bearer ${this.#key}` },
    });
    let text = "";
    const read = async () => {
      for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
    };
    return { text: () => text, ended: read() };
  }

  async stop(): Promise<void> {
    running.delete(this);
    await this.daemon.stop();
  }
}

export function testConfig(dir: string, options: TestDaemonOptions = {}): Config {
  const settings = {
    DATA_DIR: dir,
    SERVER_LISTEN: "127.0.0.1:0",
    DATA_DISK_FLOOR: "1MiB",
    DELIVERY_THREADS: "0",
    // In real time an attempt could exceed its ten seconds on a busy machine.
    ...((options.hostClock !== undefined ||
      (options.clock !== undefined && !(options.clock instanceof ManualClock))) && { RETRY_TIMEOUT: "10m" }),
    ...options.settings,
  };
  return loadConfig(
    inputs({
      flags: { dev: options.dev ?? true, paused: options.paused },
      env: Object.fromEntries(Object.entries(settings).map(([name, value]) => [`WEBHOOKD_${name}`, value])),
      cwd: dir,
      home: dir,
      platform: process.platform,
    }),
  );
}

/** Returns a temporary directory that is removed when the test ends. */
export function aDirectory(): string {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-test-"));
  directories.add(dir);
  return dir;
}

const LONG_LEASE_MS = 1_000_000_000;
const running = new Set<TestDaemon>();
const directories = new Set<string>();

afterEveryTest(async () => {
  for (const daemon of running) await daemon.stop();
  for (const dir of directories) rmSync(dir, { recursive: true, force: true });
  directories.clear();
});
