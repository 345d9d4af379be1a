import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { describe, expect, it as base } from "vitest";
import { it, MAIN, type DaemonProcess } from "../harness/process.ts";

const CANNOT = spawnSync("prlimit", ["--version"]).status === 0 ? null : "prlimit is not installed";
const FILES = 64;
const EVENTS = 250;
const ENDPOINTS = 8;
/** Polling costs descriptors too, so it is rare. */
const SELDOM = { interval: 200 };

async function registerAll(daemon: DaemonProcess, url: string): Promise<void> {
  for (let n = 0; n < ENDPOINTS; n++) await daemon.register(`${url}/${n}`);
}

async function publishMany(daemon: DaemonProcess): Promise<void> {
  const events = Array.from({ length: EVENTS }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  const { status } = await daemon.request("POST", "/v1/webhooks/events/batch", { events });
  expect(status).toBe(202);
}

/** Sets the soft limit of a running process. */
function limitFiles(pid: number, files: number): void {
  const { status, stderr } = spawnSync("prlimit", ["--pid", String(pid), `--nofile=${files}:`], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

base("limits of open files can be set here", ({ skip }) => {
  if (CANNOT !== null) skip(`they cannot, so shortages of them are not tried: ${CANNOT}`);
});

describe.skipIf(CANNOT !== null)("with few file descriptors", () => {
  it("as many attempts are made at once as there is room for, and none fails for want of one", async ({ machine }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve({
      program: ["prlimit", `--nofile=${FILES}:${FILES}`, process.execPath, MAIN],
    });
    await daemon.process.json(({ msg }) => String(msg).startsWith("at most 9 attempts are made at once"));
    await registerAll(daemon, receiver.url);
    await publishMany(daemon);
    await expect.poll(() => receiver.requests.length, SELDOM).toBe(EVENTS * ENDPOINTS);
    const logged = daemon.process.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    expect(logged.filter(({ level }) => level === "error")).toEqual([]);
    expect(logged.length).toBeLessThan(20);
  });

  it("a shortage is reported everywhere, in few lines, and the daemon recovers by itself when it is over", async ({
    machine,
  }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve();
    const pid = daemon.process.child.pid!;
    await registerAll(daemon, receiver.url);
    // All modules are loaded after this event: a sender without a descriptor could not load its own.
    await daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: {} });
    await expect.poll(() => receiver.requests.length, SELDOM).toBe(ENDPOINTS);
    const open = readdirSync(`/proc/${pid}/fd`).length;
    limitFiles(pid, open);
    await publishMany(daemon);
    const halts = async () => (await daemon.request("GET", "/v1/status")).body.not_sending;
    const detail = "this process has no file descriptors left";
    const shortage = { reason: "shortage", since: expect.any(String), detail };
    await expect.poll(halts, SELDOM).toEqual([shortage]);
    const alarm = await daemon.process.json(({ level }) => level === "error");
    expect(alarm.msg).toContain(`attempts cannot be made: ${detail}`);

    limitFiles(pid, 4096);
    await expect.poll(() => receiver.requests.length, SELDOM).toBe((1 + EVENTS) * ENDPOINTS);
    const over = await daemon.process.json(({ msg }) => String(msg).startsWith("attempts can be made again"));
    expect(over.lasted_ms).toBeGreaterThan(0);
    expect(await halts()).toEqual([]);
    expect((await daemon.request("GET", "/v1/webhooks/failures")).body.data).toEqual([]);
    expect(daemon.process.lines.length).toBeLessThan(20);
  });
});
