/**
 * Runs the daemon that the pictures show, in this process, with two days of history. Its clock began two days ago, and
 * time is skipped whenever nothing is due.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createClient, type Client } from "../../src/client/client.ts";
import { loadConfig, type Config } from "../../src/config.ts";
import { startDaemon, type Daemon } from "../../src/daemon.ts";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { silentLog } from "../../src/log.ts";
import { version } from "../../src/build.ts";
import { PassingClock } from "./passing-clock.ts";
import { BEGAN_HOURS_AGO, NETWORK, RECEIVERS, Receivers } from "./receivers.ts";
import { inputs } from "../../test/config/inputs.ts";

const HOUR = 3_600_000;
/** The number of events that are published. */
const EVENTS = 400;
/** The maximum number of events for healthy receivers that are published along with each, by day. */
const MOST_USUAL = 18;
const USUAL = BUILT_IN_TYPES.find(({ name }) => name === "transaction.enriched")!;
/** The types in turn. Some come more often than others. */
const MIX = [0, 2, 0, 1, 0, 3, 0, 5, 0, 4, 2, 0, 3];
/** Hosts under .example cannot be registered, so each has another name until the daemon has ended. */
const REGISTERED = ".for-example.com";

/** Returns a number that is larger by day than by night, and varies. */
function usualAt(now: number): number {
  const hour = (now / HOUR) % 24;
  const day = (1 - Math.cos(((hour - 4) / 24) * 2 * Math.PI)) / 2;
  const noise = 0.75 + (((Math.floor(now / 60_000) * 7919) % 100) / 100) * 0.5;
  return Math.max(1, Math.round(MOST_USUAL * (0.15 + 0.85 * day) * noise));
}

export class Stage {
  readonly dir = mkdtempSync(join(tmpdir(), "webhookd-screens-"));
  readonly socket = join(this.dir, "webhookd.sock");
  readonly #clock = new PassingClock(BEGAN_HOURS_AGO * HOUR);
  readonly #receivers = new Receivers(() => this.#clock.now());
  readonly #config: Config = loadConfig(
    inputs({
      flags: { dev: true },
      env: {
        WEBHOOKD_DATA_DIR: this.dir,
        WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0",
        WEBHOOKD_DELIVERY_THREADS: "0",
        WEBHOOKD_EGRESS_ALLOW_CIDRS: NETWORK,
        WEBHOOKD_PORTAL_NAME: "Ledgerline",
      },
      cwd: this.dir,
      home: this.dir,
      platform: process.platform,
    }),
  );
  #daemon: Daemon | undefined;

  get url(): string {
    return this.#daemon!.url;
  }

  async open(): Promise<void> {
    const network = await this.#receivers.open();
    const start = () => startDaemon(this.#config, { log: silentLog, clock: this.#clock, network });
    this.#daemon = await start();
    await this.#live();
    await this.#daemon.stop();
    this.#rename();
    this.#daemon = await start();
  }

  async close(): Promise<void> {
    await this.#daemon?.stop();
    this.#receivers.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #live(): Promise<void> {
    const client: Client = createClient({ socket: this.socket }, { version });
    for (const { host, path, types, description } of RECEIVERS) {
      const url = `http://${host.replace(/\.example$/, REGISTERED)}${path}`;
      await client.call("registerEndpoint", { body: { url, events: [...types], description } });
    }
    const end = this.#clock.now() + BEGAN_HOURS_AGO * HOUR;
    for (let number = 0; number < EVENTS; number++) {
      const { name, sample } = BUILT_IN_TYPES[MIX[number % MIX.length]!]!;
      await client.call("publishEvent", { body: { type: name, data: sample } });
      const usual = Array.from({ length: EVENTS - number < 10 ? 2 : usualAt(this.#clock.now()) }, () => ({
        type: USUAL.name,
        data: USUAL.sample,
      }));
      await client.call("publishBatch", { body: { events: usual } });
      // The last events are close together, so that the last minutes are not empty.
      const left = EVENTS - number - 1;
      const next = left < 6 ? end - left * 40_000 - 15_000 : this.#clock.now() + (end - this.#clock.now()) / (left - 4);
      await this.#passTo(next, client);
    }
    await this.#passTo(end, client);
  }

  /** Advances the clock to `end`, and stops whenever something falls due. */
  async #passTo(end: number, client: Client): Promise<void> {
    for (;;) {
      await this.#daemon!.tick();
      await this.#daemon!.idle();
      const { data } = await client.call("listDeliveries", { query: { status: "pending", limit: 100 } });
      const due = data.map(({ next_attempt_at }) => Date.parse(next_attempt_at!));
      const next = Math.min(end, ...due.filter((at) => at > this.#clock.now()));
      this.#clock.pass(Math.max(0, Math.ceil(next - this.#clock.now())));
      if (next === end) return;
    }
  }

  /** Must be called while no daemon has the store open. */
  #rename(): void {
    const db = new Database(join(this.dir, "webhookd.db"));
    for (const [table, column] of [
      ["endpoint", "url"],
      ["url", "name"],
    ])
      db.exec(`UPDATE ${table} SET ${column} = replace(${column}, '${REGISTERED}', '.example')`);
    db.close();
  }
}
