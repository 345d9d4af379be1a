/** How long a start takes until it listens, by how much is waiting: P7. Nothing of what waits is read before it is due. */
import { DaemonUnderTest } from "./daemon.ts";
import { MANY } from "./flat.ts";
import { atMost, Measures, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { remove, scratch } from "./scratch.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";

const ROUNDS = 5;
/** In a row, of which the shortest counts: others' work only ever makes a start longer. */
const STARTS = 3;
const NONE: SeedPlan = { ...MANY, pending: 0 };
const EMPTY: SeedPlan = { ...NONE, endpoints: 0 };

export async function start(options: BenchOptions): Promise<Measure[]> {
  const sides = [];
  for (const { name, plan } of [
    { name: "empty store", plan: EMPTY },
    { name: "10 k endpoints, nothing waiting", plan: NONE },
    { name: "10 k endpoints, 1 M waiting", plan: MANY },
  ]) {
    const dir = scratch();
    copyStore(await seeded(plan, options.note), dir);
    sides.push({ name, dir, samples: [] as number[] });
  }
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const { name, dir, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      const starts: number[] = [];
      for (let at = 0; at < STARTS; at++) starts.push(await startUp(dir, options.threads));
      samples.push(Math.min(...starts));
      options.note(`round ${round} of ${rounds}, ${name}: ${samples.at(-1)!.toFixed(0)} ms`);
    }
  }
  for (const { dir } of sides) remove(dir);
  const measures = new Measures("start");
  const [empty, none, many] = sides;
  for (const { name, samples } of sides) measures.add(`${name}: start until it listens`, "ms", samples);
  measures.add("1 M ÷ nothing waiting", "×", ratios(many!.samples, none!.samples), atMost("P7", 1.5));
  measures.add("1 M ÷ empty store", "×", ratios(many!.samples, empty!.samples), atMost("P7", 1.5));
  return measures.all;
}

async function startUp(dir: string, threads: number | null): Promise<number> {
  const daemon = await DaemonUnderTest.start({ dir, threads });
  await daemon.stop();
  return daemon.startMs;
}
