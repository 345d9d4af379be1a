import { createHash } from "node:crypto";
import {
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  rmSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { parseToken } from "../../src/domain/caller.ts";
import { openStore } from "../../src/store/opening/open.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/engine/schema.ts";
import { addEndpoint, again, publishOne, START } from "../store/fixtures.ts";
import { open, optionsOf, temporaryDirectory } from "../store/stores.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const PASSPHRASE = "correct horse battery";

/** Makes a store whose backup lacks its second event. */
async function scene() {
  const [dir, place] = [join(home, "data"), join(home, "backups")];
  const { store } = await openStore(optionsOf({ dir }));
  const endpoint = await addEndpoint(store, { headers: { "x-api-key": "header-canary" } });
  const first = await publishOne(store);
  const rules = { dir: place, mayMake: true, keep: 0 };
  const plain = await store.operations.backup(rules, START);
  const sealed = await store.operations.backup({ ...rules, passphrase: PASSPHRASE }, START + 1);
  const second = await publishOne(store);
  await store.close();
  return { dir, endpoint, first: first.id, second: second.id, plain: plain.file, sealed: sealed.file };
}

let shared: Awaited<ReturnType<typeof scene>>;
let dir: string;
/** A copy of the sealed backup that a test may damage. */
let copy: string;

// All tests share the backup, because sealing takes half a second.
const home = mkdtempSync(join(tmpdir(), "webhookd-restore-"));
beforeAll(async () => void (shared = await scene()));
afterAll(() => rmSync(home, { recursive: true, force: true }));

beforeEach(() => {
  dir = temporaryDirectory();
  cpSync(shared.dir, dir, { recursive: true });
  copy = join(temporaryDirectory(), "copy.db");
  copyFileSync(shared.sealed, copy);
});

async function restore(words: readonly string[], options: ConstructorParameters<typeof FakeIo>[0] = {}) {
  const io = new FakeIo(options);
  const code = await webhookd(io, "restore", ...words);
  return { code, out: io.out, err: io.err, io };
}

const passphraseFile = (text = PASSPHRASE) => {
  const file = join(temporaryDirectory(), "passphrase");
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
};

/** Returns the contents of every file except the lock, because looking at a store creates it. */
function stateOf(path: string): Record<string, string> {
  const names = existsSync(path) ? readdirSync(path, { recursive: true, encoding: "utf8" }).sort() : [];
  const files = names.filter((name) => name !== "webhookd.lock" && statSync(join(path, name)).isFile());
  return Object.fromEntries(
    files.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(path, name)))
        .digest("hex"),
    ]),
  );
}

