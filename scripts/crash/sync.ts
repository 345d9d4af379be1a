/**
 * Silences the standby under load, so that commits wait for it. Then server processes of waiting commits are
 * terminated, cancelled or killed, and finally the primary is killed and the standby, which has none of these commits,
 * is promoted. Every acknowledged event must still exist.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "../../test/harness/postgres.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { resumedMs, type NodeLife, type NodeLifeOptions } from "./node-life.ts";
import { onPrimaries, type Primaries } from "./primaries.ts";

export interface Desertions {
  readonly rounds: number;
  readonly findings: Findings;
  /** The number of commits whose wait was ended, by method. */
  readonly ended: Readonly<Record<Fault, number>>;
  /** The times from the promotion until each node acknowledged again. */
  readonly resumedMs: readonly number[];
}

const FAULTS = ["terminate", "cancel", "kill"] as const;
type Fault = (typeof FAULTS)[number];

const LOAD_MS = 1500;
const SILENT_MS = 3000;
const AGAIN_MS = 100;
const AFTER_MS = 4000;
const WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'";

export function runDesertions(options: NodeLifeOptions): Promise<Desertions> {
  return onPrimaries(options, (life, servers, primaryUrl) => rounds(options, life, servers, primaryUrl));
}

async function rounds(
  { onProgress, rounds: count }: NodeLifeOptions,
  life: NodeLife,
  servers: Primaries,
  primaryUrl: () => string,
): Promise<Desertions> {
  const { cluster, random } = life;
  const promoted: number[] = [];
  const ended = { terminate: 0, cancel: 0, kill: 0 };
  for (let round = 1; round <= count; round++) {
    await cluster.divided(primaryUrl());
    const loads = cluster.living.map((node) => life.load(node));
    await sleep(random.between(300, LOAD_MS));
    servers.silenceStandby();
    // Each round begins with another fault.
    const first = FAULTS[round % FAULTS.length]!;
    ended[first] += await end(primaryUrl(), first);
    for (const until = monotonic() + random.between(0, SILENT_MS); monotonic() < until; await sleep(AGAIN_MS)) {
      const fault = random.pick(FAULTS.slice(0, 2));
      ended[fault] += await end(primaryUrl(), fault).catch(() => 0);
    }
    await servers.killPrimary();
    await servers.promote();
    promoted.push(monotonic());
    loads.push(...cluster.living.map((node) => life.load(node)));
    await sleep(AFTER_MS);
    await Promise.all(loads.map((load) => load.stop()));
    if (await life.noteEnded(round)) break;
    await servers.follow();
    onProgress(round);
  }
  const generations = cluster.living.map(({ generation }) => generation);
  const { driver, findings } = await life.verdict({ forgets: true });
  return {
    rounds: promoted.length,
    findings,
    ended,
    resumedMs: promoted.flatMap((at) => generations.map((generation) => resumedMs(driver, generation, at))),
  };
}

/**
 * Ends the wait of all commits, or kills one server process, which makes all of them crash. Returns the number of
 * commits.
 */
async function end(url: string, fault: Fault): Promise<number> {
  return withClient(url, async (client) => {
    if (fault !== "kill") {
      const { rowCount } = await client.query(`SELECT pg_${fault}_backend(pid) FROM (${WAITING}) w`);
      return rowCount!;
    }
    for (let left = SILENT_MS / AGAIN_MS; left > 0; left--) {
      const { rows } = await client.query<{ pid: number }>(`${WAITING} LIMIT 1`);
      for (const { pid } of rows) process.kill(pid, "SIGKILL");
      if (rows.length > 0) return 1;
      await sleep(AGAIN_MS);
    }
    return 0;
  });
}
