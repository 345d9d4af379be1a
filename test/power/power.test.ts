import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { buildRecorder } from "../../scripts/power/recorder.ts";
import type { Expectation, Verdict } from "../../scripts/power/promises.ts";
import type { Report } from "../../scripts/power/run.ts";

const PROGRAM = resolve(import.meta.dirname, "../../scripts/power/main.ts");
const REOPEN = resolve(import.meta.dirname, "../../scripts/power/reopen.ts");

const scratch = mkdtempSync(join(tmpdir(), "webhookd-test-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const recorder = buildRecorder(scratch);
if ("missing" in recorder) console.warn(`SKIPPED: power cuts are not tried: ${recorder.missing}`);

describe.skipIf("missing" in recorder)("a power cut", () => {
  it("loses nothing that was answered on a disk that honours fsync, and does on disks that lie", async () => {
    const args = ["--json", "--states", "24", "--controls", "4", "--seconds", "2", "--seed", "1"];
    const env = { ...process.env, TMPDIR: scratch };
    const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    expect(stderr).toBe("");
    const report = JSON.parse(stdout) as Report;
    const [honest, normal, swallow] = report.sweeps;
    expect(honest).toMatchObject({ disk: "honest", states: 24, bad: 0, lost: 0, violations: [] });
    expect(honest!.promised).toBeGreaterThan(0);
    expect(normal).toMatchObject({ disk: "normal", states: 4 });
    expect(normal!.lost).toBeGreaterThan(0);
    expect(swallow).toMatchObject({ disk: "swallow", states: 4 });
    expect(swallow!.lost).toBeGreaterThan(0);
    expect(code).toBe(0);
    expect(readdirSync(scratch).filter((name) => name.startsWith("webhookd-power-"))).toEqual([]);
  });
});

describe("a rebuilt disk that no daemon starts on", () => {
  it("has lost all that was answered", async () => {
    const data = join(scratch, "refused/data");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(join(data, "STORE"), "", { mode: 0o600 });
    const promised = [{ kind: "key", id: "key_1", end: 1 } as const, { kind: "key", id: "key_2", end: 2 } as const];
    const expectation: Expectation = { home: join(scratch, "refused"), data, promised, succeeded: [] };
    const child = fork(REOPEN);
    child.send(expectation);
    const [verdict] = (await once(child, "message")) as [Verdict];
    child.kill();
    expect(verdict.lost).toEqual(promised.map((one) => JSON.stringify(one)));
    expect(verdict.wrong).toEqual([expect.stringContaining("StoreRefused")]);
  });
});
