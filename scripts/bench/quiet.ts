/** Measures the cost of an event and its delay under a light load, compared with a relay under the same load: P18. */
import { daemon, relay, type Sample } from "./capacity.ts";
import { atMost, Measures, none, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";

const PER_SECOND = 200;
const SHAPE = { connections: 4, eventsPerRequest: 1, pace: { perSecond: PER_SECOND } } as const;
const SECONDS = 60;
const ROUNDS = 2;

export async function quiet(options: BenchOptions): Promise<Measure[]> {
  const seconds = options.seconds ?? SECONDS;
  const rounds = options.rounds ?? ROUNDS;
  const sides = [
    { name: "webhookd", run: () => daemon(SHAPE, seconds, options), samples: [] as Sample[] },
    { name: "relay", run: () => relay(SHAPE, seconds), samples: [] as Sample[] },
  ] as const;
  for (let round = 1; round <= rounds; round++) {
    for (const { name, run, samples } of round % 2 === 1 ? sides : sides.toReversed()) {
      const sample = await run();
      samples.push(sample);
      options.note(`round ${round} of ${rounds}, ${name}: ${sample.cpuUs.toFixed(0)} µs`);
    }
  }
  const measures = new Measures("quiet");
  const [own, other] = sides;
  for (const { name, samples } of sides) {
    const p18 = (goal: ReturnType<typeof atMost>) => (name === "webhookd" ? goal : null);
    const each = (value: (sample: Sample) => number) => samples.map(value);
    measures.add(
      `${name}: CPU per event`,
      "µs",
      each(({ cpuUs }) => cpuUs),
    );
    measures.add(
      `${name}: publish to arrival, p50`,
      "ms",
      each(({ arrival }) => arrival.p50),
      p18(atMost("P18", 2, " ms")),
    );
    measures.add(
      `${name}: publish to arrival, p99`,
      "ms",
      each(({ arrival }) => arrival.p99),
      p18(atMost("P18", 10, " ms")),
    );
    measures.add(
      `${name}: threads woken an event`,
      "",
      each(({ wakes }) => wakes),
    );
    measures.add(
      `${name}: lost, forged or broken`,
      "",
      each((sample) => sample.faults),
      none(""),
    );
  }
  const cpu = ({ samples }: (typeof sides)[number]) => samples.map(({ cpuUs }) => cpuUs);
  measures.add("CPU ÷ relay", "×", ratios(cpu(own), cpu(other)), atMost("P18", 1.5));
  return measures.all;
}
