/** Runs `npm run power` as a process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import type { Report } from "../../scripts/power/run.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/power/main.ts");

interface Cuts {
  readonly states: number;
  readonly controls: number;
  readonly seconds: number;
  /** An empty directory. */
  readonly scratch: string;
}

export async function cutsPower({ states, controls, seconds, scratch }: Cuts): Promise<void> {
  const counts = ["--states", String(states), "--controls", String(controls), "--seconds", String(seconds)];
  const child = spawn(process.execPath, [PROGRAM, "--json", "--seed", "1", ...counts], {
    env: { ...process.env, TMPDIR: scratch },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as Report;
  const [honest, ...lying] = report.sweeps;
  expect(honest).toMatchObject({ disk: "honest", states, bad: 0, lost: 0, violations: [] });
  expect(honest!.started).toBeGreaterThan(0);
  expect(honest!.promised).toBeGreaterThan(0);
  expect(honest!.disks).toBeGreaterThan(states / 6);
  expect(lying.map(({ disk }) => disk)).toEqual(["normal", "swallow"]);
  for (const { states: cuts, started, dropped, unseen } of lying) {
    expect([cuts, started]).toEqual([controls, controls / 2]);
    expect(dropped.store, "dropped where the store alone is opened").toBeGreaterThan(0);
    expect(dropped.daemon, "dropped where the daemon is started").toBeGreaterThan(0);
    expect(unseen).toEqual([]);
  }
  expect(code).toBe(0);
  expect(readdirSync(scratch).filter((name) => name.startsWith("webhookd-power-"))).toEqual([]);
}
