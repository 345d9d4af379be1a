import {
  chmodSync,
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { openSealedKey } from "../../../src/store/files/key-files.ts";
import { Meta } from "../../../src/store/sqlite/engine/meta.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/engine/schema.ts";
import type { Store } from "../../../src/store/store.ts";
import { addEndpoint, draft, EVERYTHING, withoutCapacity, publishOne, START } from "../fixtures.ts";
import { open, optionsOf, temporaryDirectory } from "../stores.ts";

const into = (dir: string, more = {}) => ({ dir, mayMake: false, keep: 7, ...more });

function aFile(text: string, mode: number): string {
  const file = join(temporaryDirectory(), "file");
  writeFileSync(file, text, { mode });
  return file;
}

/** Opens a store on a copy of the backup, with the same secret.key and nothing else. */
async function restored(file: string, from: string): Promise<Store> {
  const dir = temporaryDirectory();
  copyFileSync(file, join(dir, "webhookd.db"));
  copyFileSync(join(from, "secret.key"), join(dir, "secret.key"));
  chmodSync(join(dir, "secret.key"), 0o600);
  return open({ dir });
}

describe("a backup", () => {
  it("is one file that holds all that was committed, readable with the same secret.key, and not that key", async () => {
    const [dir, place] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir });
    const endpoint = await addEndpoint(store, { headers: { "x-api-key": "header-canary-1f2e" } });
    const { id } = await publishOne(store);
    // Leftovers of a crash are removed, and other people's files stay.
    writeFileSync(join(place, "webhookd-20250101T000000000Z.db.partial"), "");
    writeFileSync(join(place, "notes.db"), "");
    const backup = await store.operations.backup(into(place), START + 5);
    const name = "webhookd-20261120T095500005Z.db";
    expect(backup).toMatchObject({
      file: join(place, name),
      at: START + 5,
      schema: SCHEMA_VERSION,
      endpoints: 1,
      events: 1,
    });
    expect(readdirSync(place).toSorted()).toEqual(["notes.db", name]);
    const bytes = readFileSync(backup.file);
    expect([bytes.length, statSync(backup.file).mode & 0o777]).toEqual([backup.bytes, 0o600]);
    const key = readFileSync(join(dir, "secret.key"), "utf8").trim();
    for (const shape of [key, Buffer.from(key, "hex"), "header-canary-1f2e"]) expect(bytes.includes(shape)).toBe(false);
    expect(await store.operations.lastBackup()).toEqual(backup);

    const again = await restored(backup.file, dir);
    expect((await again.reads.getEvent(null, id))!.status).toBe("pending");
    expect(await again.endpoints.target(endpoint)).toMatchObject({ headers: { "x-api-key": "header-canary-1f2e" } });
    expect((await again.keys.list(EVERYTHING)).data.map(({ name }) => name)).toEqual(["admin"]);
    expect(await again.operations.lastBackup()).toBeNull();
  });

  it("that is copied by hand into an empty directory starts paused, says what it is, and is no new store", async () => {
    const [dir, place] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir });
    const backup = await store.operations.backup(into(place), START + 5);
    const warnings: unknown[] = [];
    const log = { warn: (fields: object, message: string) => void warnings.push([fields, message]) };
    const there = temporaryDirectory();
    for (const [from, name] of [
      [backup.file, "webhookd.db"],
      [join(dir, "secret.key"), "secret.key"],
    ] as const)
      copyFileSync(from, join(there, name));
    const opened = await openStore(optionsOf({ dir: there, log }));
    expect(opened.created).toBe(false);
    expect(warnings).toEqual([
      [{ dir: there, made_at: "2026-11-20T09:55:00.005Z" }, expect.stringContaining("sending starts paused")],
    ]);
    expect(await opened.store.operations.getPause()).toMatchObject({ by: "restore" });
    expect(await opened.store.operations.resume()).toBe(true);
    await opened.store.close();
    // Once it has been opened, it is a store like any other.
    const again = await open({ dir: there, log });
    expect([await again.operations.getPause(), warnings.length]).toEqual([null, 1]);
  });

  it("holds secret.key where a passphrase seals it, given or in a file, and only then", async () => {
    const [dir, place] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir });
    const key = Buffer.from(readFileSync(join(dir, "secret.key"), "utf8").trim(), "hex");
    const sealWithFile = join(place, "passphrase");
    writeFileSync(sealWithFile, "from a file, 1 line\r\n", { mode: 0o600 });
    const passphrase = "typed passphrase \u00e9";
    const plain = await store.operations.backup(into(place), START);
    const typed = await store.operations.backup(into(place, { passphrase, sealWithFile }), START + 1);
    const filed = await store.operations.backup(into(place, { sealWithFile }), START + 2);
    expect([plain.sealed, typed.sealed, filed.sealed]).toEqual([false, true, true]);
    const sealedIn = (file: string) => {
      const meta = new Meta(new Database(file, { readonly: true }));
      return { text: meta.sealedKey, check: meta.keyCheck, at: meta.copiedAt };
    };
    expect(sealedIn(plain.file).text).toBeNull();
    const { text, check, at } = sealedIn(typed.file);
    expect(at).toBe(START + 1);
    // A composed and a decomposed character make the same passphrase.
    expect(await openSealedKey(text!, { passphrase: "typed passphrase e\u0301", check })).toEqual(key);
    expect(await openSealedKey(text!, { passphrase: "another passphrase", check })).toBeNull();
    expect(await openSealedKey(text!, { passphrase, check: "v1:another store's" })).toBeNull();
    expect(await openSealedKey(text!.replace(":17:", ":16:"), { passphrase, check })).toBeNull();
    expect(await openSealedKey(text!.replace(":17:", ":31:"), { passphrase, check })).toBeNull();
    const other = sealedIn(filed.file);
    expect(await openSealedKey(other.text!, { passphrase: "from a file, 1 line", check: other.check })).toEqual(key);
    for (const { file, sha256 } of [plain, typed, filed]) {
      const bytes = readFileSync(file);
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
      for (const secret of [key, key.toString("hex"), passphrase]) expect(bytes.includes(secret)).toBe(false);
    }
  });

  it.each([
    ["that is not there", () => "/nonexistent/passphrase", "does not exist"],
    ["with too short a passphrase", () => aFile("too short", 0o600), "12 to 1024 characters"],
    ["that everybody may read", () => aFile("long enough a phrase", 0o644), "chmod 600"],
  ])("is not made with a passphrase file %s", async (_, file, detail) => {
    const [dir, place] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir });
    const refused = { code: "backup_failed", detail: expect.stringContaining(detail) };
    await expect(store.operations.backup(into(place, { sealWithFile: file() }), START)).rejects.toMatchObject(refused);
    expect(readdirSync(place)).toEqual([]);
  });

  it("is made one at a time, and the oldest go when there are more than are kept", async () => {
    const [dir, place] = [temporaryDirectory(), join(temporaryDirectory(), "backups")];
    const store = await open({ dir });
    const first = store.operations.backup(into(place, { mayMake: true, keep: 2 }), START);
    await expect(store.operations.backup(into(place), START)).rejects.toMatchObject({ code: "backup_running" });
    await first;
    await store.operations.backup(into(place, { keep: 2 }), START + 1);
    await store.operations.backup(into(place, { keep: 2 }), START + 2);
    expect(readdirSync(place).map((name) => name.slice(-8))).toEqual(["0001Z.db", "0002Z.db"]);
    // If the clock was set back, the new backup is not the one that is removed.
    const { file } = await store.operations.backup(into(place, { keep: 1 }), START - 1);
    expect(readdirSync(place)).toEqual([file.slice(place.length + 1)]);
    expect(statSync(place).mode & 0o777).toBe(0o700);
  });

  it.each([
    ["a directory that is not there", "/nonexistent/backups", "does not exist: create it, mount its disk"],
    ["a file", import.meta.filename, "is not a directory"],
    ["a place where nothing can be made", "/proc/self", "/proc/self"],
  ])("into %s is refused, and says what to do", async (_, place, detail) => {
    const store = await open({ dir: temporaryDirectory() });
    const refused = { code: "backup_failed", detail: expect.stringContaining(detail) };
    await expect(store.operations.backup(into(place), START)).rejects.toMatchObject(refused);
    expect(await store.operations.lastBackup()).toBeNull();
    expect((await store.upkeep.condition()).state).toBe("ready");
  });

  it("is not begun where there is too little space for it, with the floor where it shares the data's disk", async () => {
    const MIB = 1024 * 1024;
    const dir = temporaryDirectory();
    const statfs = async () => ({ bavail: (513 * MIB) / 4096, bsize: 4096 });
    const store = await open({ dir, diskFloor: 513 * MIB, statfs });
    const refused = {
      code: "backup_failed",
      detail: expect.stringMatching(
        / has 513 MiB free, and a backup needs 514 MiB including \[data\] disk_floor: free some/,
      ),
    };
    await expect(store.operations.backup(into(dir), START)).rejects.toMatchObject(refused);
  });

  it.each([
    ["event_tenant_type", "leaf", "the database is damaged"],
    ["event", "leaf", "the copy is damaged"],
    ["large_data", "overflow", "the copy is damaged"],
  ])("of a database with damaged pages of %s of kind %s is found out and not kept", async (tree, kind, why) => {
    const [dir, place] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir });
    await addEndpoint(store);
    const data = Buffer.from(JSON.stringify({ text: "x".repeat(20_000) }));
    await store.events.publish(
      Array.from({ length: 200 }, () => draft({ data })),
      START,
      withoutCapacity,
    );
    await store.close();
    const db = new Database(join(dir, "webhookd.db"));
    const ofKind = db.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ?").pluck();
    const pages = ofKind.all(tree, kind) as number[];
    db.close();
    expect(pages.length).toBeGreaterThan(0);
    const damaged = await open({ dir });
    const file = openSync(join(dir, "webhookd.db"), "r+");
    for (const page of pages) writeSync(file, Buffer.alloc(64, 0xff), 0, 64, (page - 1) * 8192);
    closeSync(file);
    const refused = { code: "backup_failed", detail: expect.stringContaining(why) };
    await expect(damaged.operations.backup(into(place), START)).rejects.toMatchObject(refused);
    expect(readdirSync(place)).toEqual([]);
  });
});