describe("webhookd restore", () => {
  it("makes a store of the backup and the passphrase alone, paused, with a key for its admin", async () => {
    const empty = join(temporaryDirectory(), "data");
    const { code, out, err } = await restore([shared.sealed, "--data-dir", empty, "--seal-with", passphraseFile()]);
    expect({ code, err }).toEqual({ code: EXIT.ok, err: "" });
    expect(out).toMatch(/^Restored the backup of 2026-11-20T09:55:00.001Z \(1 event, 1 endpoint\) into /);
    expect(out).toContain("secret.key was sealed in it");
    expect(out).toMatch(/1 delivery is due; the oldest since 2026-11-20T09:55:00.000Z:\n/);
    expect(out).toContain(shared.endpoint);
    expect(out).toContain(`webhookd serve --data-dir ${empty}\n`);
    expect(out).toContain("PAUSED");
    expect(readdirSync(empty).sort()).toEqual(["STORE", "admin.key", "secret.key", "webhookd.db", "webhookd.lock"]);
    expect(readdirSync(empty).map((name) => statSync(join(empty, name)).mode & 0o777)).toEqual(Array(5).fill(0o600));
    expect(readFileSync(join(empty, "secret.key"), "utf8")).toBe(readFileSync(join(dir, "secret.key"), "utf8"));
    const bytes = readFileSync(join(empty, "webhookd.db")).toString("latin1");
    expect(bytes).not.toContain("v1:scrypt");

    const { store, created } = await openStore(optionsOf({ dir: empty, create: false }));
    expect(created).toBe(false);
    expect(await store.operations.getPause()).toMatchObject({
      by: "restore",
      reason: expect.stringContaining(shared.sealed),
    });
    expect((await store.reads.getEvent(null, shared.first))!.status).toBe("pending");
    expect(await store.endpoints.target(shared.endpoint)).toMatchObject({ headers: { "x-api-key": "header-canary" } });
    const token = parseToken(readFileSync(join(empty, "admin.key"), "utf8").trim())!;
    expect(await store.keys.get(token.keyId)).toMatchObject({ scopes: ["admin"], revokedAt: null });
    await store.close();
  });

  it("says when the next delivery is due if none is yet", async () => {
    const own = join(temporaryDirectory(), "data");
    const { store } = await openStore(optionsOf({ dir: own }));
    await addEndpoint(store);
    const { fresh } = await publishOne(store);
    await store.deliveries.record([again(fresh[0]!, Date.parse("9999-01-01T00:00:00Z"))]);
    const { file } = await store.operations.backup({ dir: temporaryDirectory(), mayMake: true, keep: 0 }, START);
    await store.close();
    const { out } = await restore([file, "--data-dir", own, "--yes"]);
    expect(out).toContain("No delivery is due yet; 1 falls due later, from 9999-01-01T00:00:00.000Z:\n");
  });

  it("keeps what was there, with its write-ahead log, and goes back to it", async () => {
    // After kill -9 the newest event is only in the write-ahead log.
    const crashed = temporaryDirectory();
    const store = await open({ dir });
    const third = (await publishOne(store)).id;
    cpSync(dir, crashed, { recursive: true, filter: (name) => !/(lock|pid|-shm)$/.test(name) });
    await store.close();
    expect(statSync(join(crashed, "webhookd.db-wal")).size).toBeGreaterThan(0);
    const adminKey = readFileSync(join(crashed, "admin.key"), "utf8");

    const { code, out } = await restore([shared.plain, "--data-dir", crashed, "--yes"]);
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("The admin key in");
    expect(readFileSync(join(crashed, "admin.key"), "utf8")).toBe(adminKey);
    const restored = await open({ dir: crashed });
    const events = [shared.first, shared.second, third].map((id) => restored.reads.getEvent(null, id));
    expect((await Promise.all(events)).map((event) => event !== null)).toEqual([true, false, false]);
    await restored.close();

    const kept = readdirSync(crashed).filter((name) => name.includes("before-restore"));
    expect(kept.map((name) => name.replace(/\d{8}T\d{9}Z/, "T")).sort()).toEqual([
      "webhookd.db.before-restore-T",
      "webhookd.db.before-restore-T-wal",
    ]);
    const back = await restore([
      join(
        crashed,
        kept.find((name) => name.endsWith("Z"))!,
      ),
      "--data-dir",
      crashed,
      "--yes",
    ]);
    expect({ code: back.code, err: back.err }).toEqual({ code: EXIT.ok, err: "" });
    expect(back.out).toContain("a database that is not a backup");
    const again = await open({ dir: crashed });
    expect(await again.reads.getEvent(null, third)).not.toBeNull();
    expect(await again.operations.getPause()).toMatchObject({ by: "restore" });
  });

  it("goes back to a store that was killed while all of it was still in its write-ahead log", async () => {
    const [source, killed] = [temporaryDirectory(), temporaryDirectory()];
    const store = await open({ dir: source });
    await addEndpoint(store);
    const { id } = await publishOne(store);
    cpSync(source, killed, { recursive: true, filter: (name) => !/(lock|pid|-shm)$/.test(name) });
    await store.close();

    const first = await restore([shared.sealed, "--data-dir", killed, "--seal-with", passphraseFile(), "--yes"]);
    expect(first.code).toBe(EXIT.ok);
    // The restore replaced the key together with the store, so undoing it must bring the key back too.
    const [, undo] = /^To undo: webhookd restore (.+)\n/m.exec(first.out)!;
    const { code, err } = await restore([...undo!.split(" "), "--yes"]);
    expect({ code, err }).toEqual({ code: EXIT.ok, err: "" });
    const again = await open({ dir: killed });
    expect(await again.reads.getEvent(null, id)).not.toBeNull();
    expect(await again.reads.getEvent(null, shared.first)).toBeNull();
    const token = parseToken(readFileSync(join(killed, "admin.key"), "utf8").trim())!;
    expect(await again.keys.get(token.keyId)).toMatchObject({ scopes: ["admin"], revokedAt: null });
  });

  it("names no way back where there was no store", async () => {
    const only = temporaryDirectory();
    copyFileSync(otherKey(), join(only, "secret.key"));
    const { code, out } = await restore([shared.sealed, "--data-dir", only, "--seal-with", passphraseFile()]);
    expect(code).toBe(EXIT.ok);
    expect(out).toContain("secret.key.before-restore-");
    expect(out).not.toContain("To undo");
  });

  it("asks on a terminal before it replaces a store, and for the passphrase where the backup needs it", async () => {
    const other = temporaryDirectory();
    await (await open({ dir: other })).close();
    const { code, io } = await restore([shared.sealed, "--data-dir", other], {
      isTTY: true,
      input: [PASSPHRASE, "yes"],
    });
    expect([code, io.err]).toEqual([EXIT.ok, expect.stringContaining("would replace the store")]);
    expect(io.asked).toEqual([
      { question: "Passphrase: ", hidden: true },
      { question: "Type yes to continue: ", hidden: false },
    ]);
    expect(io.out + io.err).not.toContain(PASSPHRASE);
    // The key of the replaced store is kept as well.
    expect(readdirSync(other).filter((name) => /^(secret|admin)\.key\.before-restore-/.test(name))).toHaveLength(2);
    const store = await open({ dir: other });
    expect(await store.reads.getEvent(null, shared.first)).not.toBeNull();
  });

  it.skipIf(process.getuid?.() !== 0)("by root gives what it makes to the user whose directory it is", async () => {
    const theirs = temporaryDirectory();
    chownSync(theirs, 4242, 4243);
    const words = ["--data-dir", theirs, "--secret-key", join(dir, "secret.key")];
    expect((await restore([shared.plain, ...words])).code).toBe(EXIT.ok);
    const owners = readdirSync(theirs).map((name) => statSync(join(theirs, name)));
    expect(new Set(owners.map(({ uid, gid }) => `${uid}:${gid}`))).toEqual(new Set(["4242:4243"]));
  });

  it("says all of it as JSON", async () => {
    const empty = temporaryDirectory();
    const key = join(dir, "secret.key");
    const { out } = await restore([shared.plain, "--data-dir", empty, "--secret-key", key, "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      backup_at: "2026-11-20T09:55:00.000Z",
      events: 1,
      endpoints: 1,
      secret_key: { file: join(empty, "secret.key"), from: "given" },
      admin_key: { new: true },
      kept: [],
      paused: true,
      due: 1,
      due_by_endpoint: [{ id: shared.endpoint, due: 1, pending: 1 }],
    });
  });
});

