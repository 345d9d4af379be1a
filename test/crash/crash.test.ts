import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { Summary } from "../../scripts/crash/summary.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/crash/main.ts");
/** Other tests may keep the machine busy. */
const PATIENT = ["--start-up-limit", "120000"];

const processes: ChildProcess[] = [];
const directories: string[] = [];

afterAll(() => {
  for (const { pid } of processes.splice(0)) endGroup(pid!);
  for (const dir of directories.splice(0)) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

/** In a process group of its own, with a directory for all that it writes. */
function start(...args: string[]): { child: ChildProcess; dir: string } {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-test-"));
  directories.push(dir);
  const env = { ...process.env, TMPDIR: dir };
  const child = spawn(process.execPath, [PROGRAM, "--json", ...PATIENT, ...args], {
    detached: true,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  processes.push(child);
  return { child, dir };
}

async function crash(...args: string[]): Promise<{ code: number; summary: Summary; stderr: string; left: string[] }> {
  const { child, dir } = start(...args);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, "exit")]);
  expect(stdout, stderr).not.toBe("");
  return { code: code as number, summary: JSON.parse(stdout) as Summary, stderr, left: readdirSync(dir) };
}

describe.concurrent("kill -9 on the real process", () => {
  it("loses nothing that was acked, and explains every duplicate", async () => {
    const { code, summary, stderr, left } = await crash("--rounds", "30", "--seed", "1");
    expect(stderr).toBe("");
    expect(summary.violations).toEqual([]);
    expect(code).toBe(0);
    expect(summary).toMatchObject({ rounds: 30, acked_and_lost: 0, false_delivered: 0, duplicates_unexplained: 0 });
    expect(summary.kills).toBeGreaterThanOrEqual(30);
    expect(summary.acked).toBeGreaterThan(0);
    expect(left).toEqual([]);
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

/** The daemon of a life has answered. */
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

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}
