/**
 * Kills the primary under load, and promotes its synchronous standby some seconds later, perhaps after more than a
 * lease. No node is restarted, and no acknowledged event is lost. Measures how long publishers wait.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { resumedMs, type NodeLife, type NodeLifeOptions } from "./node-life.ts";
import { onPrimaries, type Primaries } from "./primaries.ts";

export interface Failovers {
  readonly rounds: number;
  readonly findings: Findings;
  /** The times from the promotion until each node had acknowledged a publish. */
  readonly resumedMs: readonly number[];
  /** The times from the kill until the promotion was done. */
  readonly promotedMs: readonly number[];
}

/** The longest time until the primary is declared lost. */
const MOST_DECIDING_MS = 8000;
const LOAD_MS = 1500;
const AFTER_MS = 3000;
/** Publishing must work again within this time after the promotion, on every node. */
export const RESUMED_MS = 2000;

export function runFailovers(options: NodeLifeOptions): Promise<Failovers> {
  return onPrimaries(options, (life, servers, primaryUrl) => rounds(options, life, servers, primaryUrl));
}

async function rounds(
  { onProgress, rounds: count }: NodeLifeOptions,
  life: NodeLife,
  servers: Primaries,
  primaryUrl: () => string,
): Promise<Failovers> {
  const { cluster, random } = life;
  const promoted: { readonly killedAt: number; readonly at: number }[] = [];
  for (let round = 1; round <= count; round++) {
    await cluster.divided(primaryUrl());
    const loads = cluster.living.map((node) => life.load(node));
    await sleep(random.between(300, LOAD_MS));
    const killedAt = monotonic();
    await servers.killPrimary();
    await sleep(random.between(0, MOST_DECIDING_MS));
    // The first publishers may have sent all their events by now, and an idle one does not show when publishing works.
    loads.push(...cluster.living.map((node) => life.load(node)));
    await servers.promote();
    promoted.push({ killedAt, at: monotonic() });
    await sleep(AFTER_MS);
    await Promise.all(loads.map((load) => load.stop()));
    if (await life.noteEnded(round)) break;
    await servers.follow();
    onProgress(round);
  }
  const generations = cluster.living.map(({ generation }) => generation);
  const { driver, findings } = await life.verdict();
  return {
    rounds: promoted.length,
    findings,
    promotedMs: promoted.map(({ killedAt, at }) => at - killedAt),
    resumedMs: promoted.flatMap(({ at }) => generations.map((generation) => resumedMs(driver, generation, at))),
  };
}
