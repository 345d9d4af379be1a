/**
 * Measures how long a start takes until it listens, by the size of the backlog: P7. A start must not read deliveries
 * before they are due. For comparison, Node runs an empty script, and the daemon prints its version.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { DaemonUnderTest, daemonCommand } from "./daemon.ts";
import { MANY } from "./flat.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { remove, scratch } from "./scratch.ts";
import { copyStore, seeded, type SeedPlan } from "./seed.ts";

const ROUNDS = 5;
/** The number of starts in a row. The shortest counts, because other work can only make a start longer. */
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
  const [nothing, version] = [[] as number[], [] as number[]];
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    nothing.push(await shortest(() => run([process.execPath, "--eval", ""])));
    version.push(await shortest(async () => run([...(await daemonCommand()), "--version"])));
    for (const { name, dir, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      samples.push(await shortest(() => startUp(dir, options.threads)));
      options.note(`round ${round} of ${rounds}, ${name}: ${samples.at(-1)!.toFixed(0)} ms`);
    }
  }
  for (const { dir } of sides) remove(dir);
  const measures = new Measures("start");
  const [empty, none, many] = sides;
  for (const { name, samples } of sides) measures.add(`${name}: start until it listens`, "ms", samples);
  measures.add("1 M ÷ nothing waiting", "×", ratios(many!.samples, none!.samples), atMost("P7", 1.5));
  measures.add("1 M ÷ empty store", "×", ratios(many!.samples, empty!.samples), atMost("P7", 1.5));
  measures.add("Node, an empty script", "ms", nothing);
  measures.add("empty store ÷ Node", "×", ratios(empty!.samples, nothing), atMost("", 4));
  measures.add("--version ÷ Node", "×", ratios(version, nothing), atMost("", 1.5));
  return measures.all;
}

async function shortest(start: () => Promise<number>): Promise<number> {
  const taken: number[] = [];
  for (let at = 0; at < STARTS; at++) taken.push(await start());
  return Math.min(...taken);
}

/** Returns the milliseconds until it ends. */
async function run([program, ...args]: readonly string[]): Promise<number> {
  const startedAt = monotonic();
  const [code] = await once(spawn(program!, args, { stdio: "ignore" }), "close");
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return monotonic() - startedAt;
}

async function startUp(dir: string, threads: number | null): Promise<number> {
  const daemon = await DaemonUnderTest.start({ dir, threads });
  await daemon.stop();
  return daemon.startMs;
}
