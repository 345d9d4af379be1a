/**
 * Compares the cost of the first events after a start with that of later ones, for which Node has compiled the hot
 * code.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { BATCH } from "./capacity.ts";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { faults, measure, warmUp } from "./run.ts";
import { Trial } from "./trial.ts";
import { cpuMs } from "./usage.ts";

const FIRST = 10_000;
const LOOK_MS = 2;
const SECONDS = 4;
const ROUNDS = 3;
const SETTLE_MS = 15_000;

export async function cold(options: BenchOptions): Promise<Measure[]> {
  const seconds = options.seconds ?? SECONDS;
  const rounds = options.rounds ?? ROUNDS;
  const [first, later, wrong]: number[][] = [[], [], []];
  for (let round = 1; round <= rounds; round++) {
    const trial = await Trial.start({ threads: options.threads });
    await trial.register(["/ok/daemon"]);
    const { daemon, site } = trial;
    const before = cpuMs(daemon.pid);
    const stop = trial.publish({ ...BATCH, tenants: 0 });
    while (site.ledger.get("arrived") < FIRST) await sleep(LOOK_MS);
    first!.push(((cpuMs(daemon.pid) - before) * 1000) / site.ledger.get("arrived"));
    await warmUp(daemon.pid, seconds);
    later!.push((await measure(daemon.pid, site.ledger, seconds)).cpuUs);
    await stop();
    wrong!.push(faults(site.ledger, await site.settle(SETTLE_MS)));
    await trial.end("stop");
    options.note(`round ${round} of ${rounds}: ${first!.at(-1)!.toFixed(0)} µs, later ${later!.at(-1)!.toFixed(0)} µs`);
  }
  const measures = new Measures("cold");
  measures.add(`CPU of each of the first ${FIRST.toLocaleString("en-US")} events`, "µs", first!);
  measures.add("CPU of each of the later ones", "µs", later!);
  measures.add("first ÷ later", "×", ratios(first!, later!), atMost("", 1.4));
  measures.add("lost, forged or broken", "", wrong!, none(""));
  return measures.all;
}
