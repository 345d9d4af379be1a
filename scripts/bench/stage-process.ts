/** Runs one stage as a separate process. Arguments: the stage's name, its input, and seconds. Sends a result. */
import { createHash } from "node:crypto";
import { PerformanceObserver } from "node:perf_hooks";
import { ENVELOPE } from "./payload.ts";
import { LOOPS, type Loop, type Meter, type Shape } from "./stage-loops.ts";

export interface StageResult {
  /** User and system time of all threads, in microseconds per event. */
  readonly cpuUs: number;
  /** The part of it in which the garbage collector stopped the main thread. */
  readonly garbageUs: number;
  /** The CPU time of one turn of the calibration loop, in the same process. */
  readonly calibrationUs: number;
}

const WARM_CPU_US = 1_500_000;
const CALIBRATION_TURNS = 20_000;
const [name, shape, seconds] = process.argv.slice(2) as [keyof typeof LOOPS, string, string];

class CpuMeter implements Meter {
  cpuUs = 0;
  /** The times of measurements, on the observer's clock. */
  readonly spans: [from: number, to: number][] = [];

  async run<T>(measured: () => T | Promise<T>): Promise<T> {
    const from = performance.now();
    const before = process.cpuUsage();
    const result = await measured();
    const { user, system } = process.cpuUsage(before);
    this.cpuUs += user + system;
    this.spans.push([from, performance.now()]);
    return result;
  }
}

/** A reference for every kind of CPU: native code, strings, objects. It does not depend on webhookd. */
function calibrate(): number {
  const text = ENVELOPE.toString();
  const before = process.cpuUsage();
  for (let turn = 0; turn < CALIBRATION_TURNS; turn++) {
    createHash("sha256")
      .update(JSON.stringify(JSON.parse(text)))
      .digest("hex");
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALIBRATION_TURNS;
}

async function measure(loop: Loop): Promise<StageResult> {
  const warm = process.cpuUsage();
  const idle = { run: async <T>(measured: () => T | Promise<T>) => measured() };
  for (let used = 0; used < WARM_CPU_US;) {
    await loop.round(idle);
    const { user, system } = process.cpuUsage(warm);
    used = user + system;
  }
  calibrate();
  const before = calibrate();
  const pauses: { startTime: number; duration: number }[] = [];
  const observer = new PerformanceObserver((list) => pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ["gc"] });
  const meter = new CpuMeter();
  let events = 0;
  for (const end = performance.now() + Number(seconds) * 1000; performance.now() < end;) {
    events += await loop.round(meter);
  }
  // The observer's entries arrive a turn later.
  await new Promise((resolve) => setTimeout(resolve, 20));
  observer.disconnect();
  const measured = pauses.filter(({ startTime }) =>
    meter.spans.some(([from, to]) => startTime >= from && startTime < to),
  );
  const pausedMs = measured.reduce((sum, { duration }) => sum + duration, 0);
  const calibrationUs = (before + calibrate()) / 2;
  return { cpuUs: meter.cpuUs / events, garbageUs: (pausedMs * 1000) / events, calibrationUs };
}

async function loopOf(): Promise<Loop> {
  if (name === "http") {
    const loop = await LOOPS.http((at) => process.send!(at));
    await new Promise((resolve) => process.once("message", resolve));
    return loop;
  }
  return LOOPS[name](shape as Shape & string);
}

process.once("disconnect", () => process.exit());
const loop = await loopOf();
const result = await measure(loop);
await loop.close?.();
process.send!(result, () => process.exit());
