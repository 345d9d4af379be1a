import { setTimeout as sleep } from "node:timers/promises";

/** The answer, or "late" if it takes longer. It goes on to come then: whoever does not want it looks after that. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T | "late"> {
  const enough = new AbortController();
  const late = sleep(ms, "late" as const, { signal: enough.signal }).catch(() => "late" as const);
  return Promise.race([answer, late]).finally(() => enough.abort());
}
