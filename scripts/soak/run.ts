/**
 * Publishes steadily for hours on one data directory, with receivers that fail now and then, and kill -9 every few
 * minutes.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { Random } from "../../test/sim/random.ts";
import type { Api } from "../crash/api.ts";
import { DaemonProcess, dataDir, type Home } from "../crash/daemon.ts";
import { EVENT_TYPES } from "../crash/site.ts";
import { verifies } from "../crash/verifies.ts";
import { Gauge, type Growth } from "./gauge.ts";
import { Ledger, type Balance, type Published } from "./ledger.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export interface SoakOptions {
  readonly home: Home;
  readonly seconds: number;
  readonly killEverySeconds: number;
  /** Events per second. */
  readonly rate: number;
  readonly seed: number;
  readonly onProgress: (so: { readonly seconds: number; readonly acked: number; readonly open: number }) => void;
}

export interface Report extends Balance {
  readonly kills: number;
  readonly growth: Growth;
}

const EVENTS = "/v1/webhooks/events";
const SAMPLE_MS = 2000;
const SHOWN_EVENTS = 50;
const QUIET_LIMIT_MS = 300_000;
/** The number of failures among a thousand responses, by endpoint. */
const FAILING: Readonly<Record<string, number>> = { steady: 2, flaky: 250, slow: 20 };
/** The maximum number of failures of one delivery. One that used up its ladder would be `failed`, which is not lost. */
const MAX_FAILURES = 3;
const SLOW_MS = 150;

export async function soak(options: SoakOptions): Promise<Report> {
  return new Soak(options).run();
}

class Soak {
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #ledger = new Ledger();
  readonly #gauge = new Gauge();
  readonly #secrets = new Map<string, string>();
  readonly #server: Server;
  #daemon!: DaemonProcess;
  #api!: Api;
  #life = 0;
  #bornAt = 0;
  #kills = 0;
  #isOver = false;

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    this.#server = createServer((request, response) => unawaited(this.#serve(request, response)));
  }

  async run(): Promise<Report> {
    const { seconds, rate } = this.#options;
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    try {
      await this.#open();
      await this.#register();
      const startedAt = performance.now();
      const elapsed = () => (performance.now() - startedAt) / 1000;
      const publishers = Array.from({ length: 4 }, (_, at) => this.#publish(at, (4 * 1000) / rate));
      const { onProgress } = this.#options;
      const watch = this.#watch(() =>
        onProgress({ seconds: elapsed(), acked: this.#ledger.acked, open: this.#ledger.open }),
      );
      while (elapsed() < seconds) {
        await sleep(1000 * Math.min(this.#options.killEverySeconds, Math.max(0, seconds - elapsed())));
        this.#kills++;
        this.#daemon.kill();
        await this.#daemon.ended;
        await this.#open();
      }
      this.#isOver = true;
      await Promise.all([...publishers, watch]);
      await this.#untilQuiet();
      return { ...this.#ledger.balance(), kills: this.#kills, growth: this.#gauge.growth() };
    } finally {
      this.#daemon.kill();
      await this.#daemon.ended;
      this.#server.close();
      this.#server.closeAllConnections();
    }
  }

  async #open(): Promise<void> {
    const daemon = DaemonProcess.start(this.#options.home);
    this.#daemon = daemon;
    if ((await daemon.untilListening()) === null) throw new Error(`life ${this.#life} ended before it listened`);
    this.#api = daemon.api();
    this.#life++;
    this.#bornAt = performance.now();
  }

  async #register(): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    for (const name of Object.keys(FAILING)) {
      const url = `http://127.0.0.1:${port}/${name}`;
      const response = await this.#api.post("/v1/webhooks", JSON.stringify({ url, events: EVENT_TYPES }));
      const { signing_secret: secret } = (await response.json()) as { signing_secret: string };
      this.#secrets.set(name, secret);
    }
  }

  /**
   * Publishes one event after another. A request that got no response because of a kill is repeated with the same key.
   */
  async #publish(publisher: number, everyMs: number): Promise<void> {
    let nextAt = performance.now();
    for (let number = 0; !this.#isOver; number++) {
      const type = this.#random.pick(EVENT_TYPES);
      const padding = "é".repeat(this.#random.between(0, 500));
      const data = `{"marker":"${publisher}-${number}", "amount":1.10,"padding":"${padding}"}`;
      const published = await this.#untilAnswered(`{"type":"${type}","data":${data}}`, `${publisher}-${number}`);
      if (published !== null) this.#ledger.acknowledge(type, data, published);
      nextAt += everyMs;
      const waitMs = nextAt - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      // After an outage the rate continues as before, without catching up.
      else nextAt = performance.now();
    }
  }

  async #untilAnswered(body: string, key: string): Promise<Published | null> {
    for (;;) {
      const response = await this.#api.post(EVENTS, body, key).catch(() => null);
      if (response?.status === 202) {
        const published = await response.json().catch(() => null);
        if (published !== null) return published as Published;
      } else if (response !== null && response.status !== 503) {
        this.#ledger.accuse(`a publish was answered ${response.status}: ${await response.text()}`);
        return null;
      }
      await sleep(50);
    }
  }

  async #watch(tell: () => void): Promise<void> {
    while (!this.#isOver) {
      const life = this.#life;
      const minutes = (performance.now() - this.#bornAt) / 60_000;
      this.#gauge.sample(this.#daemon.pid, dataDir(this.#options.home), life, minutes);
      const page = await this.#api.newest(SHOWN_EVENTS).catch(() => null);
      for (const { id, deliveries } of page?.data ?? []) {
        for (const delivery of deliveries) {
          if (delivery.status === "delivered") this.#ledger.showsDelivered(id, delivery.id);
        }
      }
      tell();
      await sleep(SAMPLE_MS);
    }
  }

  async #untilQuiet(): Promise<void> {
    const deadline = performance.now() + QUIET_LIMIT_MS;
    while (this.#ledger.open > 0 && performance.now() < deadline) await sleep(100);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => null);
    if (body === null) return;
    const name = request.url!.slice(1);
    const header = (of: string) => String(request.headers[of] ?? "");
    if (!verifies(header, body, this.#secrets.get(name)!)) this.#ledger.accuse(`a signature of ${name} is wrong`);
    const mayFail = Number(header("x-webhookd-attempt")) <= MAX_FAILURES;
    const fails = mayFail && this.#random.next() * 1000 < FAILING[name]!;
    const answer = fails ? this.#random.pick([500, 503, 429]) : 200;
    this.#ledger.receive(header("webhook-id"), header("x-webhookd-delivery"), body, answer);
    if (name === "slow") await sleep(SLOW_MS);
    response.writeHead(answer).end();
  }
}
