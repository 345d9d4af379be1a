/**
 * The resources that a process or a tree of processes has used, from Linux's /proc: all threads, including ended ones.
 */
import { readdirSync, readFileSync } from "node:fs";

/** `USER_HZ`, which Linux fixes for everything that reads this file. */
const TICKS_PER_SECOND = 100;
/** A mapping in `smaps`: its offset in the file, the file's path, and the lines with its figures. */
const MAPPING = /^[0-9a-f]+-[0-9a-f]+ \S+ ([0-9a-f]+) \S+ \d+ *(.*)\n((?:[A-Z].*\n)*)/gm;
const PAGE_MIB = 4096 / (1024 * 1024);

/** User and system time, in milliseconds. */
export function cpuMs(pid: number): number {
  // The name in parentheses may contain spaces, so count the fields after it.
  const fields = statOf(pid);
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/**
 * Returns the number of times that its threads went to sleep, which is how often they were woken. Threads that have
 * ended do not count.
 */
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

/** Returns those processes and all of their living descendants. */
export function treeOf(roots: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? ofLiving(Number(name), (pid) => Number(statOf(pid)[1])) : 0;
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [...roots];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** User and system time of such a tree, including processes that have ended, in milliseconds. */
export function treeCpuMs(roots: readonly number[]): number {
  const ticks = (pid: number) => {
    const fields = statOf(pid);
    return [11, 12, 13, 14].reduce((sum, field) => sum + Number(fields[field]), 0);
  };
  return (treeOf(roots).reduce((sum, pid) => sum + ofLiving(pid, ticks), 0) * 1000) / TICKS_PER_SECOND;
}

/**
 * The resident memory of such a tree, in MiB. Memory that its processes share counts once. Memory that they share with
 * others, such as the pages of a program that also runs elsewhere, counts in full.
 */
export function treeMiB(roots: readonly number[]): number {
  const files = new Map<string, number>();
  const own = (pid: number) => {
    let kib = 0;
    for (const [, at, path, fields] of readFileSync(`/proc/${pid}/smaps`, "latin1").matchAll(MAPPING)) {
      const of = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(fields!)?.[1] ?? 0);
      const isFile = path!.startsWith("/") && !path!.endsWith(" (deleted)") && !path!.startsWith("/dev/");
      if (isFile) files.set(`${path} ${at}`, Math.max(files.get(`${path} ${at}`) ?? 0, of("Rss") - of("Anonymous")));
      kib += isFile ? of("Anonymous") : of("Pss");
    }
    return kib;
  };
  const anonymous = treeOf(roots).reduce((sum, pid) => sum + ofLiving(pid, own), 0);
  return (anonymous + [...files.values()].reduce((sum, kib) => sum + kib, 0)) / 1024;
}

/** Returns 0 if the process ends in the meantime. */
function ofLiving(pid: number, read: (pid: number) => number): number {
  try {
    return read(pid) || 0;
  } catch {
    return 0;
  }
}

function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
