/**
 * Rounds on several nodes. Under load, one of them is killed with `kill -9`, or suspended, for longer or shorter than
 * its lease. An event published at that moment shows when the others have taken over.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "../../test/harness/postgres.ts";
import type { Random } from "../../test/sim/random.ts";
import type { Api, ShownEvent } from "./api.ts";
import type { DriverEntry } from "./entries.ts";
import type { History } from "./history.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { NodeLife, type NodeLifeOptions } from "./node-life.ts";
import { newDatabase, type Node } from "./nodes.ts";

export interface NodeRounds {
  readonly rounds: number;
  readonly kills: number;
  readonly suspensions: number;
  readonly findings: Findings;
  /** The times after kills, and after suspensions, during which connections stay open. */
  readonly takeOversMs: readonly number[];
  readonly takeOversOfSuspendedMs: readonly number[];
  /** Requests that a suspended node made after it resumed. */
  readonly late: number;
}

type Fault = "kill" | "suspend" | "pause";

interface Probe {
  readonly batch: number;
  readonly fault: Fault;
  readonly at: number;
}

const LEASE_MS = 5000;
/** A suspension shorter than the lease. */
const PAUSE_MS = 2000;
/** A suspension longer than the lease, by whose end the others have taken over. */
const SUSPENDED_MS = 12_500;
const LIMIT_MS = 60_000;
const POLL_MS = 50;
/** Other nodes must have taken over everything within this time after the death of one. */
export const TAKE_OVER_MS = LEASE_MS + 1000;

export async function runNodeRounds(options: NodeLifeOptions): Promise<NodeRounds> {
  const server = await startServer();
  if (server === null) throw new Error("there is no PostgreSQL to run nodes on");
  const life = await NodeLife.begin(options, await newDatabase(server));
  try {
    return await new Rounds(life).run(options);
  } finally {
    await life.close();
    await server.stop();
  }
}

class Rounds {
  readonly #life: NodeLife;
  readonly #probes: Probe[] = [];

  constructor(life: NodeLife) {
    this.#life = life;
  }

  async run({ onProgress, rounds }: NodeLifeOptions): Promise<NodeRounds> {
    await this.#life.cluster.divided();
    for (let round = 1; round <= rounds; round++) {
      await this.#round();
      onProgress(round);
    }
    const { driver, findings, history, late, plans } = await this.#life.verdict();
    const first = firstAttempts(history, plans);
    const takeOvers = (wanted: Fault) =>
      this.#probes
        .filter(({ fault }) => fault === wanted)
        .map(({ batch, at }) => (first.get(ackedAs(driver, batch)) ?? Infinity) - at);
    return {
      rounds: this.#probes.length,
      kills: this.#probes.filter(({ fault }) => fault === "kill").length,
      suspensions: this.#probes.filter(({ fault }) => fault !== "kill").length,
      findings,
      takeOversMs: takeOvers("kill"),
      takeOversOfSuspendedMs: takeOvers("suspend"),
      late,
    };
  }

  async #round(): Promise<void> {
    const { cluster, random, resumed, wrong } = this.#life;
    const victim = random.pick(cluster.living);
    const fault = drawFault(random);
    const loads = cluster.living.map((node) => this.#life.load(node));
    await sleep(random.between(100, 1500));
    const at = monotonic();
    if (fault === "kill") victim.process.kill();
    else victim.process.suspend();
    const survivor = random.pick(cluster.living.filter((node) => node !== victim));
    const probe = await this.#probe(survivor, fault, at);
    if (fault === "kill") {
      await victim.process.ended;
      await this.#life.ended(victim, at);
    }
    if (fault === "pause") {
      await sleep(PAUSE_MS);
      victim.process.resume();
    }
    await this.#reached(survivor.api, probe, `${fault} of process ${victim.generation}`);
    if (fault === "suspend") {
      await sleep(Math.max(0, at + SUSPENDED_MS - monotonic()));
      await this.#life.ended(victim, at);
      resumed.set(victim.generation, monotonic());
      victim.process.resume();
      const { code, signal } = await victim.process.ended;
      if (code !== 75) wrong.push(`process ${victim.generation} ended with ${code ?? signal} when it went on`);
    }
    await Promise.all(loads.map((load) => load.stop()));
    if (fault !== "pause") {
      cluster.nodes[victim.place] = null;
      await cluster.start(victim.place);
    }
    await cluster.divided();
  }

  /** Publishes an event of which each node sends a part, and returns its id. */
  async #probe({ api, generation }: Node, fault: Fault, at: number): Promise<string> {
    const { journal } = this.#life;
    const batch = this.#life.next();
    const marker = `m${this.#life.next()}`;
    const [type, data] = ["budget.exceeded", `{"marker":"${marker}"}`];
    await journal.append({ kind: "intent", batch, type, items: [{ marker, data }] });
    const sentAt = monotonic();
    const response = await api.post("/v1/webhooks/events", `{"type":"${type}","data":${data}}`);
    if (response.status !== 202) throw new Error(`the probe was answered ${response.status}`);
    const answered = (await response.json()) as { id: string; created_at: string; delivery_count: number };
    await journal.append({ kind: "ack", batch, answered: [answered], generation, sentAt, ackedAt: monotonic() });
    this.#probes.push({ batch, fault, at });
    return answered.id;
  }

  /** Waits until the event has been sent to each endpoint, whichever node owns it. */
  async #reached(api: Api, event: string, what: string): Promise<void> {
    for (const until = monotonic() + LIMIT_MS; monotonic() < until; await sleep(POLL_MS)) {
      const { deliveries } = await api.get<ShownEvent>(`/v1/webhooks/events/${event}`);
      if (deliveries.every(({ attempts }) => attempts > 0)) return;
    }
    this.#life.wrong.push(`${LIMIT_MS} ms after the ${what}, not all endpoints had been sent ${event}`);
  }
}

function drawFault(random: Random): Fault {
  const roll = random.next();
  return roll < 0.75 ? "kill" : roll < 0.9 ? "suspend" : "pause";
}

/**
 * Returns the time at which the last endpoint was sent its first attempt, by event. Counts only endpoints that always
 * succeed: a failing one gets fewer attempts at a time, and its backlog comes first, even with a single node.
 */
function firstAttempts({ requests }: History, plans: ReadonlyMap<string, string>): Map<string, number> {
  const first = new Map<string, number>();
  for (const [delivery, all] of requests) {
    if (plans.get(delivery) !== "steady") continue;
    const { event, at } = all[0]!;
    first.set(event, Math.max(at, first.get(event) ?? 0));
  }
  return first;
}

function ackedAs(driver: readonly DriverEntry[], batch: number): string {
  const ack = driver.find((entry) => entry.kind === "ack" && entry.batch === batch);
  return ack?.kind === "ack" ? (ack.answered?.[0]?.id ?? "") : "";
}
