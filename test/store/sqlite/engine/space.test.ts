import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, delivered, publishOne } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

const MIB = 1024 * 1024;
const freeBytes = (bytes: number) => async () => ({ bavail: bytes / 4096, bsize: 4096 });

describe("free disk space", () => {
  it("under the floor refuses publishes and goes on recording", async () => {
    let free = 600 * MIB;
    const statfs = async () => ({ bavail: free / 4096, bsize: 4096 });
    const store = await open({ dir: temporaryDirectory(), diskFloor: 512 * MIB, statfs });
    await addEndpoint(store);
    const { id, fresh } = await publishOne(store);

    free = 511 * MIB;
    const space = await store.upkeep.checkSpace();
    expect(space.floorBytes).toBe(512 * MIB);
    expect(Math.floor(space.freeBytes! / MIB)).toBe(511);
    expect((await store.upkeep.condition()).state).toBe("disk_full");
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_full", retryAfterSeconds: 5 });
    await store.deliveries.record([delivered(fresh[0]!)]);
    expect((await store.reads.getEvent(null, id))!.status).toBe("delivered");

    free = 513 * MIB;
    await store.upkeep.checkSpace();
    expect((await store.upkeep.condition()).state).toBe("ready");
    await publishOne(store);
  });

  it("is looked at before the first publish", async () => {
    const store = await open({ dir: temporaryDirectory(), diskFloor: 512 * MIB, statfs: freeBytes(4096) });
    expect((await store.upkeep.condition()).state).toBe("disk_full");
  });

  it("must leave room for the write-ahead log, whatever the database itself has free", async () => {
    const statfs = freeBytes(127 * MIB);
    const store = await open({ dir: temporaryDirectory(), diskFloor: 127.5 * MIB, statfs });
    expect((await store.upkeep.condition()).state).toBe("disk_full");
    const small = await open({ dir: temporaryDirectory(), diskFloor: MIB, statfs });
    expect((await small.upkeep.condition()).state).toBe("ready");
  });
});

describe("the write-ahead log", () => {
  it("is said to grow while nothing can be moved out of it, and no more once it can", async () => {
    const dir = temporaryDirectory();
    const clock = new ManualClock();
    const store = await open({ dir, clock, statfs: freeBytes(4096 * MIB), walLimitBytes: 256 * 1024 });
    await addEndpoint(store);
    expect((await store.upkeep.checkSpace()).trouble).toBeNull();
    const reader = new Database(join(dir, "webhookd.db"), { readonly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM event").get();
    for (let n = 0; n < 40; n++) await publishOne(store);
    await clock.advance(61_000);
    expect((await store.upkeep.checkSpace()).trouble).toMatch(/write-ahead log .* could be moved into the database/);
    expect((await store.upkeep.condition()).trouble).not.toBeNull();
    reader.close();
    // The store tries again once a minute.
    await clock.advance(61_000);
    expect((await store.upkeep.checkSpace()).trouble).toBeNull();
  });
});

describe("the brake", () => {
  it("holds without the disk, and is saved as soon as that takes it", async () => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    const pause = { reason: "a test", by: "socket", at: 1 };
    const other = new Database(join(dir, "webhookd.db"));
    other.exec("BEGIN IMMEDIATE");
    expect(await store.operations.pause(pause)).toEqual({ ...pause, saved: false });
    expect(await store.operations.getPause()).toEqual({ ...pause, saved: false });
    // A second pause does not replace the first.
    expect(await store.operations.pause({ ...pause, reason: "another" })).toEqual({ ...pause, saved: false });
    await store.upkeep.checkSpace();
    expect(await store.operations.getPause()).toMatchObject({ saved: false });
    other.exec("ROLLBACK");
    await store.upkeep.checkSpace();
    expect(await store.operations.getPause()).toEqual(pause);
    other.close();
    await store.close();
    expect(await (await open({ dir })).operations.getPause()).toEqual(pause);
  });

  it("stays on when several look at the space at once", async () => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    const pause = { reason: "a test", by: "socket", at: 1 };
    const other = new Database(join(dir, "webhookd.db"));
    other.exec("BEGIN IMMEDIATE");
    await store.operations.pause(pause);
    other.exec("ROLLBACK");
    other.close();
    await Promise.all([store.upkeep.checkSpace(), store.upkeep.checkSpace()]);
    expect(await store.operations.getPause()).toEqual(pause);
  });

  it("is taken off without the disk where that does not know of it", async () => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    const other = new Database(join(dir, "webhookd.db"));
    other.exec("BEGIN IMMEDIATE");
    await store.operations.pause({ reason: "a test", by: "socket", at: 1 });
    expect(await store.operations.resume()).toBe(true);
    expect(await store.operations.getPause()).toBeNull();
    other.exec("ROLLBACK");
    other.close();
    await store.upkeep.checkSpace();
    expect(await store.operations.getPause()).toBeNull();
  });
});
