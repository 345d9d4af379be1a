import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { restoreBackup } from "../../../src/store/restore/restore.ts";
import { ManualClock } from "../../harness/clock.ts";
import { addEndpoint, publishOne, START } from "../fixtures.ts";
import { optionsOf } from "../stores.ts";

/** Kills the process before the call that follows this many. After that no call changes a file. */
const life = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const mortal = <A extends unknown[], R>(call: (...args: A) => R) =>
    ((...args: A) => {
      // After a kill the system releases the lock, so that removal always works.
      if (!String(args[0]).endsWith("webhookd.pid") && life.left-- <= 0) throw new Error("killed");
      return call(...args);
    }) as typeof call;
  const open = ((path: string, flags: string, mode?: number) =>
    flags === "r" ? fs.openSync(path, flags) : mortal(fs.openSync)(path, flags, mode)) as typeof fs.openSync;
  return {
    ...fs,
    openSync: open,
    writeSync: mortal(fs.writeSync as (...args: unknown[]) => number),
    fsyncSync: mortal(fs.fsyncSync),
    renameSync: mortal(fs.renameSync),
    rmSync: mortal(fs.rmSync),
    copyFileSync: mortal(fs.copyFileSync),
    chmodSync: mortal(fs.chmodSync),
  };
});

const home = mkdtempSync(join(tmpdir(), "webhookd-crash-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const clock = new ManualClock();
const [oldDir, otherDir, dir] = [join(home, "old"), join(home, "other"), join(home, "data")];
let oldEvent: string;
let otherEvent: string;
let backup: string;

beforeAll(async () => {
  oldEvent = (await publishInto(oldDir, false)).event;
  ({ event: otherEvent, backup } = await publishInto(otherDir, true));
});

/** Unless `cleanly` is set, the event is only in the write-ahead log, as after a kill. */
async function publishInto(place: string, cleanly: boolean): Promise<{ event: string; backup: string }> {
  const { store } = await openStore(optionsOf({ dir: place, clock }));
  await addEndpoint(store);
  const event = (await publishOne(store)).id;
  const made = cleanly ? await store.operations.backup({ dir: home, mayMake: false, keep: 0 }, START) : null;
  if (!cleanly) cpSync(place, `${place}-crashed`, { recursive: true });
  await store.close();
  if (!cleanly) {
    rmSync(place, { recursive: true });
    cpSync(`${place}-crashed`, place, { recursive: true, filter: (name) => !/\.(lock|pid|db-shm)$/.test(name) });
  }
  return { event, backup: made?.file ?? "" };
}

/** Restores the other store's backup over a copy of the old one. */
function restore(): Promise<unknown> {
  return restoreBackup({
    dir,
    backup,
    secretKeyFile: join(dir, "secret.key"),
    givenKeyFile: join(otherDir, "secret.key"),
    passphrase: null,
    mustUnseal: false,
    clock,
    confirm: async () => true,
  });
}

/** Opens the store with the key that lies beside it, and returns which of the two stores it is. */
async function found(): Promise<{ which: string; warnings: string[] }> {
  const warnings: string[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message) };
  const { store } = await openStore(optionsOf({ dir, clock, create: false, log }));
  const [old, other] = [await store.reads.getEvent(null, oldEvent), await store.reads.getEvent(null, otherEvent)];
  const pause = await store.operations.getPause();
  await store.close();
  expect([old === null, other === null, pause?.by]).toEqual(
    other === null ? [false, true, undefined] : [true, false, "restore"],
  );
  expect(readdirSync(dir).filter((name) => /\.restoring|^RESTORE/.test(name))).toEqual([]);
  return { which: other === null ? "old" : "new", warnings };
}

function prepare(): void {
  rmSync(dir, { recursive: true, force: true });
  cpSync(oldDir, dir, { recursive: true });
}

describe("a restore that is killed", () => {
  it("before any of its changes leaves the old store, or the new one, which the next start says that it finished", async () => {
    const ends: string[] = [];
    for (let calls = 0, done = false; !done; calls++) {
      prepare();
      life.left = calls;
      done = await restore().then(
        () => true,
        () => false,
      );
      life.left = Number.POSITIVE_INFINITY;
      const isBegun = existsSync(join(dir, "RESTORE"));
      const { which, warnings } = await found();
      const isFinished = warnings.includes("finished a restore that was cut short");
      expect([which, isFinished], `after ${calls} calls`).toEqual([
        isBegun || which === "new" ? "new" : "old",
        isBegun,
      ]);
      ends.push(done ? "done" : which);
    }
    // A kill leaves the old store at early calls and the new one at later calls, and never the other way round.
    expect(ends.join(" ")).toMatch(/^(old ){10,}(new ){10,}done$/);
  });

  it("while the next start finishes it is finished by the one after that", async () => {
    await killedWhileRenaming();
    cpSync(dir, `${dir}-half`, { recursive: true });
    let calls = 0;
    for (let done = false; !done; calls++) {
      rmSync(dir, { recursive: true });
      cpSync(`${dir}-half`, dir, { recursive: true });
      life.left = calls;
      done = await found().then(
        () => true,
        () => false,
      );
      life.left = Number.POSITIVE_INFINITY;
      expect((await found()).which).toBe("new");
    }
    expect(calls).toBeGreaterThan(10);
  });

  it("and was done by no kill keeps the old database with the log that belongs to it", async () => {
    prepare();
    await restore();
    const kept = readdirSync(dir).filter((name) => name.includes(".before-restore-"));
    expect(kept.map((name) => name.replace(/\d{8}T\d{9}Z/, "T")).sort()).toEqual([
      "admin.key.before-restore-T",
      "secret.key.before-restore-T",
      "webhookd.db.before-restore-T",
      "webhookd.db.before-restore-T-wal",
    ]);
    const log = kept.find((name) => name.endsWith("-wal"))!;
    expect(readFileSync(join(dir, log)).equals(readFileSync(join(oldDir, "webhookd.db-wal")))).toBe(true);
  });
});

/** Kills a restore after the database is in place and before the keys are. */
async function killedWhileRenaming(): Promise<void> {
  for (let calls = 0; ; calls++) {
    prepare();
    life.left = calls;
    await restore().catch(() => {});
    life.left = Number.POSITIVE_INFINITY;
    const names = readdirSync(dir);
    if (names.includes("RESTORE") && !names.includes("webhookd.db.restoring")) return;
  }
}
