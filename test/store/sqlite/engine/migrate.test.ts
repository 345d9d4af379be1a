import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { migrateStore } from "../../../../src/store/opening/migrate-store.ts";
import { openStore } from "../../../../src/store/opening/open.ts";
import { restoreBackup } from "../../../../src/store/restore/restore.ts";
import { MIGRATIONS, SCHEMA_VERSION, type Migration } from "../../../../src/store/sqlite/engine/schema.ts";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, publishOne } from "../../fixtures.ts";
import { optionsOf, temporaryDirectory } from "../../stores.ts";

const NEXT = SCHEMA_VERSION + 1;
const NOTE: Migration = { name: "a note on endpoints", sql: "ALTER TABLE endpoint ADD COLUMN note TEXT" };
const FILL: Migration = { name: "the note's first text", sql: "UPDATE endpoint SET note = 'none'" };
const LATER = [...MIGRATIONS, NOTE, FILL];
const COPY = new RegExp(`^webhookd-schema-${SCHEMA_VERSION}-to-${NEXT + 1}-\\d{8}T\\d{9}Z\\.db$`);

let dir: string;
let event: string;
let clock: ManualClock;

beforeEach(async () => {
  dir = temporaryDirectory();
  clock = new ManualClock();
  const { store } = await openStore(optionsOf({ dir, clock }));
  await addEndpoint(store);
  event = (await publishOne(store)).id;
  await store.close();
});

function ask<T>(sql: string): T {
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  try {
    return db.prepare(sql).pluck().get() as T;
  } finally {
    db.close();
  }
}

const schema = () => ask<number>("PRAGMA user_version");
const hasNote = () => ask<number>("SELECT count(*) FROM pragma_table_info('endpoint') WHERE name = 'note'") === 1;
const copies = () => (existsSync(join(dir, "backups")) ? readdirSync(join(dir, "backups")) : []);
const backup = () => ({ dir: join(dir, "backups"), mayMake: true });
const full = async () => ({ bavail: 1, bsize: 4096 });

