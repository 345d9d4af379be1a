/**
 * The primary is killed under load, and its synchronous standby promoted some seconds later, which may be longer than a
 * lease: no node is restarted, and nothing that was acknowledged is lost. How long publishers wait is told.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DriverEntry } from "./entries.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { NodeLife, type NodeLifeOptions } from "./node-life.ts";
import { Primaries } from "./primaries.ts";

export interface Failovers {
  readonly rounds: number;
  readonly findings: Findings;
  /** From the promotion until each node had acknowledged a publish. */
  readonly resumedMs: readonly number[];
  /** From the kill until the promotion was done. */
  readonly promotedMs: readonly number[];
}

const DATABASE = "webhookd";
/** Until whoever watches the primary decides that it is lost. */
const MOST_DECIDING_MS = 8000;
const LOAD_MS = 1500;
const AFTER_MS = 3000;
/** Publishing must have resumed so long after the promotion, on every node. */
export const RESUMED_MS = 2000;

export async function runFailovers(options: NodeLifeOptions): Promise<Failovers> {
  const servers = await Primaries.start();
  if (servers === null) throw new Error("there is no PostgreSQL to run nodes on");
  try {
    await servers.ask(`CREATE DATABASE ${DATABASE}`);
    const life = await NodeLife.begin(options, servers.urlOf(DATABASE));
    try {
      return await rounds(options, life, servers);
    } finally {
      await life.close();
    }
  } finally {
    await servers.stop();
  }
}

async function rounds({ onProgress, rounds: count }: NodeLifeOptions, life: NodeLife, servers: Primaries) {
  const { cluster, random, wrong } = life;
  const promoted: { readonly killedAt: number; readonly at: number }[] = [];
  for (let round = 1; round <= count; round++) {
    await cluster.divided(servers.primaryUrl(DATABASE));
    const loads = cluster.living.map((node) => life.load(node));
    await sleep(random.between(300, LOAD_MS));
    const killedAt = monotonic();
    await servers.killPrimary();
    await sleep(random.between(0, MOST_DECIDING_MS));
    await servers.promote();
    promoted.push({ killedAt, at: monotonic() });
    await sleep(AFTER_MS);
    await Promise.all(loads.map((load) => load.stop()));
    for (const { generation, process } of cluster.living) {
      const end = await Promise.race([process.ended, sleep(0, null)]);
      if (end !== null) wrong.push(`round ${round}: process ${generation} ended with ${end.code ?? end.signal}`);
    }
    if (wrong.length > 0) break;
    await servers.follow();
    onProgress(round);
  }
  const generations = cluster.living.map(({ generation }) => generation);
  const { driver, findings } = await life.verdict();
  return {
    rounds: promoted.length,
    findings,
    promotedMs: promoted.map(({ killedAt, at }) => at - killedAt),
    resumedMs: promoted.flatMap(({ at }) => generations.map((generation) => resumedAt(driver, generation, at) - at)),
  };
}

/** When the node acknowledged the first publish that was sent after the promotion, or before it and answered after it. */
function resumedAt(driver: readonly DriverEntry[], generation: number, promotedAt: number): number {
  const acks = driver.flatMap((entry) =>
    entry.kind === "ack" && entry.generation === generation && entry.ackedAt >= promotedAt ? entry.ackedAt : [],
  );
  return Math.min(Infinity, ...acks);
}
