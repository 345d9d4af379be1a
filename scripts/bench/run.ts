/** One run: a process that sends, its environment, a measured window, and a check that everything was right. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonic, type Ledger } from "./ledger.ts";
import { percentile } from "./measure.ts";
import { cpuMs, rssMiB, sleeps, treeCpuMs } from "./usage.ts";

export interface Window {
  readonly from: number;
  readonly to: number;
  /** Events that arrived. */
  readonly perSecond: number;
  /** The CPU time of the process with all its threads, in microseconds per event that arrived. */
  readonly cpuUs: number;
  /** The share of one core. */
  readonly cores: number;
  readonly rssMiB: number;
  /** The number of times that a thread was woken, per event that arrived. */
  readonly wakes: number;
}

/**
 * Waits until Node has compiled the hot code. This takes seconds of CPU, and otherwise distorts the result by a third.
 * It is measured in the process's own CPU time, because it may get little of it. A short window is only a trial, and
 * waits less.
 */
const WARM_CPU_MS = 5000;
const WARM_MS = 20_000;

export async function warmUp(
  pids: number | readonly number[],
  seconds: number,
  withinMs: number = WARM_MS,
): Promise<void> {
  const spent = () => (typeof pids === "number" ? cpuMs(pids) : treeCpuMs(pids));
  const enough = spent() + Math.min(WARM_CPU_MS, 2000 * seconds);
  for (const deadline = monotonic() + withinMs; monotonic() < deadline; await sleep(100)) {
    if (spent() >= enough) return;
  }
}

export async function measure(pid: number, ledger: Ledger, seconds: number): Promise<Window> {
  const before = { at: monotonic(), arrived: ledger.get("arrived"), cpu: cpuMs(pid), sleeps: sleeps(pid) };
  await sleep(seconds * 1000);
  const to = monotonic();
  const arrived = ledger.get("arrived") - before.arrived;
  const cpu = cpuMs(pid) - before.cpu;
  return {
    from: before.at,
    to,
    perSecond: (arrived * 1000) / (to - before.at),
    cpuUs: (cpu * 1000) / arrived,
    cores: cpu / (to - before.at),
    rssMiB: rssMiB(pid),
    wakes: (sleeps(pid) - before.sleeps) / arrived,
  };
}

export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly count: number;
}

export function latency(
  ledger: Ledger,
  window: Pick<Window, "from" | "to">,
  until: "ackedAt" | "arrivedAt",
  chosen?: (seq: number) => boolean,
): Latency {
  const times = timesIn(ledger, window, until, chosen);
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), count: times.length };
}

/** Returns the times from submission to `until` for events submitted in the window. Missing ones count as infinite. */
export function timesIn(
  ledger: Ledger,
  { from, to }: Pick<Window, "from" | "to">,
  until: "ackedAt" | "arrivedAt",
  chosen: (seq: number) => boolean = () => true,
): number[] {
  const times: number[] = [];
  const last = ledger.get("submitted");
  for (let seq = 1; seq <= last; seq++) {
    const at = ledger.submittedAt[seq]!;
    if (at < from || at > to || !chosen(seq)) continue;
    const end = ledger[until][seq]!;
    times.push(end === 0 ? Number.POSITIVE_INFINITY : end - at);
  }
  return times;
}

/** Returns the number of violations, counted in events. */
export function faults(ledger: Ledger, lost: number): number {
  const [forged, broken, malformed] = [ledger.get("forged"), ledger.get("broken"), ledger.get("malformed")];
  const unverified = ledger.get("verified") === 0 ? 1 : 0;
  const all = lost + forged + broken + malformed + unverified;
  if (all > 0) process.stderr.write(`${JSON.stringify({ lost, forged, broken, malformed, unverified })}\n`);
  return all;
}
