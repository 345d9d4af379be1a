/** A disk that is really full: a small tmpfs, and a file that takes all the space left. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { it, type DaemonProcess } from "../harness/process.ts";

const probe = join(tmpdir(), `webhookd-mount-${process.pid}`);
const mounts = mount(probe);
if (mounts) unmount(probe);
else console.warn("SKIPPED: nothing shows what a really full disk does, because nothing may be mounted here");

function mount(dir: string, limits = "size=24m"): boolean {
  mkdirSync(dir, { recursive: true });
  return spawnSync("mount", ["-t", "tmpfs", "-o", `${limits},mode=0700`, "tmpfs", dir]).status === 0;
}

/** Creates a data directory on a small, separate disk. */
function smallDisk(name: string, limits?: string): string {
  const dir = join(tmpdir(), `webhookd-${name}-${process.pid}`);
  mount(dir, limits);
  onTestFinished(() => unmount(dir));
  return dir;
}

function unmount(dir: string): void {
  spawnSync("umount", ["-l", dir]);
  rmSync(dir, { recursive: true, force: true });
}

/** Writes byte by byte until the disk is full. */
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

/** Creates empty files until the disk has no inode left. */
function useUpNames(dir: string): void {
  mkdirSync(dir);
  for (let n = 0; ; n++) {
    try {
      closeSync(openSync(join(dir, String(n)), "w"));
    } catch (error) {
      expect(error).toMatchObject({ code: "ENOSPC" });
      return;
    }
  }
}

/** Waits for the reserve that a start on a full disk uses. The first check of the disk's space creates it. */
async function reserved(daemon: DaemonProcess): Promise<void> {
  while (["wal", "shm"].some((part) => !existsSync(join(daemon.dir, `webhookd.reserve-${part}`))))
    await statusOf(daemon);
}

async function readiness(daemon: DaemonProcess): Promise<{ status: number; body: string }> {
  return daemon.request("GET", "/readyz");
}

async function statusOf(daemon: DaemonProcess): Promise<any> {
  return (await daemon.request("GET", "/v1/status")).body;
}

describe.skipIf(!mounts)("a daemon whose disk is full", () => {
  it("takes the brake, says whether a restart forgets it, and has it on the disk once there is space", async ({
    machine,
  }) => {
    const dir = smallDisk("full");
    const daemon = await machine.serve({ dir, settings: { DATA_DISK_FLOOR: "1MiB" } });
    const filler = join(dir, "filler");
    fill(filler);
    // The write-ahead log keeps the space that it has, so that is used up first.
    for (let status = 202; status === 202;) {
      const event = { type: "budget.exceeded", data: { text: "x".repeat(100_000) } };
      ({ status } = await daemon.request("POST", "/v1/webhooks/events", event));
      if (status !== 202) expect(status).toBe(507);
    }
    fill(filler.replace("filler", "rest"));
    const paused = await daemon.request("POST", "/v1/pause", { reason: "the disk is full" });
    expect(paused).toMatchObject({ status: 200, body: { paused: { reason: "the disk is full" } } });
    // The write-ahead log often has enough space left for the pause.
    const { saved } = paused.body.paused;
    if (saved) expect(daemon.process.stdout).not.toContain("too full to save this");
    else await daemon.process.json(({ msg }) => String(msg).includes("too full to save this"));
    rmSync(filler);
    rmSync(filler.replace("filler", "rest"));
    while ((await statusOf(daemon)).paused.saved === false);
    expect(await daemon.kill9()).toBe("SIGKILL");
    const next = await machine.serve({ dir });
    expect((await statusOf(next)).paused).toMatchObject({ reason: "the disk is full", saved: true });
    await next.stop();
  });
});

describe.skipIf(!mounts)("a start on a disk that is full", () => {
  const settings = { DATA_DISK_FLOOR: "2MiB", RETRY_DELAYS: "10ms" };

  for (const [end, rest] of [
    ["stop", ""],
    ["kill9", ""],
    ["kill9", " and without a reserve"],
  ] as const) {
    it(`serves what needs no space after ${end}${rest}, delivers what is due once, and takes publishes once there is space`, async ({
      machine,
    }) => {
      const dir = smallDisk(`start-${end}`);
      const receiver = await machine.receiver();
      const first = await machine.serve({ dir, settings });
      await first.request("POST", "/v1/pause", { reason: "nothing is sent before the disk is full" });
      await first.register(receiver.url);
      const events = await Promise.all(Array.from({ length: 20 }, () => first.publish()));
      await reserved(first);
      await first[end]();
      if (rest !== "") for (const part of ["wal", "shm"]) rmSync(join(dir, `webhookd.reserve-${part}`));
      const filler = join(dir, "filler");
      fill(filler);

      const daemon = await machine.serve({ dir, settings });
      await daemon.process.json(({ msg }) => String(msg).startsWith("the disk is full"));
      expect(await readiness(daemon)).toMatchObject({ status: 503, body: expect.stringContaining("disk_full") });
      const publish = { type: "budget.exceeded", data: { budget_id: "bud_2" } };
      expect(await daemon.request("POST", "/v1/webhooks/events", publish)).toMatchObject({ status: 507 });
      expect((await daemon.request("GET", "/v1/webhooks/events")).body.data).toHaveLength(20);
      expect(await daemon.event(events[0]!)).toMatchObject({ id: events[0], status: "pending" });
      expect((await statusOf(daemon)).paused).toMatchObject({ reason: expect.stringContaining("before") });
      const resume = () => daemon.request("POST", "/v1/resume");
      if (rest !== "") {
        // A saved pause cannot be removed while the disk is full.
        expect((await resume()).status).toBe(507);
        rmSync(filler);
        while ((await resume()).status !== 200);
      } else expect((await resume()).status).toBe(200);
      for (let n = 0; n < 20; n++) await receiver.next();

      rmSync(filler, { force: true });
      for (const event of events) expect(await daemon.settled(event)).toMatchObject({ status: "delivered" });
      while ((await readiness(daemon)).status !== 200);
      await daemon.settled(await daemon.publish());
      expect(receiver.requests).toHaveLength(21);
      for (const event of events) expect(await daemon.attempts(event)).toHaveLength(1);
      expect(await daemon.stop()).toBe(0);
    });
  }

  for (const end of ["stop", "kill9"] as const) {
    it(`takes publishes after ${end} though no file can be made`, async ({ machine }) => {
      const dir = smallDisk(`names-${end}`, "size=24m,nr_inodes=64");
      const receiver = await machine.receiver();
      const first = await machine.serve({ dir, settings });
      await first.register(receiver.url);
      await reserved(first);
      await first[end]();
      useUpNames(join(dir, "names"));

      const daemon = await machine.serve({ dir, settings });
      await daemon.process.json(({ msg }) => String(msg).startsWith("the disk is full"));
      expect(await readiness(daemon)).toMatchObject({ status: 200 });
      expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
      expect(await daemon.stop()).toBe(0);
    });
  }

  it("is refused where there is no store yet, and says how much it takes", async ({ machine }) => {
    const dir = smallDisk("first");
    fill(join(dir, "filler"));
    const process = machine.start({ dir, settings });
    expect(await process.exit).toBe(74);
    expect(process.stderr).toMatch(/the disk of .* is full/);
    expect(process.stderr).toMatch(/\d+ MiB/);
  });
});
