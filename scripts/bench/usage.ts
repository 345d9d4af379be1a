/** What a process has used, from Linux's /proc: all of its threads, also those that have ended. */
import { readdirSync, readFileSync } from "node:fs";

/** `USER_HZ`, which Linux fixes for everything that reads it. */
const TICKS_PER_SECOND = 100;
const PAGE_MIB = 4096 / (1024 * 1024);

/** User and system time, in milliseconds. */
export function cpuMs(pid: number): number {
  // The name in parentheses may hold spaces: fields are counted from behind it.
  const fields = statOf(pid);
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/** How often its threads went to sleep: each time something woke one of them. Threads that have ended are not in it. */
export function sleeps(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "latin1");
    return sum + Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  }, 0);
}

/** Resident memory, in MiB. */
export function rssMiB(pid: number): number {
  return Number(statOf(pid)[21]) * PAGE_MIB;
}

function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
