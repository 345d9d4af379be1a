/**
 * Sets the clocks of nodes' hosts wrong: one jumps a day ahead and comes back, or all of them differ by seconds, while
 * endpoints move between nodes. Every attempt must still be made when the ladder says.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startServer, withClient } from "../../test/harness/postgres.ts";
import type { DriverEntry } from "./entries.ts";
import type { History } from "./history.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { NodeLife, untilQuiet, type NodeLifeOptions } from "./node-life.ts";
import { newDatabase } from "./nodes.ts";
import { LADDER, TIMEOUT_MS } from "./site.ts";

export interface Clocks {
  readonly rounds: number;
  readonly spikes: number;
  readonly skews: number;
  readonly findings: Findings;
  /**
   * The delays while clocks were wrong, in milliseconds: of retries, and of first attempts after the acknowledgement.
   */
  readonly lateMs: readonly number[];
  /** The longest delay while every clock was right, which is due to the machine. */
  readonly quietMs: number;
  /** The milliseconds by which retries were early. */
  readonly earlyMs: readonly number[];
  /** The number of deliveries that a wrong clock had put off, and that were found. */
  readonly putOff: number;
}

/** The limits for these delays. */
export const LATE_MS = 1000;
export const EARLY_MS = 20;

const DAY = 86_400_000;
const SPIKE_MS = 4000;
const SKEW_MS = 3000;
const AFTER_MS = 1500;
/**
 * A light load, so that only a clock can make an attempt late. Each third round measures how late the machine makes it.
 */
const LOAD = { most: 8, pauseMs: 3000 };
const INJECTED = fileURLToPath(new URL("set-clock.ts", import.meta.url));

export async function runClocks(options: NodeLifeOptions): Promise<Clocks> {
  const server = await startServer();
  if (server === null) throw new Error("there is no PostgreSQL to run nodes on");
  const url = await newDatabase(server);
  const clocks = new Hosts(options.dir);
  const life = await NodeLife.begin({ ...options, copies: 2 }, url, (place) => clocks.settingsOf(place));
  try {
    return await new Rounds(life, clocks, url).run(options);
  } finally {
    await life.close();
    await server.stop();
  }
}

/** The clocks of the nodes' hosts, by position. */
class Hosts {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  settingsOf(place: number): Record<string, string> {
    this.set(place, 0);
    return { NODE_OPTIONS: `--import=${INJECTED}`, WEBHOOKD_CRASH_CLOCK: this.#fileOf(place) };
  }

