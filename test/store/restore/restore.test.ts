import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { restoreBackup, type RestoreOptions } from "../../../src/store/restore/restore.ts";
import { MIGRATIONS, SCHEMA_VERSION, type Migration } from "../../../src/store/sqlite/engine/schema.ts";
import { ManualClock } from "../../harness/clock.ts";
import { addEndpoint, publishOne, START } from "../fixtures.ts";
import { optionsOf, temporaryDirectory } from "../stores.ts";

let from: string;
let dir: string;
let backup: string;
let event: string;

beforeEach(async () => {
  [from, dir] = [temporaryDirectory(), temporaryDirectory()];
  const { store } = await openStore(optionsOf({ dir: from }));
  await addEndpoint(store);
  event = (await publishOne(store)).id;
  ({ file: backup } = await store.operations.backup({ dir: from, mayMake: false, keep: 0 }, START));
  await store.close();
});

const restore = (more: Partial<RestoreOptions> = {}) =>
  restoreBackup({
    dir,
    backup,
    secretKeyFile: join(dir, "secret.key"),
    givenKeyFile: join(from, "secret.key"),
    passphrase: null,
    mustUnseal: false,
    clock: new ManualClock(),
    confirm: async () => true,
    ...more,
  });

const key = () => readFileSync(join(from, "secret.key"), "utf8");

describe("a restore", () => {
  it("is not begun where there is no room for the backup beside what is there", async () => {
    const full = { exitCode: 74, message: expect.stringMatching(/too little space: the backup needs \d+ bytes/) };
    await expect(restore({ statfs: async () => ({ bavail: 1, bsize: 4096 }) })).rejects.toMatchObject(full);
    expect(readdirSync(dir)).toEqual(["webhookd.lock"]);
  });

  it("forgets what the last daemon could not record: it is of the database that went", async () => {
    writeFileSync(join(dir, "DAMAGED"), '{"claim":{}}\n');
    await restore();
    expect(existsSync(join(dir, "DAMAGED"))).toBe(false);
  });

  it("of an older version's backup migrates the copy, and not the backup", async () => {
    const note: Migration = { name: "a note", sql: "ALTER TABLE endpoint ADD COLUMN note TEXT" };
    const migrations = [...MIGRATIONS, note];
    const bytes = readFileSync(backup);
    expect(await restore({ migrations })).toMatchObject({ schema: SCHEMA_VERSION, migratedTo: SCHEMA_VERSION + 1 });
    expect(readFileSync(backup).equals(bytes)).toBe(true);
    const { store } = await openStore(optionsOf({ dir, migrations, migrate: false }));
    expect([store.operations.schemaVersion, await store.reads.getEvent(null, event)]).toEqual([
      SCHEMA_VERSION + 1,
      expect.anything(),
    ]);
    await store.close();
  });

  it("puts secret.key where the daemon will look for it, also outside of the data directory", async () => {
    const secretKeyFile = join(temporaryDirectory(), "elsewhere.key");
    expect(await restore({ secretKeyFile })).toMatchObject({ key: "given", keyFile: secretKeyFile });
    expect(readFileSync(secretKeyFile, "utf8")).toBe(key());
    expect(existsSync(join(dir, "secret.key"))).toBe(false);
    // The key is there now, and need not be given again.
    const again = { secretKeyFile, givenKeyFile: undefined, dir: temporaryDirectory() };
    expect(await restore(again)).toMatchObject({ key: "there" });
  });

  it("takes no other store's key away from where that store looks for it", async () => {
    const secretKeyFile = join(temporaryDirectory(), "elsewhere.key");
    writeFileSync(secretKeyFile, "ab".repeat(32), { mode: 0o600 });
    const refused = { exitCode: 1, message: expect.stringContaining("is not the key of this backup") };
    await expect(restore({ secretKeyFile })).rejects.toMatchObject(refused);
    expect(readFileSync(secretKeyFile, "utf8")).toBe("ab".repeat(32));
    expect(readdirSync(dir)).toEqual(["webhookd.lock"]);
  });

  it("says where its key cannot be written, and changes nothing", async () => {
    const secretKeyFile = "/proc/webhookd/secret.key";
    const refused = { exitCode: 74, message: expect.stringContaining(`${secretKeyFile} cannot be written`) };
    await expect(restore({ secretKeyFile })).rejects.toMatchObject(refused);
    expect(readdirSync(dir)).toEqual(["webhookd.lock"]);
  });

  it("leaves alone what is not of the store", async () => {
    mkdirSync(join(dir, "backups"));
    writeFileSync(join(dir, "backups", "webhookd-20261119T000000000Z.db"), "another");
    writeFileSync(join(dir, "webhookd.toml"), "# mine");
    await restore();
    expect(readdirSync(dir, { recursive: true }).sort()).toEqual([
      "STORE",
      "admin.key",
      "backups",
      "backups/webhookd-20261119T000000000Z.db",
      "secret.key",
      "webhookd.db",
      "webhookd.lock",
      "webhookd.toml",
    ]);
  });

  it("that was begun and cannot be read is named by the next start", async () => {
    writeFileSync(join(dir, "RESTORE"), "{");
    const refused = {
      exitCode: 65,
      message: expect.stringContaining("says that a restore was begun, but not which one"),
    };
    await expect(openStore(optionsOf({ dir }))).rejects.toMatchObject(refused);
    await expect(restore()).rejects.toMatchObject(refused);
  });
});
