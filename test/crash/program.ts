/** Runs `npm run crash` as a process, in a directory that is removed when the test file ends. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { afterEveryFile } from "../harness/ends.ts";
import type { Summary } from "../../scripts/crash/summary.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/crash/main.ts");
/** Other tests may keep the machine busy. */
const PATIENT = ["--start-up-limit", "120000"];

const processes: ChildProcess[] = [];
const directories: string[] = [];

afterEveryFile(() => {
  for (const { pid } of processes.splice(0)) endGroup(pid!);
  for (const dir of directories.splice(0)) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

/** Starts the program in a separate process group, with a directory for everything that it writes. */
export function start(...args: string[]): { child: ChildProcess; dir: string } {
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

export async function crash(
  ...args: string[]
): Promise<{ code: number; summary: Summary; stderr: string; left: string[] }> {
  const { child, dir } = start(...args);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, "exit")]);
  expect(stdout, stderr).not.toBe("");
  return { code: code as number, summary: JSON.parse(stdout) as Summary, stderr, left: readdirSync(dir) };
}

export async function losesNothing(rounds: number, seed: number): Promise<void> {
  const { code, summary, stderr, left } = await crash("--rounds", String(rounds), "--seed", String(seed));
  expect(stderr).toBe("");
  expect(summary.violations).toEqual([]);
  expect(code).toBe(0);
  expect(summary).toMatchObject({ rounds, acked_and_lost: 0, false_delivered: 0, duplicates_unexplained: 0 });
  expect(summary.kills).toBeGreaterThanOrEqual(rounds);
  expect(summary.acked).toBeGreaterThan(0);
  expect(left).toEqual([]);
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}
