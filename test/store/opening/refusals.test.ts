import { chmodSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { SCHEMA_VERSION } from "../../../src/store/sqlite/engine/schema.ts";
import { draft, withCapacity, START } from "../fixtures.ts";
import { optionsOf, temporaryDirectory } from "../stores.ts";

let dir: string;
let database: string;

beforeEach(async () => {
  dir = temporaryDirectory();
  database = join(dir, "webhookd.db");
  const { store } = await openStore(optionsOf({ dir }));
  await store.events.publish(Array(50).fill(draft()), START, withCapacity);
  await store.close();
});

const opening = () => openStore(optionsOf({ dir }));

function edit(sql: string): void {
  const db = new Database(database);
  db.exec(sql);
  db.close();
}

describe("a store is refused", () => {
  it("with both versions named, when its schema is newer", async () => {
    edit(`PRAGMA user_version = ${SCHEMA_VERSION + 41}`);
    const refusal = {
      exitCode: 65,
      message: expect.stringMatching(`schema ${SCHEMA_VERSION + 41}.* up to ${SCHEMA_VERSION}`),
    };
    await expect(opening()).rejects.toMatchObject(refusal);
    expect(existsSync(join(dir, "webhookd.pid"))).toBe(false);
  });

  it("when its database is gone, and no empty one is put in its place", async () => {
    rmSync(database);
    await expect(opening()).rejects.toMatchObject({ exitCode: 65, message: expect.stringContaining("missing") });
    expect(existsSync(database)).toBe(false);
  });

  it("when its database is empty", async () => {
    truncateSync(database, 0);
    await expect(opening()).rejects.toMatchObject({ exitCode: 65, message: expect.stringContaining("empty") });
  });

  it("when its database has lost its schema", async () => {
    rmSync(database);
    edit("PRAGMA journal_mode = WAL");
    await expect(opening()).rejects.toMatchObject({ exitCode: 65, message: expect.stringContaining("empty") });
  });

  it("when its database is that of another program, which is left as it was", async () => {
    rmSync(database);
    edit("CREATE TABLE theirs (a)");
    const before = readFileSync(database);
    await expect(opening()).rejects.toMatchObject({
      exitCode: 65,
      message: expect.stringContaining("not a webhookd database"),
    });
    expect(readFileSync(database).equals(before)).toBe(true);
  });

  it("when its database is no database", async () => {
    writeFileSync(database, "x".repeat(10_000));
    await expect(opening()).rejects.toMatchObject({
      exitCode: 65,
      message: expect.stringContaining("is not a SQLite database"),
    });
  });

  it("when its database was cut short", async () => {
    truncateSync(database, 3 * 8192);
    await expect(opening()).rejects.toMatchObject({ exitCode: 65, message: expect.stringContaining("is damaged") });
  });

  it("with another secret key, and with none", async () => {
    const file = join(dir, "secret.key");
    const right = readFileSync(file, "utf8");
    writeFileSync(file, `${"ab".repeat(32)}\n`);
    await expect(opening()).rejects.toMatchObject({ exitCode: 1, message: expect.stringContaining("is not the one") });
    writeFileSync(file, "too short");
    await expect(opening()).rejects.toMatchObject({ exitCode: 1, message: expect.stringContaining("not 32 bytes") });
    rmSync(file);
    await expect(opening()).rejects.toMatchObject({ exitCode: 1, message: expect.stringContaining("is missing") });
    expect(existsSync(file)).toBe(false);
    // The same key in another encoding is accepted.
    writeFileSync(file, Buffer.from(right.trim(), "hex").toString("base64"), { mode: 0o600 });
    const { store } = await opening();
    await store.close();
  });

  it.skipIf(process.platform === "win32")("when everybody can read its secret key", async () => {
    chmodSync(join(dir, "secret.key"), 0o644);
    await expect(opening()).rejects.toMatchObject({ exitCode: 1, hint: expect.stringContaining("chmod 600") });
  });
});