type Refusal = readonly [what: string, words: () => string[], code: number, message: string];

const spoilt = (spoil: (file: string) => void) => () => {
  spoil(copy);
  return [copy, "--data-dir", dir, "--yes"];
};
const edit = (sql: string) => (file: string) => {
  const db = new Database(file);
  db.exec(sql);
  db.close();
};
const elsewhere = () => temporaryDirectory();

const REFUSALS: readonly Refusal[] = [
  [
    "a passphrase that is not the one",
    () => [copy, "--data-dir", dir, "--yes", "--seal-with", passphraseFile("another passphrase")],
    EXIT.refused,
    "does not open the secret.key",
  ],
  ["a sealed key and no passphrase", () => [copy, "--data-dir", elsewhere()], EXIT.refused, "--seal-with FILE"],
  ["no key at all", () => [shared.plain, "--data-dir", elsewhere()], EXIT.refused, "--secret-key FILE"],
  [
    "another store's key",
    () => [copy, "--data-dir", elsewhere(), "--secret-key", otherKey()],
    EXIT.refused,
    "is not the key of this backup",
  ],
  [
    "two ways to the key",
    () => [copy, "--data-dir", dir, "--seal-with", "f", "--secret-key", "f"],
    EXIT.usage,
    "Use one",
  ],
  ["no --yes where a store would be replaced", () => [copy, "--data-dir", dir], EXIT.usage, "--yes is missing"],
  ["no such file", () => ["/nonexistent/b.db", "--data-dir", dir, "--yes"], EXIT.not_found, "/nonexistent/b.db"],
  ["a directory", () => ["/tmp", "--data-dir", dir, "--yes"], EXIT.refused, "is not a file"],
  [
    "the store itself",
    () => [join(dir, "webhookd.db"), "--data-dir", dir, "--yes"],
    EXIT.refused,
    "is the store itself",
  ],
  ["an empty file", spoilt((file) => truncateSync(file, 0)), EXIT.data_corrupt, "not a SQLite database"],
  [
    "a backup that was cut short",
    spoilt((file) => truncateSync(file, 5 * 8192)),
    EXIT.data_corrupt,
    "damaged\n  choose another backup",
  ],
  ["a backup that is damaged inside", spoilt(damage), EXIT.data_corrupt, "damaged"],
  [
    "another program's database",
    spoilt(edit("PRAGMA application_id = 7")),
    EXIT.data_corrupt,
    "not a webhookd database",
  ],
  [
    "a backup of a newer version",
    spoilt(edit(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)),
    EXIT.data_corrupt,
    `schema ${SCHEMA_VERSION + 1}`,
  ],
  [
    "another database's log beside it",
    spoilt((file) => writeFileSync(`${file}-wal`, "x".repeat(40_000))),
    EXIT.refused,
    "move it away",
  ],
  [
    "a directory that cannot be written",
    () => [copy, "--data-dir", "/proc/webhookd"],
    EXIT.storage_failed,
    "/proc/webhookd",
  ],
];

