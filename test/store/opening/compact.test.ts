import { closeSync, cpSync, openSync, readdirSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { compactStore, type CompactOptions } from "../../../src/store/opening/maintenance.ts";
import { openStore } from "../../../src/store/opening/open.ts";
import { commitReplacement } from "../../../src/store/opening/restore-files.ts";
import { ManualClock } from "../../harness/clock.ts";
import { addEndpoint, draft, EVERYTHING, publishOne, withCapacity, START } from "../fixtures.ts";
import { ask, copyOf, open, optionsOf, temporaryDirectory } from "../stores.ts";

const [NONE, INCREMENTAL] = [0, 2];

let dir: string;
let clock: ManualClock;

/** Makes a file as an older version did, with much free space. */
beforeEach(async () => {
  dir = temporaryDirectory();
  clock = new ManualClock();
  const store = await open({ dir, clock });
  await addEndpoint(store);
  await store.events.publish([draft(), draft()], START, withCapacity);
  await store.close();
  const db = new Database(join(dir, "webhookd.db"));
  db.pragma("journal_mode = DELETE");
  db.pragma("auto_vacuum = NONE");
  db.exec("VACUUM; CREATE TABLE filler AS SELECT zeroblob(4000000) AS bytes; DROP TABLE filler");
  db.close();
});

const compact = (more: Partial<CompactOptions> = {}) => compactStore({ dir, clock, ...more });
const shape = () => [ask(dir, "PRAGMA auto_vacuum"), ask(dir, "PRAGMA freelist_count")];
const left = () => readdirSync(dir).filter((name) => /RESTORE|restoring|before-compact/.test(name));

describe("compacting a store", () => {
  it("takes the free pages out, lets them be given back from then on, and changes nothing else", async () => {
    const rows = () =>
      ["event", "delivery", "endpoint"].map((table) => ask(dir, `SELECT count(*) FROM ${table}`)).join();
    const before = { rows: rows(), schema: ask(dir, "PRAGMA user_version") };
    expect(shape()).toEqual([NONE, expect.any(Number)]);
    const { bytesBefore, bytesAfter } = await compact();
    expect(bytesBefore).toBeGreaterThan(4_000_000);
    expect(bytesAfter).toBeLessThan(1_000_000);
    expect(statSync(join(dir, "webhookd.db")).size).toBe(bytesAfter);
    expect(statSync(join(dir, "webhookd.db")).mode & 0o777).toBe(0o600);
    expect(shape()).toEqual([INCREMENTAL, 0]);
    expect({ rows: rows(), schema: ask(dir, "PRAGMA user_version") }).toEqual(before);
    expect(left()).toEqual([]);
    const store = await open({ dir, clock });
    // Compacting is not a restore, so the store is not paused.
    expect(await store.operations.getPause()).toBeNull();
    expect((await store.reads.listEvents(EVERYTHING)).data.map(({ status }) => status)).toEqual(["pending", "pending"]);
    expect((await publishOne(store)).deliveries).toBe(1);
  });

  it("is refused without room for the new file, while a daemon has the store, and of what is no store", async () => {
    const full = async () => ({ bavail: 1, bsize: 4096 });
    await expect(compact({ statfs: full })).rejects.toMatchObject({
      exitCode: 74,
      message: expect.stringMatching(/needs \d+ bytes/),
    });
    await expect(compactStore({ dir: join(dir, "none"), clock })).rejects.toMatchObject({ exitCode: 1 });
    await expect(compactStore({ dir: temporaryDirectory(), clock })).rejects.toMatchObject({ exitCode: 1 });
    const store = await open({ dir, clock });
    await expect(compact()).rejects.toMatchObject({ exitCode: 75 });
    await store.close();
    expect([shape()[0], left()]).toEqual([NONE, []]);
  });

  it("leaves a damaged store as it is", async () => {
    const file = join(dir, "webhookd.db");
    const db = new Database(file);
    const page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'event'").pluck().get() as number;
    const bytes = db.serialize();
    db.close();
    bytes.fill(0xff, (page - 1) * 8192, (page - 1) * 8192 + 64);
    writeFileSync(file, bytes);
    await expect(compact()).rejects.toMatchObject({ exitCode: 65, hint: expect.stringContaining("repairs") });
    expect([statSync(file).size, left()]).toEqual([bytes.length, []]);
  });

  it("that was killed leaves the old store, or what the next start finishes", async () => {
    writeFileSync(join(dir, "webhookd.db.restoring"), "half of it");
    await (await open({ dir, clock })).close();
    expect([shape()[0], left()]).toEqual([NONE, []]);
    // The process was killed between the journal and the renames.
    const other = temporaryDirectory();
    cpSync(dir, other, { recursive: true });
    await compactStore({ dir: other, clock });
    cpSync(join(other, "webhookd.db"), join(dir, "webhookd.db.restoring"));
    commitReplacement(dir, ".before-compact-x");
    const store = await open({ dir, clock });
    expect(await store.operations.getPause()).toBeNull();
    await store.close();
    expect([shape(), left()[0]]).toEqual([[INCREMENTAL, 0], "webhookd.db.before-compact-x"]);
  });
});

describe("a store with much free space", () => {
  /** Makes a store in a new file, with 96 MiB of free space. */
  async function emptied() {
    rmSync(dir, { recursive: true });
    const store = await open({ dir, clock });
    const db = new Database(join(dir, "webhookd.db"));
    db.pragma("synchronous = OFF");
    db.exec("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(100000000))");
    await addEndpoint(store);
    const { id } = await publishOne(store);
    db.exec("DROP TABLE filler");
    db.close();
    return { store, id };
  }

  it("gives most of it back in small steps, and the rest is used again", async () => {
    const { store, id } = await emptied();
    let steps = 0;
    for (let given = 1; given > 0; steps++) {
      given = await store.upkeep.giveBack();
      // Pages of the pointer map may be given back together with these.
      expect(given).toBeLessThanOrEqual(66 * 8192);
      if (steps === 10) expect((await publishOne(store)).deliveries).toBe(1);
    }
    expect(steps).toBeGreaterThan(50);
    // This much stays free for what is written next.
    expect(ask(dir, "PRAGMA freelist_count") * 8192).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect(ask(dir, "PRAGMA integrity_check('event')")).toBe("ok");
    await store.close();
    expect(statSync(join(dir, "webhookd.db")).size).toBeLessThan(80_000_000);
    const again = await open({ dir, clock });
    expect((await again.reads.getEvent(null, id))!.status).toBe("pending");
  });

  it("is whole after a kill in the middle of it", async () => {
    const { store, id } = await emptied();
    for (let steps = 0; steps < 20; steps++) expect(await store.upkeep.giveBack()).toBeGreaterThan(0);
    const killed = copyOf(dir);
    const next = await open({ dir: killed, clock });
    expect(ask(killed, "PRAGMA freelist_count") * 8192).toBeLessThan(95_000_000);
    expect((await next.reads.getEvent(null, id))!.status).toBe("pending");
    await next.close();
    const db = new Database(join(killed, "webhookd.db"), { readonly: true });
    expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
    db.close();
  });

  it("is repaired at the next start where what says who points to a page is damaged, and loses nothing", async () => {
    const { store, id } = await emptied();
    await store.close();
    const file = openSync(join(dir, "webhookd.db"), "r+");
    // The last of these pages describes the pages that would be moved.
    const perPage = 8192 / 5;
    const pages = Math.floor(statSync(join(dir, "webhookd.db")).size / 8192);
    for (let page = 2; page <= pages; page += Math.floor(perPage) + 1) {
      writeSync(file, Buffer.alloc(8192, 0xff), 0, 8192, (page - 1) * 8192);
    }
    closeSync(file);
    const faults: Error[] = [];
    const { store: damaged } = await openStore(optionsOf({ dir, clock, onFault: (error) => void faults.push(error) }));
    await expect(damaged.upkeep.giveBack()).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(faults).toHaveLength(1);
    await damaged.close();
    const mended = await open({ dir, clock });
    expect((await mended.reads.getEvent(null, id))!.status).toBe("pending");
    expect(await mended.operations.damage()).toMatchObject({ lost: [] });
    expect(shape()).toEqual([INCREMENTAL, expect.any(Number)]);
  });

  it("keeps it where the file was made by an older version, until it is compacted", async () => {
    const store = await open({ dir, clock });
    const db = new Database(join(dir, "webhookd.db"));
    db.pragma("synchronous = OFF");
    db.exec("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(100000000)); DROP TABLE filler");
    db.close();
    expect(await store.upkeep.giveBack()).toBe(0);
  });
});