describe("a store of an older version", () => {
  it("is migrated when it is opened, after a copy was made whose name says the versions", async () => {
    const warnings: object[] = [];
    const log = { warn: (fields: object) => void warnings.push(fields) };
    const { store } = await openStore(optionsOf({ dir, clock, log, migrations: LATER }));
    expect(store.operations.schemaVersion).toBe(NEXT + 1);
    expect((await store.reads.getEvent(null, event))!.status).toBe("pending");
    // A migration is not a restore, so the store is not paused.
    expect(await store.operations.getPause()).toBeNull();
    await store.close();
    expect([schema(), hasNote(), ask("SELECT note FROM endpoint")]).toEqual([NEXT + 1, true, "none"]);
    expect(copies()).toEqual([expect.stringMatching(COPY)]);
    const copy = join(dir, "backups", copies()[0]!);
    expect(warnings).toEqual([{ from: SCHEMA_VERSION, to: NEXT + 1, copy }]);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
  });

  it("can be gone back to with the version before: it refuses the newer one, and restores the copy", async () => {
    await (await openStore(optionsOf({ dir, clock, migrations: LATER }))).store.close();
    await expect(openStore(optionsOf({ dir, clock }))).rejects.toMatchObject({
      exitCode: 65,
      message: expect.stringContaining(
        `has schema ${NEXT + 1}, and this webhookd knows schemas up to ${SCHEMA_VERSION}`,
      ),
      hint: expect.stringContaining("webhookd restore <file>"),
    });
    const restored = await restoreBackup({
      dir,
      backup: join(dir, "backups", copies()[0]!),
      secretKeyFile: join(dir, "secret.key"),
      clock,
      passphrase: null,
      mustUnseal: false,
      confirm: async () => true,
    });
    expect(restored).toMatchObject({ schema: SCHEMA_VERSION, migratedTo: SCHEMA_VERSION, key: "there", events: 1 });
    const { store } = await openStore(optionsOf({ dir, clock }));
    expect(await store.operations.getPause()).toMatchObject({ by: "restore" });
    await store.close();
  });

  it("is refused with --no-migrate, with the command to type", async () => {
    await expect(openStore(optionsOf({ dir, clock, migrations: LATER, migrate: false }))).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining(`schema ${SCHEMA_VERSION}, but this webhookd needs ${NEXT + 1}`),
      hint: `webhookd migrate --data-dir ${dir}`,
    });
    expect([schema(), copies()]).toEqual([SCHEMA_VERSION, []]);
  });

  it("that is tried again after a failure keeps one copy, and is as it was", async () => {
    const broken: Migration = { name: "broken", sql: "INSERT INTO health VALUES (999, NULL, NULL, 0, NULL)" };
    const steps = [...MIGRATIONS, NOTE, broken];
    for (let again = 0; again < 3; again++) {
      clock.advance("1m");
      await expect(openStore(optionsOf({ dir, clock, migrations: steps }))).rejects.toThrow(/FOREIGN KEY|references/);
      expect([schema(), hasNote(), copies().length]).toEqual([SCHEMA_VERSION, false, 1]);
    }
    await (await openStore(optionsOf({ dir, clock }))).store.close();
  });

  it("is not touched where the disk has no room for the copy, or not for the steps", async () => {
    const withoutCapacity = { exitCode: 74, message: expect.stringMatching(/cannot be copied .* needs \d+ bytes/) };
    await expect(openStore(optionsOf({ dir, clock, migrations: LATER, statfs: full }))).rejects.toMatchObject(
      withoutCapacity,
    );
    expect([schema(), copies()]).toEqual([SCHEMA_VERSION, []]);
    // This makes SQLite itself report a full disk.
    const large: Migration = {
      name: "much",
      sql: "PRAGMA max_page_count = 100; CREATE TABLE much AS SELECT zeroblob(900000)",
    };
    const filled = { exitCode: 74, message: expect.stringContaining("(much) was undone") };
    const steps = [...MIGRATIONS, NOTE, large];
    await expect(openStore(optionsOf({ dir, clock, migrations: steps }))).rejects.toMatchObject(filled);
    expect([schema(), hasNote()]).toEqual([SCHEMA_VERSION, false]);
    await (await openStore(optionsOf({ dir, clock }))).store.close();
  });

  it("is as it was when the process is killed in the middle, and is migrated by the next start", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "migrating-process.ts"), dir], {
      stdio: "inherit",
    });
    const log = join(dir, "webhookd.db-wal");
    // The log grows before the commit, so the transaction is now running.
    while ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) < 4_000_000 && child.exitCode === null)
      await new Promise(setImmediate);
    child.kill("SIGKILL");
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
    expect([schema(), hasNote()]).toEqual([SCHEMA_VERSION, false]);
    const { store } = await openStore(optionsOf({ dir, clock, migrations: [...MIGRATIONS, NOTE] }));
    expect([store.operations.schemaVersion, (await store.reads.getEvent(null, event))!.status]).toEqual([
      NEXT,
      "pending",
    ]);
    await store.close();
    expect(copies()).toHaveLength(1);
  });
});

describe("the migration command", () => {
  const run = (how: "status" | "dry-run" | "migrate", migrations: readonly Migration[] = LATER) =>
    migrateStore({ dir, how, clock, backup: backup(), migrations });

  it("says what it would do, tries it on the data, and does it", async () => {
    const steps = [
      { to: NEXT, name: NOTE.name },
      { to: NEXT + 1, name: FILL.name },
    ];
    const before = { schema: SCHEMA_VERSION, wanted: NEXT + 1, steps, copy: null };
    const database = readFileSync(join(dir, "webhookd.db"));
    for (const how of ["status", "dry-run"] as const) {
      expect(await run(how)).toEqual(before);
      expect([schema(), hasNote(), copies()]).toEqual([SCHEMA_VERSION, false, []]);
    }
    expect(readFileSync(join(dir, "webhookd.db")).equals(database)).toBe(true);
    const done = await run("migrate");
    expect(done).toMatchObject({ ...before, copy: expect.stringContaining(`webhookd-schema-${SCHEMA_VERSION}-to-`) });
    expect([schema(), hasNote()]).toEqual([NEXT + 1, true]);
    expect(await run("status")).toMatchObject({ schema: NEXT + 1, steps: [] });
  });

  it("finds in its dry run what would fail", async () => {
    const twice = [...MIGRATIONS, NOTE, NOTE];
    await expect(run("dry-run", twice)).rejects.toThrow(/duplicate column/);
    expect([schema(), hasNote()]).toEqual([SCHEMA_VERSION, false]);
  });
});