describe("webhookd restore changes nothing", () => {
  it.each(REFUSALS)("with %s", async (_, words, expected, message) => {
    const line = words();
    const target = line[line.indexOf("--data-dir") + 1]!;
    const before = [stateOf(dir), stateOf(target)];
    const { code, out, err } = await restore(line);
    expect({ code, out, err }).toEqual({ code: expected, out: "", err: expect.stringContaining(message) });
    expect(err).toMatch(/^webhookd: .+\n {2}./);
    expect([stateOf(dir), stateOf(target)]).toEqual(before);
    expect(err).not.toContain(PASSPHRASE);
  });

  it("and leaves no directory that was not there", async () => {
    const place = temporaryDirectory();
    const there = ["--data-dir", join(place, "data", "webhookd")];
    expect((await restore([shared.plain, ...there])).code).toBe(EXIT.refused);
    expect(readdirSync(place)).toEqual([]);
    expect((await restore([shared.sealed, ...there, "--seal-with", passphraseFile(PASSPHRASE)])).code).toBe(EXIT.ok);
    expect(readdirSync(join(place, "data", "webhookd"))).toContain("webhookd.db");
  });

  it("while a daemon has the directory", async () => {
    const store = await open({ dir });
    const { code, err } = await restore([shared.plain, "--data-dir", dir, "--yes"]);
    expect([code, err]).toEqual([EXIT.data_held, expect.stringContaining(`process ${process.pid}`)]);
    expect(await store.reads.getEvent(null, shared.second)).not.toBeNull();
  });

  it.each([["no"], []])("when the answer is %j", async (...input) => {
    const before = stateOf(dir);
    const { code, out } = await restore([shared.plain, "--data-dir", dir], { isTTY: true, input });
    expect({ code, out }).toEqual({ code: EXIT.refused, out: "" });
    expect(stateOf(dir)).toEqual(before);
  });
});

