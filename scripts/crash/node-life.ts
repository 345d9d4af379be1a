/** One life of several nodes on a store in PostgreSQL: their endpoints, the load, quiet, and the checks. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Random } from "../../test/sim/random.ts";
import type { Api } from "./api.ts";
import type { DriverEntry, ReceiverEntry } from "./entries.ts";
import { historyOf, type History } from "./history.ts";
import { Journal, monotonic, readJournal } from "./journal.ts";
import { judge, type Findings, type Site } from "./judge.ts";
import { Load, type Publish } from "./load.ts";
import { judgeAcrossNodes } from "./node-duplicates.ts";
import { Cluster, type ClusterHome, type Node } from "./nodes.ts";
import { journalOf, ReceiversProcess } from "./receivers-process.ts";
import { show } from "./shown.ts";
import { freeKeys } from "./order.ts";
import { namesOf, planOf, registrationOf } from "./site.ts";

export interface NodeLifeOptions {
  readonly dir: string;
  readonly program: readonly string[];
  readonly nodes: number;
  readonly rounds: number;
  readonly seed: number;
  /** The number of endpoints of each plan. If absent, six. */
  readonly copies?: number;
  readonly onProgress: (rounds: number) => void;
}

/** The result of the journals in the end. */
export interface Verdict {
  readonly findings: Findings;
  readonly history: History;
  readonly driver: readonly DriverEntry[];
  /** The plan of the endpoint, by delivery. */
  readonly plans: ReadonlyMap<string, string>;
  /** Requests that a suspended node made after it resumed. */
  readonly late: number;
}

/** The number of endpoints of each plan, so that each node has some. */
const COPIES = 6;
/** The maximum number of events of one node: each is sent to a dozen endpoints, all on one machine. */
const MOST_OF_LOAD = 400;
const PAUSE_MS = 100;
const QUIET_MS = 300_000;
const POLL_MS = 50;

export class NodeLife {
  readonly cluster: Cluster;
  readonly random: Random;
  readonly journal: Journal;
  /** Violations that the journals do not show. */
  readonly wrong: string[] = [];
  /** The time at which each suspended process resumed. */
  readonly resumed = new Map<number, number>();
  readonly #options: NodeLifeOptions;
  readonly #receivers: ReceiversProcess;
  readonly #replayed = new Set<string>();
  readonly #again: Publish[] = [];
  #numbers = 0;

  private constructor(options: NodeLifeOptions, home: ClusterHome, journal: Journal, receivers: ReceiversProcess) {
    const { seed } = options;
    this.#options = options;
    this.cluster = new Cluster(home);
    this.random = new Random(seed);
    this.journal = journal;
    this.#receivers = receivers;
  }

  /** `url` may name several hosts. The first of them accepts writes. */
  static async begin(options: NodeLifeOptions, url: string, settingsOf?: ClusterHome["settingsOf"]): Promise<NodeLife> {
    const { dir, nodes, program, seed } = options;
    const home = { dir, program, compileCache: join(dir, "compile-cache"), url, settingsOf };
    const receivers = await ReceiversProcess.start(home, seed, "none");
    const life = new NodeLife(options, home, await Journal.open(driverJournalOf(dir)), receivers);
    try {
      for (let place = 0; place < nodes; place++) await life.cluster.start(place);
      await life.#register(life.cluster.living[0]!.api);
    } catch (error) {
      await life.close();
      throw error;
    }
    return life;
  }

  next(): number {
    return ++this.#numbers;
  }

