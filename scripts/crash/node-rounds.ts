/**
 * Rounds on several nodes: under load, one of them is killed with `kill -9`, or suspended, for longer than its lease or
 * for less. An event that is published in that moment says when the others had taken over.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "../../test/harness/postgres.ts";
import { Random } from "../../test/sim/random.ts";
import type { Api, ShownEvent } from "./api.ts";
import type { Home } from "./daemon.ts";
import type { DriverEntry, ReceiverEntry } from "./entries.ts";
import { historyOf, type History, type Shown } from "./history.ts";
import { Journal, monotonic, readJournal } from "./journal.ts";
import { judge, type Findings } from "./judge.ts";
import { show } from "./life.ts";
import { Load, type Publish } from "./load.ts";
import { judgeAcrossNodes } from "./node-duplicates.ts";
import { Cluster, newDatabase, type Node } from "./nodes.ts";
import { journalOf, ReceiversProcess } from "./receivers-process.ts";
import { ENDPOINTS, namesOf, planOf } from "./site.ts";

export interface NodeRoundsOptions {
  readonly dir: string;
  readonly program: readonly string[];
  readonly nodes: number;
  readonly rounds: number;
  readonly seed: number;
  readonly onProgress: (rounds: number) => void;
}

export interface NodeRounds {
  readonly rounds: number;
  readonly kills: number;
  readonly suspensions: number;
  readonly findings: Findings;
  /** After kills; and after suspensions, whose connections stay open. */
  readonly takeOversMs: readonly number[];
  readonly takeOversOfSuspendedMs: readonly number[];
  /** Requests that a suspended node made when it went on. */
  readonly late: number;
}

type Fault = "kill" | "suspend" | "pause";

interface Probe {
  readonly batch: number;
  readonly fault: Fault;
  readonly at: number;
}

/** Endpoints of each plan, so that each node has some. */
const COPIES = 6;
const LEASE_MS = 5000;
/** A suspension that the lease outlasts. */
const PAUSE_MS = 2000;
/** Of one that does not: the others have taken over by then. */
const SUSPENDED_MS = 12_500;
const LIMIT_MS = 60_000;
const QUIET_MS = 300_000;
const POLL_MS = 50;
/** What every node must take over at the latest, after the death of one. */
export const TAKE_OVER_MS = LEASE_MS + 1000;

export async function runNodeRounds(options: NodeRoundsOptions): Promise<NodeRounds> {
  const server = await startServer();
  if (server === null) throw new Error("there is no PostgreSQL to run nodes on");
  const home = { dir: options.dir, compileCache: join(options.dir, "compile-cache"), program: options.program };
  const cluster = new Cluster({ ...home, url: await newDatabase(server) });
  const receivers = await ReceiversProcess.start(home, options.seed, "none");
  const rounds = new Rounds(options, { home, cluster, receivers, journal: await Journal.open(driverJournalOf(home)) });
  try {
    return await rounds.run();
  } finally {
    await cluster.close();
    await receivers.stop();
    await server.stop();
  }
}

interface Parts {
  readonly home: Home;
  readonly cluster: Cluster;
  readonly receivers: ReceiversProcess;
  readonly journal: Journal;
}

class Rounds {
  readonly #options: NodeRoundsOptions;
  readonly #parts: Parts;
  readonly #random: Random;
  readonly #replayed = new Set<string>();
  readonly #again: Publish[] = [];
  readonly #probes: Probe[] = [];
  readonly #resumed = new Map<number, number>();
  readonly #wrong: string[] = [];
  #numbers = 0;

  constructor(options: NodeRoundsOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#random = new Random(options.seed);
  }

  async run(): Promise<NodeRounds> {
    const { cluster, home, journal, receivers } = this.#parts;
    const { nodes, onProgress, rounds } = this.#options;
    for (let place = 0; place < nodes; place++) await cluster.start(place);
    await this.#register(cluster.living[0]!.api);
    await cluster.divided();
    for (let round = 1; round <= rounds; round++) {
      await this.#round();
      onProgress(round);
    }
    const { api } = cluster.living[0]!;
    await untilQuiet(api);
    const shown = await show(api);
    this.#wrong.push(...(await cluster.stop()));
    await receivers.stop();
    await journal.close();
    for (let place = 0; place < nodes; place++) {
      const log = readFileSync(join(home.dir, `node-${place}`, "daemon.log"), "utf8");
      if (log.includes("lost from memory")) this.#wrong.push(`node ${place} had lost deliveries from memory`);
    }
    return this.#report(shown);
  }

