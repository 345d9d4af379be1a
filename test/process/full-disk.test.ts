/** A disk that is really full: a small tmpfs, and a file that takes all that is left of it. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { it, type DaemonProcess } from "../harness/process.ts";

const probe = join(tmpdir(), `webhookd-mount-${process.pid}`);
const mounts = mount(probe);
if (mounts) unmount(probe);
else console.warn("SKIPPED: nothing shows what a really full disk does, because nothing may be mounted here");

function mount(dir: string): boolean {
  mkdirSync(dir, { recursive: true });
  return spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", dir]).status === 0;
}

function unmount(dir: string): void {
  spawnSync("umount", ["-l", dir]);
  rmSync(dir, { recursive: true, force: true });
}

/** Byte for byte, until the disk takes no more. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
      try {
        for (;;) writeSync(descriptor, Buffer.alloc(size));
      } catch (error) {
        expect(error).toMatchObject({ code: "ENOSPC" });
      }
    }
  } finally {
    closeSync(descriptor);
  }
}

async function statusOf(daemon: DaemonProcess): Promise<any> {
  return (await daemon.request("GET", "/v1/status")).body;
}

describe.skipIf(!mounts)("a daemon whose disk is full", () => {
  it("takes the brake, says whether a restart forgets it, and has it on the disk once there is space", async ({
    machine,
  }) => {
    const dir = join(tmpdir(), `webhookd-full-${process.pid}`);
    mount(dir);
    onTestFinished(() => unmount(dir));
    const daemon = await machine.serve({ dir, settings: { DATA_DISK_FLOOR: "1MiB" } });
    const filler = join(dir, "filler");
    fill(filler);
    // The log keeps what it has: all of that is used up first.
    for (let status = 202; status === 202;) {
      const event = { type: "budget.exceeded", data: { text: "x".repeat(100_000) } };
      ({ status } = await daemon.request("POST", "/v1/webhooks/events", event));
      if (status !== 202) expect(status).toBe(507);
    }
    fill(filler.replace("filler", "rest"));
    const paused = await daemon.request("POST", "/v1/pause", { reason: "the disk is full" });
    expect(paused).toMatchObject({ status: 200, body: { paused: { reason: "the disk is full" } } });
    // Often the write-ahead log has room within it.
    const { saved } = paused.body.paused;
    expect(daemon.process.stdout.includes("a restart forgets it")).toBe(!saved);
    rmSync(filler);
    rmSync(filler.replace("filler", "rest"));
    while ((await statusOf(daemon)).paused.saved === false);
    expect(await daemon.kill9()).toBe("SIGKILL");
    const next = await machine.serve({ dir });
    expect((await statusOf(next)).paused).toMatchObject({ reason: "the disk is full", saved: true });
    await next.stop();
  });
});
