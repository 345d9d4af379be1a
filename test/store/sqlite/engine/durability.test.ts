import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../../src/store/opening/open.ts";
import { openDatabase } from "../../../../src/store/sqlite/engine/open-database.ts";
import { MIGRATIONS } from "../../../../src/store/sqlite/engine/schema.ts";
import { addEndpoint, BEGINNING, draft, EVERYTHING, withoutCapacity, publishOne, START } from "../../fixtures.ts";
import { open, optionsOf, temporaryDirectory } from "../../stores.ts";

/** Returns the files of a store that was used and closed. */
async function closedStore(): Promise<{ dir: string; file: string; endpoint: string }> {
  const dir = temporaryDirectory();
  const { store } = await openStore(optionsOf({ dir }));
  const endpoint = await addEndpoint(store, {
    signingSecret: "whsec_CANARYSECRET",
    headers: { "X-Key": "CANARYHEADER" },
  });
  await store.events.publish([draft(), draft()], START, withoutCapacity);
  await store.close();
  return { dir, file: join(dir, "webhookd.db"), endpoint };
}

describe("a store opened again", () => {
  it("runs with synchronous=FULL, read back after a transaction", async () => {
    const { file } = await closedStore();
    const plain = new Database(file);
    plain.exec("BEGIN IMMEDIATE; COMMIT");
    // The library's default is the reason for this test.
    expect(plain.pragma("synchronous", { simple: true })).toBe(1);
    plain.close();
    const { db } = openDatabase(file, { mayCreate: false, wanted: MIGRATIONS.length });
    const pragma = (name: string) => db.pragma(name, { simple: true });
    db.exec("BEGIN IMMEDIATE; UPDATE meta SET value = value; COMMIT");
    expect(pragma("synchronous")).toBe(2);
    expect(
      ["journal_mode", "page_size", "wal_autocheckpoint", "foreign_keys", "temp_store", "cache_size"].map(pragma),
    ).toEqual(["wal", 8192, 2000, 1, 2, -4096]);
    expect(["busy_timeout", "journal_size_limit", "application_id"].map(pragma)).toEqual([50, 67108864, 0x77686b64]);
    db.close();
  });

  it("leaves no write-ahead log behind when it is closed", async () => {
    const { dir } = await closedStore();
    expect(readdirSync(dir).sort()).toEqual(["STORE", "admin.key", "secret.key", "webhookd.db", "webhookd.lock"]);
  });

  it("has no secret in its files in the clear", async () => {
    const { dir } = await closedStore();
    for (const name of readdirSync(dir)) expect(readFileSync(join(dir, name)).includes("CANARY")).toBe(false);
  });

  it("notices a body that changed on the disk", async () => {
    const { dir, file, endpoint } = await closedStore();
    const db = new Database(file);
    db.exec(
      `UPDATE event SET body = CAST(replace(CAST(body AS TEXT), '1.10', '1.11') AS BLOB) WHERE key = (SELECT min(key) FROM event)`,
    );
    db.close();
    const store = await open({ dir });
    const { claims } = await store.deliveries.due(endpoint, BEGINNING, START, 10);
    expect(claims.map((claim) => claim.corrupt ?? false)).toEqual([true, false]);
  });

  it("goes on cancelling what a deleted endpoint was owed", async () => {
    const { dir, file, endpoint } = await closedStore();
    const db = new Database(file);
    db.exec(`UPDATE endpoint SET deleted_at = 1, cancel_to = ${Number.MAX_SAFE_INTEGER}`);
    db.close();
    const store = await open({ dir });
    // This write is committed after that of the sweep.
    await publishOne(store);
    expect(await store.deliveries.earliestDue(null, 9)).toEqual(new Map());
    const { data } = await store.reads.listEvents({ tenant: null, limit: 9, order: "oldest", endpoint });
    expect(data.map((event) => event.status)).toEqual(["cancelled", "cancelled"]);
  });

  it("refuses everything once it is closed", async () => {
    const store = await open({ dir: temporaryDirectory() });
    await store.close();
    await store.close();
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(store.keys.list(EVERYTHING)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect((await store.upkeep.condition()).state).toBe("store_unavailable");
  });

  it("commits what was asked before it was closed", async () => {
    const { dir } = await closedStore();
    const { store } = await openStore(optionsOf({ dir }));
    const publishing = publishOne(store);
    await store.close();
    const { id } = await publishing;
    expect(await (await open({ dir })).reads.getEvent(null, id)).not.toBeNull();
  });
});
