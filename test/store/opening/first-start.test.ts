import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { hashSecret, parseToken } from "../../../src/domain/caller.ts";
import { openStore } from "../../../src/store/opening/open.ts";
import { addEndpoint, EVERYTHING } from "../fixtures.ts";
import { open, optionsOf, temporaryDirectory } from "../stores.ts";

const DATABASE = ["webhookd.db", "webhookd.db-wal", "webhookd.db-shm"];

async function startOnce(dir: string): Promise<void> {
  const { store } = await openStore(optionsOf({ dir }));
  await store.close();
}

function remove(dir: string, ...names: string[]): void {
  for (const name of names) rmSync(join(dir, name), { force: true });
}

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

describe("the first start", () => {
  it("makes the store, its key and an admin key that works", async () => {
    const dir = join(temporaryDirectory(), "a", "data");
    const { store, created, adminKeyFile } = await openStore(optionsOf({ dir }));
    try {
      expect({ created, adminKeyFile }).toEqual({ created: true, adminKeyFile: join(dir, "admin.key") });
      const token = parseToken(readFileSync(join(dir, "admin.key"), "utf8").trim())!;
      const key = await store.keys.get(token.keyId);
      expect(key).toMatchObject({ name: "admin", scopes: ["admin"], tenant: "*", revokedAt: null });
      expect(Buffer.compare(key!.hash, hashSecret(token.secret))).toBe(0);
      expect(modeOf(dir)).toBe("700");
      const modes = new Map(readdirSync(dir).map((name) => [name, modeOf(join(dir, name))]));
      expect(new Set(modes.values())).toEqual(new Set(["600"]));
      expect([...modes.keys()]).toEqual(
        expect.arrayContaining([...DATABASE, "STORE", "secret.key", "webhookd.lock", "webhookd.pid"]),
      );
    } finally {
      await store.close();
    }
    expect(existsSync(join(dir, "webhookd.pid"))).toBe(false);
    const second = await openStore(optionsOf({ dir, create: false }));
    await second.store.close();
    expect(second).toMatchObject({ created: false });
  });

  it.each([
    ["before the marker", ["STORE"]],
    ["before the database", ["STORE", ...DATABASE]],
    ["before the admin key", ["STORE", ...DATABASE, "admin.key"]],
    ["before the secret key", ["STORE", ...DATABASE, "admin.key", "secret.key"]],
  ])("that was killed %s is finished by the next", async (_, missing) => {
    const dir = temporaryDirectory();
    await startOnce(dir);
    const adminKey = readFileSync(join(dir, "admin.key"), "utf8");
    remove(dir, ...missing);
    const store = await open({ dir });
    const token = parseToken(readFileSync(join(dir, "admin.key"), "utf8").trim())!;
    expect(await store.keys.get(token.keyId)).toMatchObject({ name: "admin" });
    expect((await store.keys.list(EVERYTHING)).data).toHaveLength(1);
    if (!missing.includes("admin.key")) expect(readFileSync(join(dir, "admin.key"), "utf8")).toBe(adminKey);
    expect(existsSync(join(dir, "STORE"))).toBe(true);
    await addEndpoint(store);
  });

  it("that was killed inside the database's first transaction is finished by the next", async () => {
    for (const leave of [() => Buffer.alloc(0), headerOnly]) {
      const dir = temporaryDirectory();
      await startOnce(dir);
      remove(dir, "STORE", ...DATABASE);
      writeFileSync(join(dir, "webhookd.db"), leave());
      writeFileSync(join(dir, "secret.key.tmp"), "half");
      expect((await (await open({ dir })).keys.list(EVERYTHING)).data).toHaveLength(1);
    }
  });

  it("makes nothing when it may not", async () => {
    const dir = join(temporaryDirectory(), "data");
    await expect(openStore(optionsOf({ dir, create: false }))).rejects.toMatchObject({ exitCode: 1 });
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    await expect(openStore(optionsOf({ dir, create: false }))).rejects.toMatchObject({ exitCode: 1 });
    expect(existsSync(join(dir, "webhookd.db"))).toBe(false);
  });

  it("keeps the secret key where it is told to", async () => {
    const dir = temporaryDirectory();
    const secretKeyFile = join(temporaryDirectory(), "elsewhere.key");
    const store = await open({ dir, secretKeyFile });
    expect(existsSync(join(dir, "secret.key"))).toBe(false);
    expect(readFileSync(secretKeyFile, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
    expect((await store.upkeep.condition()).state).toBe("ready");
  });
});

/** Returns a file whose journal mode was set, but to which nothing else was written. */
function headerOnly(): Buffer {
  const file = join(temporaryDirectory(), "empty.db");
  const db = new Database(file);
  db.pragma("page_size = 8192");
  db.pragma("journal_mode = WAL");
  db.close();
  return readFileSync(file);
}