describe("webhookd backup --offline", () => {
  it("makes one of the data directory, under its lock, which can be restored", async () => {
    const io = new FakeIo();
    const words = ["--offline", "--data-dir", dir, "--seal-with", passphraseFile()];
    expect(await webhookd(io, "backup", ...words)).toBe(EXIT.ok);
    expect(io.err).toContain("2 events and 1 endpoint, ");
    const file = io.out.trim();
    expect(file.startsWith(join(dir, "backups", "webhookd-"))).toBe(true);
    const empty = temporaryDirectory();
    expect((await restore([file, "--data-dir", empty, "--seal-with", passphraseFile()])).code).toBe(EXIT.ok);
    expect(await (await open({ dir: empty })).reads.getEvent(null, shared.second)).not.toBeNull();
  });

  it("is refused while a daemon has it, of no store, and together with what names a daemon", async () => {
    await open({ dir });
    const held = new FakeIo();
    expect(await webhookd(held, "backup", "--offline", "--data-dir", dir)).toBe(EXIT.data_held);
    const none = join(temporaryDirectory(), "none");
    expect(await webhookd(new FakeIo(), "backup", "--offline", "--data-dir", none)).toBe(EXIT.refused);
    expect(existsSync(none)).toBe(false);
    for (const words of [
      ["--offline", "--url", "http://127.0.0.1:1"],
      ["--data-dir", dir],
    ]) {
      const io = new FakeIo();
      expect(await webhookd(io, "backup", ...words)).toBe(EXIT.usage);
      expect(io.err).toContain("Nothing was done");
    }
  });
});

describe("webhookd migrate", () => {
  it("says that nothing is to be done, and does nothing", async () => {
    for (const words of [[], ["--status"], ["--dry-run"]]) {
      const io = new FakeIo();
      expect(await webhookd(io, "migrate", "--data-dir", dir, ...words)).toBe(EXIT.ok);
      expect(io.out).toBe(
        `The store has schema ${SCHEMA_VERSION}, which is what this version needs. Nothing to migrate.\n`,
      );
    }
    expect(existsSync(join(dir, "backups"))).toBe(false);
  });

  it("is refused where there is no store, where a daemon runs, and of a newer version, which it says how to leave", async () => {
    const run = async (data: string) => {
      const io = new FakeIo();
      return [await webhookd(io, "migrate", "--data-dir", data), io.err];
    };
    expect(await run("/nonexistent/data")).toEqual([EXIT.refused, expect.stringContaining("there is no store")]);
    expect(await run(temporaryDirectory())).toEqual([EXIT.refused, expect.stringContaining("there is no store")]);
    const store = await open({ dir });
    expect((await run(dir))[0]).toBe(EXIT.data_held);
    await store.close();
    edit("PRAGMA user_version = 41")(join(dir, "webhookd.db"));
    expect(await run(dir)).toEqual([
      EXIT.data_corrupt,
      expect.stringMatching(/schema 41.*\n.*webhookd restore <file>/),
    ]);
  });
});

it.each(["migrate", "compact", "secrets rekey", "secrets reissue --yes"])(
  "webhookd %s distinguishes a lost database from one that never existed",
  async (words) => {
    rmSync(join(dir, "webhookd.db"));
    const io = new FakeIo();
    expect(await webhookd(io, ...words.split(" "), "--data-dir", dir)).toBe(EXIT.data_corrupt);
    expect(io.err).toContain("is missing or empty\n  restore a backup");
  },
);

describe("webhookd compact", () => {
  it("says what the database takes up by then, and is refused while a daemon runs", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "compact", "--data-dir", dir)).toBe(EXIT.ok);
    expect(io.out).toMatch(/^The database takes up \d+ KiB on the disk; before, it took up \d+ KiB\.\n$/);
    const json = new FakeIo();
    expect(await webhookd(json, "compact", "--data-dir", dir, "--json")).toBe(EXIT.ok);
    expect(JSON.parse(json.out)).toEqual({ bytes_before: expect.any(Number), bytes_after: expect.any(Number) });
    const store = await open({ dir });
    expect((await store.reads.getEvent(null, shared.second))!.id).toBe(shared.second);
    expect(await webhookd(new FakeIo(), "compact", "--data-dir", dir)).toBe(EXIT.data_held);
  });
});

function damage(file: string): void {
  const bytes = readFileSync(file);
  for (let page = 3; page < bytes.length / 8192; page++) bytes.fill(0xff, page * 8192, page * 8192 + 64);
  writeFileSync(file, bytes);
}

function otherKey(): string {
  const file = join(temporaryDirectory(), "secret.key");
  writeFileSync(file, "ab".repeat(32), { mode: 0o600 });
  return file;
}
