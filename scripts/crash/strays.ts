/** Kills daemons whose driver was killed just after starting them, so that nobody else knows about them. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** A process that is just starting still has its parent's name. */
const LOOKS = 40;
const LOOK_EVERY_MS = 50;

/** Kills, for two seconds, every daemon whose data is in `home`. Does nothing on a system without /proc. */
export async function killStrays(home: string): Promise<void> {
  for (let look = 0; look < LOOKS; look++) {
    for (const pid of daemonsIn(home)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // The process is already gone.
      }
    }
    await sleep(LOOK_EVERY_MS);
  }
}

function daemonsIn(home: string): number[] {
  try {
    return readdirSync("/proc")
      .filter(isNumber)
      .map(Number)
      .filter((pid) => isDaemon(pid, home));
  } catch {
    return [];
  }
}

function isNumber(name: string): boolean {
  return /^\d+$/.test(name);
}

function isDaemon(pid: number, home: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return words.includes("serve") && words.some((word) => word.startsWith(home));
  } catch {
    // The process ended in the meantime.
    return false;
  }
}
