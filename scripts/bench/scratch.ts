/** Directories on the disk of the checkout, where fsync is real. They are removed when this process ends. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Stores that take long to make are kept here between runs. */
export const CACHE = fileURLToPath(new URL("../../.cache/bench", import.meta.url));

const directories = new Set<string>();

process.once("exit", () => {
  for (const dir of directories) remove(dir);
});

export function scratch(): string {
  mkdirSync(CACHE, { recursive: true });
  const dir = mkdtempSync(join(CACHE, "run-"));
  directories.add(dir);
  return dir;
}

export function remove(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
  directories.delete(dir);
}
