import { describe, expect, it } from "vitest";
import { addEndpoint, delivered, publishOne } from "../fixtures.ts";
import { open, temporaryDirectory } from "../stores.ts";

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
    const space = await store.checkSpace();
    expect(space.floorBytes).toBe(512 * MIB);
    expect(Math.floor(space.freeBytes / MIB)).toBe(511);
    expect(store.state()).toBe("disk_full");
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_full", retryAfterSeconds: 5 });
    await store.record([delivered(fresh[0]!)]);
    expect((await store.getEvent(null, id))!.status).toBe("delivered");

    free = 513 * MIB;
    await store.checkSpace();
    expect(store.state()).toBe("ready");
    await publishOne(store);
  });

  it("is looked at before the first publish", async () => {
    const store = await open({ dir: temporaryDirectory(), diskFloor: 512 * MIB, statfs: freeBytes(4096) });
    expect(store.state()).toBe("disk_full");
  });

  it("must leave room for the write-ahead log, whatever the database itself has free", async () => {
    const statfs = freeBytes(127 * MIB);
    const store = await open({ dir: temporaryDirectory(), diskFloor: 127.5 * MIB, statfs });
    expect(store.state()).toBe("disk_full");
    const small = await open({ dir: temporaryDirectory(), diskFloor: MIB, statfs });
    expect(small.state()).toBe("ready");
  });
});
