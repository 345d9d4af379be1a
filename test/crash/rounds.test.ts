import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { crash, losesNothing, start } from "./program.ts";

describe.concurrent("kill -9 on the real process", () => {
  it("loses nothing that was acked, and explains every duplicate", async () => {
    await losesNothing(30, 1);
  });

  it("is red when the disk forgets what was acked, and keeps what happened", async () => {
    const { code, summary, stderr } = await crash("--rounds", "2", "--seed", "3", "--plant", "lose-acks");
    expect(code).toBe(1);
    expect(summary.acked_and_lost).toBeGreaterThan(0);
    expect(stderr).toContain("--seed 3");
    expect(readdirSync(summary.kept[0]!)).toEqual(expect.arrayContaining(["driver.jsonl", "receivers.jsonl"]));
  });

  it.each(["SIGINT", "SIGKILL"] as const)("leaves no process behind after %s", async (signal) => {
    const { child, dir } = start("--rounds", "1000");
    await until(() => hasBegun(dir));
    child.kill(signal);
    await once(child, "exit");
    await until(() => !isGroupAlive(child.pid!));
    if (signal === "SIGINT") expect(readdirSync(dir)).toEqual([]);
  });
});

/** True once the first daemon has answered a request. */
function hasBegun(dir: string): boolean {
  const [run] = readdirSync(dir);
  if (run === undefined) return false;
  const journal = join(dir, run, "life-1", "driver.jsonl");
  return (statSync(journal, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

function isGroupAlive(pid: number): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}
