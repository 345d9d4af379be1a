/** Measures the cost of an idle daemon: P10, P14. */
import { setTimeout as sleep } from "node:timers/promises";
import { BATCH } from "./capacity.ts";
import { MANY } from "./flat.ts";
import { atMost, Measures, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { measure } from "./run.ts";
import { copyStore, seeded } from "./seed.ts";
import { Trial } from "./trial.ts";
import { rssMiB } from "./usage.ts";

/** A whole minute, because it includes one sweep for lost deliveries. */
const SECONDS = 60;
const ROUNDS = 1;
/** A start leaves compiled code and garbage behind, which is cleaned up after some seconds. */
const WARM_MS = 20_000;
const FLOOD_MS = 8000;
const SETTLE_MS = 15_000;
/** A thread of senders ends after a minute with little to send, which is checked every quarter of a minute. */
const REST_MS = 80_000;

export async function idle(options: BenchOptions): Promise<Measure[]> {
  const isChosen = (name: string) => options.cases === undefined || options.cases.some((one) => name.startsWith(one));
  const measures = new Measures("idle");
  const sides = [
    { name: "empty store", store: null },
    { name: "1 M waiting, 10 k endpoints", store: MANY },
  ];
  for (const { name, store } of sides.filter((side) => isChosen(side.name))) {
    const kept = store && (await seeded(store, options.note));
    const prepare = kept && ((dir: string) => copyStore(kept, dir));
    const samples: { startMs: number; rssMiB: number; percent: number }[] = [];
    for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
      const trial = await Trial.start({ threads: options.threads, ...(prepare && { prepare }) });
      await sleep(WARM_MS);
      const { cores, rssMiB: resident } = await measure(
        trial.daemon.pid,
        trial.site.ledger,
        options.seconds ?? SECONDS,
      );
      await trial.end("stop");
      samples.push({ startMs: trial.daemon.startMs, rssMiB: resident, percent: 100 * cores });
    }
    const each = (value: keyof (typeof samples)[number]) => samples.map((sample) => sample[value]);
    options.note(`${name}: ${Math.round(samples[0]!.rssMiB)} MiB`);
    measures.add(`${name}: start until it listens`, "ms", each("startMs"));
    measures.add(`${name}: RSS`, "MiB", each("rssMiB"), atMost("P10", 120, " MiB"));
    measures.add(`${name}: CPU`, "% of a core", each("percent"), atMost("P14", 0.5, " %"));
  }
  if (!isChosen("after a flood")) return measures.all;
  const after: number[] = [];
  for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
    after.push(await afterFlood(options));
    options.note(`after a flood: ${Math.round(after.at(-1)!)} MiB`);
  }
  measures.add("a minute after a flood: RSS", "MiB", after, atMost("", 120, " MiB"));
  return measures.all;
}

/** Returns the memory in MiB once the sender's thread has ended. */
async function afterFlood(options: BenchOptions): Promise<number> {
  const trial = await Trial.start({ threads: options.threads });
  await trial.register(["/ok/daemon"]);
  const stop = trial.publish({ ...BATCH, tenants: 0 });
  await sleep(FLOOD_MS);
  await stop();
  await trial.site.settle(SETTLE_MS);
  await sleep(REST_MS);
  const resident = rssMiB(trial.daemon.pid);
  await trial.end("stop");
  return resident;
}
