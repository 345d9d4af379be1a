/**
 * One life of a daemon whose disk is recorded, from its first start in an empty directory: publishers, an operator who
 * changes things and makes backups, and receivers that fail now and then. It ends like a power cut, with nothing
 * closed.
 */
import { createHash } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { Random } from "../../test/sim/random.ts";
import { Refused, type Api } from "../crash/api.ts";
import { DaemonProcess, SOURCES, type Home } from "../crash/daemon.ts";
import type { Answer } from "../crash/entries.ts";
import { ENDPOINTS, EVENT_TYPES } from "../crash/site.ts";
import { verifies } from "../crash/verifies.ts";
import type { Answered, Promised } from "./promises.ts";
import { readRecording, type Recorded } from "./recording.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** Several new levels of directories, each of which must exist after a cut. */
export const DATA = "var/lib/webhookd";
const PUBLISHERS = 3;
const EVENTS = "/v1/webhooks/events";
const WATCHED = 40;
/** Older backups are removed. */
const BACKUPS = 4;
const LEAST_ANSWERS = 50;

const markerOf = (number: number): string => `"marker":"m${number}"`;

export interface Session {
  readonly root: string;
  readonly operations: readonly Recorded[];
  readonly answered: readonly Answered[];
  /** Deliveries that got a 2xx. */
  readonly succeeded: readonly string[];
}

/** The receivers for the recorded daemon, and for all daemons started on rebuilt disks, which get a 200. */
export class Receivers {
  /** Deliveries that got a 2xx while the daemon was recorded. */
  readonly succeeded = new Set<string>();
  /** Requests with a body other than the one published, or with a signature that does not verify. */
  readonly wrong: string[] = [];
  readonly bodies = new Map<string, string>();
  readonly secrets = new Map<string, string>();
  readonly #random: Random;
  readonly #server: Server;
  isRecording = true;

  constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((request, response) => unawaited(this.#serve(request, response)));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const header = (name: string) => String(request.headers[name] ?? "");
    const name = request.url!.slice(1);
    const [event, delivery] = [header("webhook-id"), header("x-webhookd-delivery")];
    const hash = createHash("sha256").update(body).digest("hex");
    if (!verifies(header, body, this.secrets.get(name)!)) this.wrong.push(`${delivery} has a wrong signature`);
    // The first body counts until the response to the publish shows what it must be.
    if ((this.bodies.get(event) ?? hash) !== hash) this.wrong.push(`${delivery} has other bytes`);
    this.bodies.set(event, hash);
    const answer = this.isRecording ? this.#reaction(name) : 200;
    if (answer === "reset") {
      request.socket.resetAndDestroy();
      return;
    }
    if (answer < 300 && this.isRecording) this.succeeded.add(delivery);
    response.writeHead(answer).end();
  }

  #reaction(name: string): Answer {
    return ENDPOINTS.find((plan) => plan.name === name)!.react(this.#random).answer ?? 500;
  }
}

export interface SessionOptions {
  /** An empty directory. */
  readonly dir: string;
  readonly recorder: string;
  readonly seconds: number;
  readonly seed: number;
  readonly receivers: Receivers;
}

export async function record({ dir, recorder, seconds, seed, receivers }: SessionOptions): Promise<Session> {
  const root = join(dir, "disk");
  const log = join(dir, "recording");
  mkdirSync(root);
  const preload = [`LD_PRELOAD=${recorder}`, `POWER_LOG=${log}`, `POWER_ROOT=${root}`, "UV_USE_IO_URING=0"];
  const home: Home = {
    dir,
    data: join("disk", DATA),
    program: ["/usr/bin/env", ...preload, ...SOURCES],
    compileCache: join(dir, "compile-cache"),
  };
  const random = new Random(seed);
  const port = await receivers.listen();
  const length = () => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  const daemon = DaemonProcess.start(home);
  if ((await daemon.untilListening()) === null) throw new Error(`the recorded daemon did not start: ${dir}/daemon.log`);
  const work = new Work({ api: daemon.api(), receivers, port, random, length });
  await work.run(seconds * 1000);
  daemon.kill();
  await daemon.ended;
  receivers.isRecording = false;
  return { root, operations: readRecording(log), answered: work.answered, succeeded: [...receivers.succeeded] };
}

interface WorkParts {
  readonly api: Api;
  readonly receivers: Receivers;
  readonly port: number;
  readonly random: Random;
  readonly length: () => number;
}

class Work {
  readonly answered: Answered[] = [];
  readonly #parts: WorkParts;
  readonly #endpoints: string[] = [];
  readonly #settled = new Set<string>();
  #number = 0;
  #backups = 0;
  #isOver = false;

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  async run(ms: number): Promise<void> {
    for (const { name, events } of ENDPOINTS) await this.#register(name, events);
    const loops = Array.from({ length: PUBLISHERS }, () => this.#loop(() => this.#publish(), 5));
    const all = Promise.all([...loops, this.#loop(() => this.#operate(), 40), this.#loop(() => this.#watch(), 60)]);
    // A busy machine may answer almost nothing in this time. Then continue until there is something to lose.
    do await Promise.race([all, sleep(ms)]);
    while (this.answered.length < LEAST_ANSWERS);
    this.#isOver = true;
    await all;
  }

  async #loop(step: () => Promise<void>, pauseMs: number): Promise<void> {
    while (!this.#isOver) {
      await step();
      await sleep(this.#parts.random.between(0, pauseMs));
    }
  }

  #promise(promised: Promised): void {
    this.answered.push({ ...promised, end: this.#parts.length() });
  }

  async #register(name: string, events: readonly string[]): Promise<void> {
    const url = `http://127.0.0.1:${this.#parts.port}/${name}`;
    const { id, signing_secret: secret } = await this.#ask<{ id: string; signing_secret: string }>(
      "POST",
      "/v1/webhooks",
      { url, events },
    );
    this.#promise({ kind: "endpoint", id });
    this.#endpoints.push(id);
    this.#parts.receivers.secrets.set(name, secret);
  }

  async #publish(): Promise<void> {
    const { random, receivers } = this.#parts;
    const type = random.pick(EVENT_TYPES);
    const size = random.chance(0.3) ? random.between(2, 12) : 1;
    // Some batches are so large that the store writes them in parts.
    const isLarge = size > 8 && random.chance(0.5);
    const first = this.#number + 1;
    const texts = Array.from({ length: size }, () => {
      const padding = "é".repeat(
        isLarge ? 20_000 : random.chance(0.1) ? random.between(2000, 12_000) : random.between(0, 200),
      );
      return `{${markerOf(++this.#number)}, "amount":1.10,"padding":"${padding}"}`;
    });
    const bodies = texts.map((data) => `{"type":"${type}","data":${data}}`);
    const body = size === 1 ? bodies[0]! : `{"events":[${bodies.join(",")}]}`;
    const response = await this.#parts.api.post(size === 1 ? EVENTS : `${EVENTS}/batch`, body, `k${this.#number}`);
    const end = this.#parts.length();
    if (response.status !== 202) throw new Error(`a publish was answered ${response.status}`);
    const answer = (await response.json()) as { data?: ShownPublish[] } & ShownPublish;
    (answer.data ?? [answer]).forEach(({ id, created_at: createdAt, delivery_count: deliveries }, at) => {
      const envelope = `{"id":"${id}","type":"${type}","created_at":"${createdAt}","data":${texts[at]}}`;
      const hash = createHash("sha256").update(envelope).digest("hex");
      if ((receivers.bodies.get(id) ?? hash) !== hash) receivers.wrong.push(`${id} arrived with other bytes`);
      receivers.bodies.set(id, hash);
      this.answered.push({ kind: "event", id, body: hash, deliveries, marker: markerOf(first + at), end });
    });
  }

  async #operate(): Promise<void> {
    const { random } = this.#parts;
    const roll = random.next();
    if (roll < 0.5) {
      const endpoint = random.pick(this.#endpoints);
      const version = ++this.#number;
      await this.#ask("PATCH", `/v1/webhooks/${endpoint}`, { description: String(version) });
      this.#promise({ kind: "described", endpoint, version });
    } else if (roll < 0.7) {
      const { id } = await this.#ask<{ id: string }>("POST", "/v1/keys", { name: "n", scopes: ["read"] });
      this.#promise({ kind: "key", id });
    } else if (roll < 0.9) {
      const url = `http://127.0.0.1:${this.#parts.port}/steady`;
      const { id } = await this.#ask<{ id: string }>("POST", "/v1/webhooks", { url, events: ["carbon.threshold"] });
      await this.#ask("DELETE", `/v1/webhooks/${id}`, null);
      this.#promise({ kind: "removed", endpoint: id });
    } else if (this.#backups < BACKUPS) {
      this.#backups++;
      const { file } = await this.#ask<{ file: string }>("POST", "/v1/backups", {});
      this.#promise({ kind: "backup", name: file.split("/").at(-1)! });
    }
  }

  /** A delivery that is shown as settled stays settled. */
  async #watch(): Promise<void> {
    const { data } = await this.#parts.api.newest(WATCHED);
    for (const { id, status } of data.flatMap((event) => event.deliveries)) {
      if (status === "pending" || this.#settled.has(id)) continue;
      this.#settled.add(id);
      this.#promise({ kind: "settled", delivery: id, status });
    }
  }

  async #ask<T>(method: string, path: string, body: object | null): Promise<T> {
    const response = await this.#parts.api.send(method, path, body === null ? null : JSON.stringify(body));
    const text = await response.text();
    if (!response.ok) throw new Refused(`${method} ${path} was answered ${response.status}: ${text}`);
    return (text === "" ? null : JSON.parse(text)) as T;
  }
}

interface ShownPublish {
  readonly id: string;
  readonly created_at: string;
  readonly delivery_count: number;
}
