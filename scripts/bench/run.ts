/** One run: a process that sends, the world around it, a measured window, and whether everything was right. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonic, type Ledger } from "./ledger.ts";
import { percentile } from "./measure.ts";
import { cpuMs, rssMiB, sleeps, treeCpuMs } from "./usage.ts";

export interface Window {
  readonly from: number;
  readonly to: number;
  /** That arrived. */
  readonly perSecond: number;
  /** Of the process with all its threads, microseconds for each event that arrived. */
  readonly cpuUs: number;
  /** Share of one core. */
  readonly cores: number;
  readonly rssMiB: number;
  /** How often a thread was woken, for each event that arrived. */
  readonly wakes: number;
}

/**
 * Until Node has compiled what is hot, which takes seconds of CPU and is worth a third of what is measured. Counted in
 * the process's own time, of which it may get little; a short window is a try-out and waits less.
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

/** From submission to `until`, of the events submitted in the window; those that never got there count as infinite. */
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

/** What must never be: each counts, in events. */
export function faults(ledger: Ledger, lost: number): number {
  const [forged, broken, malformed] = [ledger.get("forged"), ledger.get("broken"), ledger.get("malformed")];
  const unverified = ledger.get("verified") === 0 ? 1 : 0;
  const all = lost + forged + broken + malformed + unverified;
  if (all > 0) process.stderr.write(`${JSON.stringify({ lost, forged, broken, malformed, unverified })}\n`);
  return all;
}
