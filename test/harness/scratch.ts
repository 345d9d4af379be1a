import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** More than all tests that run at a time write. */
const ROOM_BYTES = 1024 ** 3;

/** Where a run's tests write. It goes with the process, and all that they left in it. */
export function scratchOfRun(): string {
  const scratch = mkdtempSync(join(process.env.TMPDIR ?? memoryDirectory() ?? tmpdir(), "webhookd-run-"));
  // Started as root, PostgreSQL runs as nobody, and has its programs and files in there.
  chmodSync(scratch, 0o711);
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  return scratch;
}

/**
 * A directory in memory for what tests write, if this machine has one with room from which programs may be run; none
 * of them takes the power away, so all that a disk would add is the time of its fsyncs.
 */
export function memoryDirectory(): string | undefined {
  try {
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    const [, path, , options = ""] = mounts.map((line) => line.split(" ")).find(([, at]) => at === "/dev/shm") ?? [];
    if (path === undefined || options.split(",").some((option) => option === "noexec" || option === "ro")) return;
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ROOM_BYTES ? path : undefined;
  } catch {
    // Another system than Linux.
    return undefined;
  }
}
