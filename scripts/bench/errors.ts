/**
 * Compares the cost of an attempt whose receiver returns 500 with that of one whose receiver returns 200. The
 * connection of the first is not reused, because a receiver that responds twice could confirm the next event.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { watchOver } from "../crash/children.ts";
import { Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { measure, warmUp } from "./run.ts";
import { Site } from "./site.ts";

const SECONDS = 3;
const ROUNDS = 3;
const PARALLEL = 16;

interface Sample {
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly unanswered: number;
}

export async function errors(options: BenchOptions): Promise<Measure[]> {
  const sides = [
    { name: "200", path: "/ok/errors", samples: [] as Sample[] },
    { name: "500", path: "/fail/errors", samples: [] as Sample[] },
  ] as const;
  const rounds = options.rounds ?? ROUNDS;
  for (let round = 1; round <= rounds; round++) {
    for (const { name, path, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      const sample = await run(path, options.seconds ?? SECONDS);
      samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${name}: ${sample.cpuUs.toFixed(1)} µs`);
    }
  }
  const measures = new Measures("errors");
  const each = ({ samples }: (typeof sides)[number], value: keyof Sample) => samples.map((sample) => sample[value]);
  for (const side of sides) {
    measures.add(`${side.name}: attempts`, "/s", each(side, "perSecond"));
    measures.add(`${side.name}: CPU an attempt`, "µs", each(side, "cpuUs"));
    measures.add(`${side.name}: unanswered`, "", each(side, "unanswered"), none(""));
  }
  const [ok, fail] = sides;
  measures.add("CPU of a 500 ÷ of a 200", "×", ratios(each(fail, "cpuUs"), each(ok, "cpuUs")));
  return measures.all;
}

async function run(path: string, seconds: number): Promise<Sample> {
  const site = await Site.open();
  const child = watchOver(fork(new URL("errors-process.ts", import.meta.url), [site.url(path), String(PARALLEL)]));
  await warmUp(child.pid!, seconds);
  const { cpuUs, perSecond } = await measure(child.pid!, site.ledger, seconds);
  child.send("stop");
  const [unanswered] = (await once(child, "message")) as [number];
  await site.close();
  return { cpuUs, perSecond, unanswered };
}
