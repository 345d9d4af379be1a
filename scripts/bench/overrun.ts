/**
 * Publishes twice as much as can be delivered: memory must not grow, and every acked event must be there. P12. First a
 * receiver is the bottleneck, then this machine.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { atMost, Measures, none, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { faults, measure, warmUp } from "./run.ts";
import { pendingSeqs } from "./store-check.ts";
import { Trial } from "./trial.ts";
import { rssMiB } from "./usage.ts";

const SECONDS = 60;
/** The part for the machine is shorter, because its disk would fill up. */
const MACHINE_SHARE = 1 / 3;
const CAPACITY_SECONDS = 3;
const EARLY_S = 10;
const SETTLE_MS = 20_000;
/** The part of this machine's capacity that the receiver handles, so that twice that can still be accepted. */
const RECEIVER_SHARE = 0.25;
const BATCH = { eventsPerRequest: 100, tenants: 0 } as const;

interface Overrun {
  readonly name: string;
  readonly path: string;
  readonly perSecond: number;
  readonly seconds: number;
}

export async function overrun(options: BenchOptions): Promise<Measure[]> {
  const measures = new Measures("overrun");
  const seconds = options.seconds ?? SECONDS;
  const capacity = await capacityOf(options);
  measures.add("capacity", "/s", [capacity]);
  const slow = Math.round(capacity * RECEIVER_SHARE);
  const sides: Overrun[] = [
    { name: "slow receiver", path: `/slow/${slow}`, perSecond: 2 * slow, seconds },
    { name: "busy machine", path: "/ok/overrun", perSecond: 2 * capacity, seconds: seconds * MACHINE_SHARE },
  ];
  for (const side of sides) {
    options.note(`${side.name}: ${Math.round(side.perSecond)}/s for ${Math.round(side.seconds)} s`);
    await run(side, options, measures);
  }
  return measures.all;
}

async function capacityOf({ threads, seconds }: BenchOptions): Promise<number> {
  const trial = await Trial.start({ threads });
  await trial.register(["/ok/overrun"]);
  const stop = trial.publish({ ...BATCH, connections: 2, pace: { window: 2000 } });
  await warmUp(trial.daemon.pid, CAPACITY_SECONDS);
  const { perSecond } = await measure(
    trial.daemon.pid,
    trial.site.ledger,
    Math.min(CAPACITY_SECONDS, seconds ?? SECONDS),
  );
  await stop();
  await trial.end("kill");
  return perSecond;
}

async function run(
  { name, path, perSecond, seconds }: Overrun,
  options: BenchOptions,
  measures: Measures,
): Promise<void> {
  // Use one receiver, because a slow one is as slow as all of its threads together.
  const trial = await Trial.start({ threads: options.threads, receivers: 1 });
  const { site, daemon } = trial;
  const { ledger } = site;
  await trial.register([path]);
  const stop = trial.publish({ ...BATCH, connections: 16, pace: { perSecond } });
  const earlySeconds = Math.min(EARLY_S, seconds / 2);
  await sleep(earlySeconds * 1000);
  const early = rssMiB(daemon.pid);
  const window = await measure(daemon.pid, ledger, seconds - earlySeconds);
  await stop();
  const waiting = ledger.get("acked") - ledger.get("arrived");
  const drained = await site.settle(name === "slow receiver" ? 0 : SETTLE_MS);
  const pending = (await trial.end("stop", pendingSeqs))!;
  const lost = drained === 0 ? 0 : [...ledger.missing()].filter((seq) => !pending.has(seq)).length;

  measures.add(`${name}: published`, "/s", [ledger.get("submitted") / seconds]);
  measures.add(`${name}: refused with 503`, "/s", [ledger.get("refused") / seconds]);
  measures.add(`${name}: delivered meanwhile`, "/s", [window.perSecond]);
  measures.add(`${name}: acked and waiting at the end`, "", [waiting]);
  measures.add(`${name}: RSS after ${Math.round(earlySeconds)} s`, "MiB", [early]);
  measures.add(`${name}: RSS at the end`, "MiB", [window.rssMiB]);
  measures.add(`${name}: RSS, end ÷ early`, "×", [window.rssMiB / early], atMost("P12", 1.2));
  measures.add(`${name}: acked and lost`, "", [lost], none("P12"));
  measures.add(`${name}: forged or broken`, "", [faults(ledger, 0)], none(""));
}
