import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** More space than the tests of a run use at the same time. */
const ROOM_BYTES = 1024 ** 3;

/**
 * Creates the directory in which the tests of a run write. It is removed with everything in it when the process ends.
 */
export function scratchOfRun(): string {
  const scratch = mkdtempSync(join(process.env.TMPDIR ?? memoryDirectory() ?? tmpdir(), "webhookd-run-"));
  // If the tests run as root, PostgreSQL runs as nobody and must reach its programs and files in this directory.
  chmodSync(scratch, 0o711);
  process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
  return scratch;
}

/**
 * Returns a directory in memory that has enough space and may hold programs, or undefined if this machine has none.
 * Tests can write there because none of them cuts the power, so a disk would only add the time of its fsyncs.
 */
export function memoryDirectory(): string | undefined {
  try {
    const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
    const [, path, , options = ""] = mounts.map((line) => line.split(" ")).find(([, at]) => at === "/dev/shm") ?? [];
    if (path === undefined || options.split(",").some((option) => option === "noexec" || option === "ro")) return;
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ROOM_BYTES ? path : undefined;
  } catch {
    // Systems other than Linux have no such file.
    return undefined;
  }
}