  load({ api, generation, process: { ended } }: Node, { most = MOST_OF_LOAD, pauseMs = PAUSE_MS } = {}): Load {
    const { journal, random } = this;
    const [replayed, again] = [this.#replayed, this.#again];
    const parts = { api, generation, journal, random, next: () => this.next(), replayed, again, ended };
    return new Load({ ...parts, onAck: () => {}, most, pauseMs });
  }

  async ended({ generation }: Node, at: number): Promise<void> {
    await this.journal.append({ kind: "ended", generation, at, clean: false });
  }

  /** Records the nodes that have ended by themselves. Returns true if there are any. */
  async noteEnded(round: number): Promise<boolean> {
    for (const { generation, process } of this.cluster.living) {
      const end = await Promise.race([process.ended, sleep(0, null)]);
      if (end !== null) this.wrong.push(`round ${round}: process ${generation} ended with ${end.code ?? end.signal}`);
    }
    return this.wrong.length > 0;
  }

  /** Waits until nothing is pending, stops all nodes cleanly, and judges. */
  async verdict(site: Pick<Site, "forgets"> = {}): Promise<Verdict> {
    const { copies = COPIES, dir, nodes } = this.#options;
    const { api } = this.cluster.living[0]!;
    await freeKeys(api, this.journal);
    await untilQuiet(api);
    const shown = await show(api);
    this.wrong.push(...(await this.cluster.stop()));
    await this.#receivers.stop();
    await this.journal.close();
    for (let place = 0; place < nodes; place++) {
      const log = readFileSync(join(dir, `node-${place}`, "daemon.log"), "utf8");
      if (log.includes("lost from memory")) this.wrong.push(`node ${place} had lost deliveries from memory`);
      const bug = /"type":"(?:Type|Reference|Range)?Error","message":"([^"]*)/.exec(log);
      if (bug !== null) this.wrong.push(`node ${place} met a bug of its own: ${bug[1]}`);
    }
    const driver = [...readJournal<DriverEntry>(driverJournalOf(dir))];
    const receivers = readJournal<ReceiverEntry>(journalOf({ dir }));
    const { history, late } = this.#inOrder(historyOf(driver, receivers));
    const findings = judge(history, shown, { copies, judgeDuplicates: judgeAcrossNodes, ...site });
    findings.wrong.push(...this.wrong);
    const planOfEach = (endpoint: string) => planOf(history.endpoints.get(endpoint) ?? "");
    const plans = new Map(
      shown.events.flatMap(({ deliveries }) =>
        deliveries.map(({ id, endpoint }) => [id, planOfEach(endpoint)] as const),
      ),
    );
    return { findings, history, driver, plans, late };
  }

  /** Leaves no process behind. */
  async close(): Promise<void> {
    await this.cluster.close();
    await this.#receivers.stop();
  }

  async #register(api: Api): Promise<void> {
    const secrets: Record<string, string> = {};
    for (const name of namesOf(this.#options.copies ?? COPIES)) {
      const url = `http://127.0.0.1:${this.#receivers.port}/${name}`;
      const response = await api.post("/v1/webhooks", registrationOf(name, url));
      const { id, signing_secret: secret } = (await response.json()) as { id: string; signing_secret: string };
      if (response.status !== 201) throw new Error(`a registration was answered ${response.status}`);
      await this.journal.append({ kind: "endpoint", id, name });
      secrets[name] = secret;
    }
    await this.#receivers.ask({ ask: "secrets", secrets });
  }

  /**
   * Sorts requests by arrival, leaving out those that a suspended process made after it resumed, which are allowed and
   * do not count.
   */
  #inOrder(history: History): { history: History; late: number } {
    let late = 0;
    const requests = new Map(
      [...history.requests].map(([delivery, all]) => {
        const some = all.filter(({ at, generation }) => at < (this.resumed.get(generation) ?? Infinity));
        late += all.length - some.length;
        return [delivery, some.sort((a, b) => a.at - b.at || a.nth - b.nth)] as const;
      }),
    );
    for (const [delivery, all] of requests) if (all.length === 0) requests.delete(delivery);
    return { history: { ...history, requests }, late };
  }
}

/** Returns the time from then on until the process acknowledged a publish. */
export function resumedMs(driver: readonly DriverEntry[], generation: number, from: number): number {
  const acks = driver.flatMap((entry) =>
    entry.kind === "ack" && entry.generation === generation && entry.ackedAt >= from ? entry.ackedAt : [],
  );
  return Math.min(Infinity, ...acks) - from;
}

export async function untilQuiet(api: Api): Promise<void> {
  for (const until = monotonic() + QUIET_MS; monotonic() < until; await sleep(POLL_MS)) {
    if (!(await api.hasPending())) return;
  }
}

function driverJournalOf(dir: string): string {
  return join(dir, "driver.jsonl");
}
