/** What a daemon costs that has nothing to do: P10, P14. */
import { setTimeout as sleep } from "node:timers/promises";
import { MANY } from "./flat.ts";
import { atMost, Measures, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { measure } from "./run.ts";
import { copyStore, seeded } from "./seed.ts";
import { Trial } from "./trial.ts";

/** A whole minute, because the sweep for lost deliveries comes once in it. */
const SECONDS = 60;
const ROUNDS = 1;
/** What a start leaves behind, compiled code and garbage, is seen to after some seconds. */
const WARM_MS = 20_000;

export async function idle(options: BenchOptions): Promise<Measure[]> {
  const kept = await seeded(MANY, options.note);
  const measures = new Measures("idle");
  const sides = [
    { name: "empty store", prepare: undefined },
    { name: "1 M waiting, 10 k endpoints", prepare: (dir: string) => copyStore(kept, dir) },
  ];
  for (const { name, prepare } of sides) {
    const samples: { startMs: number; rssMiB: number; percent: number }[] = [];
    for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
      const trial = await Trial.start({ threads: options.threads, ...(prepare && { prepare }) });
      await sleep(WARM_MS);
      const { cores, rssMiB } = await measure(trial.daemon.pid, trial.site.ledger, options.seconds ?? SECONDS);
      await trial.end("stop");
      samples.push({ startMs: trial.daemon.startMs, rssMiB, percent: 100 * cores });
    }
    const each = (value: keyof (typeof samples)[number]) => samples.map((sample) => sample[value]);
    options.note(`${name}: ${Math.round(samples[0]!.rssMiB)} MiB`);
    measures.add(`${name}: start until it listens`, "ms", each("startMs"));
    measures.add(`${name}: RSS`, "MiB", each("rssMiB"), atMost("P10", 120, " MiB"));
    measures.add(`${name}: CPU`, "% of a core", each("percent"), atMost("P14", 0.5, " %"));
  }
  return measures.all;
}