  set(place: number, aheadMs: number): void {
    mkdirSync(this.#dir, { recursive: true });
    writeFileSync(this.#fileOf(place), String(aheadMs));
  }

  #fileOf(place: number): string {
    return join(this.#dir, `clock-${place}`);
  }
}

class Rounds {
  readonly #life: NodeLife;
  readonly #hosts: Hosts;
  readonly #url: string;
  #spikes = 0;
  /** The periods in which clocks were wrong. */
  readonly #wrong: { readonly from: number; readonly until: number }[] = [];

  constructor(life: NodeLife, hosts: Hosts, url: string) {
    this.#life = life;
    this.#hosts = hosts;
    this.#url = url;
  }

  async run({ onProgress, rounds }: NodeLifeOptions): Promise<Clocks> {
    const { cluster } = this.#life;
    await cluster.divided();
    // A process that has just started is still compiling its code.
    await this.#round(0);
    const from = monotonic();
    for (let round = 1; round <= rounds; round++) {
      await this.#round(round);
      onProgress(round);
      if (await this.#life.noteEnded(round)) break;
    }
    const statuses = await Promise.all(
      cluster.living.map(({ api }) => api.get<{ put_off_deliveries: number }>("/v1/status")),
    );
    const { driver, findings, history } = await this.#life.verdict();
    const isQuiet = (at: number) => !this.#wrong.some(({ from, until }) => at >= from && at <= until);
    const { late, earlyMs } = waitsOf(history);
    late.push(...firstOf(history, driver));
    const of = (wanted: boolean) => late.flatMap(({ at, ms }) => (at > from && isQuiet(at) === wanted ? ms : []));
    return {
      rounds,
      spikes: this.#spikes,
      skews: this.#wrong.length - this.#spikes,
      findings,
      lateMs: of(false),
      quietMs: Math.max(0, ...of(true)),
      earlyMs,
      putOff: statuses.reduce((sum, { put_off_deliveries: putOff }) => sum + putOff, 0),
    };
  }

  async #round(round: number): Promise<void> {
    const { cluster, random } = this.#life;
    const loads = cluster.living.map((node) => this.#life.load(node, LOAD));
    await sleep(random.between(100, 500));
    const victim = random.pick(cluster.living).place;
    const kind = (["quiet", "spike", "skew"] as const)[round % 3]!;
    const from = monotonic();
    if (kind === "spike") {
      this.#spikes++;
      this.#hosts.set(victim, random.pick([DAY, DAY, -DAY, 3_600_000]));
    } else if (kind === "skew") {
      for (const { place } of cluster.living) this.#hosts.set(place, random.pick([-SKEW_MS, 0, SKEW_MS]));
      this.#hosts.set(victim, random.pick([-SKEW_MS, SKEW_MS]));
    }
    await sleep(SPIKE_MS / 2);
    // One node makes an attempt that another one planned.
    await this.#drain(victim, true);
    await sleep(SPIKE_MS / 2);
    if (kind === "spike") this.#hosts.set(victim, 0);
    await this.#drain(victim, false);
    await sleep(AFTER_MS);
    await Promise.all(loads.map((load) => load.stop()));
    await cluster.divided();
    await untilQuiet(cluster.living[0]!.api);
    for (const { place } of cluster.living) this.#hosts.set(place, 0);
    if (kind !== "quiet") this.#wrong.push({ from, until: monotonic() });
  }

  async #drain(place: number, on: boolean): Promise<void> {
    await withClient(this.#url, (client) =>
      client.query("UPDATE node SET draining = $2 WHERE pid = $1", [this.#life.cluster.nodes[place]!.process.pid, on]),
    );
  }
}

/** The delay of an attempt that was due from `at` on. */
interface Wait {
  readonly at: number;
  readonly ms: number;
}

/** Returns how late, and how early, each retry came. */
function waitsOf({ requests }: History): { late: Wait[]; earlyMs: number[] } {
  const late: Wait[] = [];
  const earlyMs: number[] = [];
  for (const all of requests.values()) {
    // If a connection is reset, it is opened again within the same attempt.
    const attempts = [...Map.groupBy(all, ({ attempt }) => attempt).values()];
    for (const [at, attempt] of attempts.entries()) {
      const before = attempts[at - 1]?.at(-1);
      // The node may have given up waiting for the response, and has counted from then.
      if (before !== undefined && before.endedAt - before.at > TIMEOUT_MS / 2) continue;
      // After the last rung a delivery has failed, so what comes next is a replay.
      const rung = LADDER[(at - 1) % (LADDER.length + 1)];
      if (before === undefined || rung === undefined) continue;
      const came = attempt[0]!.at;
      earlyMs.push(before.answerableAt + rung - came);
      late.push({ at: before.endedAt, ms: came - before.endedAt - rung });
    }
  }
  return { late, earlyMs };
}

function firstOf({ requests }: History, driver: readonly DriverEntry[]): Wait[] {
  const acked = new Map<string, number>();
  for (const entry of driver) {
    if (entry.kind !== "ack") continue;
    for (const { id } of entry.answered ?? []) if (!acked.has(id)) acked.set(id, entry.ackedAt);
  }
  return [...requests.values()].flatMap(([first]) => {
    const at = acked.get(first!.event);
    return at === undefined ? [] : [{ at, ms: first!.at - at }];
  });
}
