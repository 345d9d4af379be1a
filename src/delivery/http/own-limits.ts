/** What this process may have. */
import { readFileSync } from "node:fs";
import { softLimitOf } from "../../domain/open-files.ts";

/** Files open at once; null where the system does not tell. */
export function openFilesLimit(): number | null {
  try {
    return softLimitOf(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return null;
  }
}