  async #register(api: Api): Promise<void> {
    const { journal, receivers } = this.#parts;
    const secrets: Record<string, string> = {};
    for (const name of namesOf(COPIES)) {
      const { events } = ENDPOINTS.find((plan) => plan.name === planOf(name))!;
      const url = `http://127.0.0.1:${receivers.port}/${name}`;
      const response = await api.post("/v1/webhooks", JSON.stringify({ url, events }));
      const { id, signing_secret: secret } = (await response.json()) as { id: string; signing_secret: string };
      if (response.status !== 201) throw new Error(`a registration was answered ${response.status}`);
      await journal.append({ kind: "endpoint", id, name });
      secrets[name] = secret;
    }
    await receivers.ask({ ask: "secrets", secrets });
  }

  async #round(): Promise<void> {
    const { cluster } = this.#parts;
    const victim = this.#random.pick(cluster.living);
    const fault = drawFault(this.#random);
    const loads = cluster.living.map((node) => this.#load(node));
    await sleep(this.#random.between(100, 1500));
    const at = monotonic();
    if (fault === "kill") victim.process.kill();
    else victim.process.suspend();
    const survivor = this.#random.pick(cluster.living.filter((node) => node !== victim));
    const probe = await this.#probe(survivor, fault, at);
    if (fault === "kill") {
      await victim.process.ended;
      await this.#ended(victim, at);
    }
    if (fault === "pause") {
      await sleep(PAUSE_MS);
      victim.process.resume();
    }
    await this.#reached(survivor.api, probe, `${fault} of process ${victim.generation}`);
    if (fault === "suspend") {
      await sleep(Math.max(0, at + SUSPENDED_MS - monotonic()));
      await this.#ended(victim, at);
      this.#resumed.set(victim.generation, monotonic());
      victim.process.resume();
      const { code, signal } = await victim.process.ended;
      if (code !== 75) this.#wrong.push(`process ${victim.generation} ended with ${code ?? signal} when it went on`);
    }
    await Promise.all(loads.map((load) => load.stop()));
    if (fault !== "pause") {
      cluster.nodes[victim.place] = null;
      await cluster.start(victim.place);
    }
    await cluster.divided();
  }

  #load({ api, generation }: Node): Load {
    const { journal } = this.#parts;
    return new Load({
      api,
      generation,
      journal,
      random: this.#random,
      next: () => ++this.#numbers,
      replayed: this.#replayed,
      again: this.#again,
      onAck: () => {},
    });
  }

  async #ended({ generation }: Node, at: number): Promise<void> {
    await this.#parts.journal.append({ kind: "ended", generation, at, clean: false });
  }

  /** The id of an event of which each node sends a part. */
  async #probe({ api, generation }: Node, fault: Fault, at: number): Promise<string> {
    const { journal } = this.#parts;
    const batch = ++this.#numbers;
    const marker = `m${++this.#numbers}`;
    const [type, data] = ["budget.exceeded", `{"marker":"${marker}"}`];
    await journal.append({ kind: "intent", batch, type, items: [{ marker, data }] });
    const sentAt = monotonic();
    const response = await api.post("/v1/webhooks/events", `{"type":"${type}","data":${data}}`);
    if (response.status !== 202) throw new Error(`the probe was answered ${response.status}`);
    const answered = (await response.json()) as { id: string; created_at: string; deliveries: number };
    await journal.append({ kind: "ack", batch, answered: [answered], generation, sentAt, ackedAt: monotonic() });
    this.#probes.push({ batch, fault, at });
    return answered.id;
  }

  /** Until each endpoint was sent the event, whosever it is. */
  async #reached(api: Api, event: string, what: string): Promise<void> {
    for (const until = monotonic() + LIMIT_MS; monotonic() < until; await sleep(POLL_MS)) {
      const { deliveries } = await api.get<ShownEvent>(`/v1/webhooks/events/${event}`);
      if (deliveries.every(({ attempts }) => attempts > 0)) return;
    }
    this.#wrong.push(`${LIMIT_MS} ms after the ${what}, not all endpoints had been sent ${event}`);
  }

  #report(shown: Shown): NodeRounds {
    const driver = readJournal<DriverEntry>(driverJournalOf(this.#parts.home));
    const receivers = readJournal<ReceiverEntry>(journalOf(this.#parts.home));
    const { history, late } = this.#inOrder(historyOf(driver, receivers));
    const findings = judge(history, shown, { copies: COPIES, judgeDuplicates: judgeAcrossNodes });
    findings.wrong.push(...this.#wrong);
    const first = firstAttempts(history);
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

  /** As they arrived, without those that a suspended process made when it went on: these are allowed, and count for nothing. */
  #inOrder(history: History): { history: History; late: number } {
    let late = 0;
    const requests = new Map(
      [...history.requests].map(([delivery, all]) => {
        const some = all.filter(({ at, generation }) => at < (this.#resumed.get(generation) ?? Infinity));
        late += all.length - some.length;
        return [delivery, some.toSorted((a, b) => a.at - b.at || a.nth - b.nth)] as const;
      }),
    );
    for (const [delivery, all] of requests) if (all.length === 0) requests.delete(delivery);
    return { history: { ...history, requests }, late };
  }
}

function drawFault(random: Random): Fault {
  const roll = random.next();
  return roll < 0.75 ? "kill" : roll < 0.9 ? "suspend" : "pause";
}

/** When the last endpoint was sent its first attempt, by event. */
function firstAttempts({ requests }: History): Map<string, number> {
  const first = new Map<string, number>();
  for (const all of requests.values()) {
    const { event, at } = all[0]!;
    first.set(event, Math.max(at, first.get(event) ?? 0));
  }
  return first;
}

function ackedAs(driver: readonly DriverEntry[], batch: number): string {
  const ack = driver.find((entry) => entry.kind === "ack" && entry.batch === batch);
  return ack?.kind === "ack" ? (ack.answered?.[0]?.id ?? "") : "";
}

async function untilQuiet(api: Api): Promise<void> {
  for (const until = monotonic() + QUIET_MS; monotonic() < until; await sleep(POLL_MS)) {
    if (!(await api.hasPending())) return;
  }
}

function driverJournalOf({ dir }: { readonly dir: string }): string {
  return join(dir, "driver.jsonl");
}
