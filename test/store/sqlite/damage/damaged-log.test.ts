import { closeSync, copyFileSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Sqlite, { type Database } from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import { lookForLostLog } from "../../../../src/store/sqlite/damage/damaged-log.ts";
import { Random } from "../../../sim/random.ts";
import { temporaryDirectory } from "../../stores.ts";

const HEADER = 32;
const FRAME = 24 + 8192;

let dir: string;
let db: Database;
beforeEach(() => {
  dir = temporaryDirectory();
  db = new Sqlite(join(dir, "a.db"));
  db.pragma("page_size = 8192");
  db.pragma("journal_mode = WAL");
  db.pragma("wal_autocheckpoint = 0");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)");
});

/** Each commit writes a few pages. */
function commit(times: number): void {
  const insert = db.prepare("INSERT INTO t (x) VALUES (zeroblob(9000))");
  for (let done = 0; done < times; done++) insert.run();
}

/** Copies the log as a kill would leave it, changes the copy with `spoil`, and returns what is found in it. */
function found(spoil: (log: Buffer, frames: number) => Buffer | void = () => {}, sameBoot = false) {
  const left = join(dir, "left-wal");
  copyFileSync(join(dir, "a.db-wal"), left);
  const bytes = readFileSync(left);
  writeFileSync(left, spoil(bytes, (bytes.length - HEADER) / FRAME) ?? bytes);
  return lookForLostLog(left, { sameBoot });
}

const frameAt = (place: number) => HEADER + place * FRAME;
/** Flips a bit in the page of this frame. */
const flip = (place: number) => (log: Buffer) => void (log[frameAt(place) + 24 + 100]! ^= 1);
const zero = (place: number) => (log: Buffer) => void log.fill(0, frameAt(place), frameAt(place + 1));

describe("a write-ahead log", () => {
  it("that is whole has lost nothing, however it was cut at its end", () => {
    commit(5);
    for (const sameBoot of [false, true]) {
      expect(found(() => {}, sameBoot)).toBeNull();
      // A kill or a power cut may cut off the last transaction anywhere.
      for (let cut = 1; cut < 3 * FRAME; cut += 1021) {
        expect(
          found((log) => log.subarray(0, log.length - cut), sameBoot),
          String(cut),
        ).toBeNull();
      }
    }
    expect(lookForLostLog(join(dir, "none"), { sameBoot: true })).toBeNull();
    const zeros = join(dir, "zeros");
    writeFileSync(zeros, "");
    truncateSync(zeros, 1024 * 1024);
    expect(lookForLostLog(zeros, { sameBoot: true })).toBeNull();
  });

  it("that lacks pages of its last transaction is what a power cut leaves", () => {
    commit(3);
    const before = readFileSync(join(dir, "a.db-wal")).length;
    db.transaction(() => commit(6))();
    const frames = (readFileSync(join(dir, "a.db-wal")).length - HEADER) / FRAME;
    for (let place = (before - HEADER) / FRAME; place < frames; place++) {
      expect(found(zero(place)), String(place)).toBeNull();
      expect(found((log) => void log.fill(7, frameAt(place) + 24, frameAt(place) + 4096))).toBeNull();
    }
    // Without a power cut, the commit means that all pages were written.
    expect(found(flip(frames - 2), true)).toMatchObject({ transactions: 1 });
    expect(found(flip(frames - 1), true)).toMatchObject({ transactions: 1 });
  });

  it("with a bad page says how many transactions SQLite does not take", () => {
    commit(10);
    const rows = (file: string) => {
      const copy = new Sqlite(file);
      try {
        return copy.prepare("SELECT count(*) FROM t").pluck().get() as number;
      } finally {
        copy.close();
      }
    };
    const log = readFileSync(join(dir, "a.db-wal"));
    const frames = (log.length - HEADER) / FRAME;
    // The first frames create the table itself.
    for (let place = 4; place < frames; place++) {
      const name = join(dir, `copy-${place}.db`);
      copyFileSync(join(dir, "a.db"), name);
      const spoilt = Buffer.from(log);
      flip(place)(spoilt);
      writeFileSync(`${name}-wal`, spoilt);
      const lost = lookForLostLog(`${name}-wal`, { sameBoot: true });
      expect(lost?.transactions, String(place)).toBe(10 - rows(name));
      expect(lost!.pages).toBeGreaterThanOrEqual(frames - place);
    }
  });

  it.each([
    ["salts of one frame", (log: Buffer) => void (log[frameAt(6) + 9]! ^= 1)],
    ["several frames", (log: Buffer) => void log.fill(0, frameAt(5), frameAt(8))],
    ["its header's checksum", (log: Buffer) => void (log[25]! ^= 1)],
    ["its header's salts", (log: Buffer) => void (log[17]! ^= 1)],
    ["its magic number", (log: Buffer) => void log.write("none", 0)],
    ["its header's page size", (log: Buffer) => void log.writeUInt32BE(0, 8)],
  ])("with damage to %s says so, after a power cut, too", (_, spoil) => {
    commit(10);
    expect(found(spoil)!.transactions).toBeGreaterThanOrEqual(2);
  });

  it("holds frames of the rounds before behind its end, which are in the database", () => {
    commit(20);
    db.pragma("wal_checkpoint(RESTART)");
    commit(1);
    for (const sameBoot of [false, true]) {
      expect(found(() => {}, sameBoot)).toBeNull();
      expect(found(zero(2))).toBeNull();
    }
  });

  it("may hold pages of a transaction that was undone, with no commit among them", () => {
    db.pragma("cache_size = 10");
    const undone = new Error("undone");
    expect(() =>
      db.transaction(() => {
        commit(300);
        throw undone;
      })(),
    ).toThrow(undone);
    for (const sameBoot of [false, true]) expect(found(() => {}, sameBoot)).toBeNull();
    commit(1);
    for (const sameBoot of [false, true]) expect(found(() => {}, sameBoot)).toBeNull();
  });

  it("never raises a false alarm at a power cut, whatever is there of the last transaction", () => {
    const random = new Random(5);
    commit(4);
    for (let round = 0; round < 40; round++) {
      if (round % 7 === 3) db.pragma("wal_checkpoint(RESTART)");
      const old = readFileSync(join(dir, "a.db-wal"));
      db.transaction(() => commit(1 + Math.floor(random.next() * 8)))();
      const next = readFileSync(join(dir, "a.db-wal"));
      // Each sector on the disk has its old or its new content.
      const mixed = Buffer.alloc(next.length);
      old.copy(mixed);
      for (let sector = 0; sector < next.length; sector += 512) {
        if (random.next() < 0.5) next.copy(mixed, sector, sector, sector + 512);
      }
      // SQLite syncs the header of a new log before it writes a page behind it.
      next.copy(mixed, 0, 0, HEADER);
      const file = join(dir, "mixed-wal");
      const fd = openSync(file, "w");
      writeSync(fd, mixed);
      closeSync(fd);
      expect(lookForLostLog(file, { sameBoot: false }), String(round)).toBeNull();
    }
  });
});
