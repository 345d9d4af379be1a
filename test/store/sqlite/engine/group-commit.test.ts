import { statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Clock } from "../../../../src/clock.ts";
import { Condition } from "../../../../src/store/sqlite/engine/condition.ts";
import { GroupCommit } from "../../../../src/store/sqlite/engine/group-commit.ts";
import { Log } from "../../../../src/store/sqlite/engine/engine.ts";
import { onPrepare, sqliteError } from "../../../harness/prepared.ts";
import { temporaryDirectory } from "../../stores.ts";

/** A clock whose turns and timers run when the test says so. */
class Stage implements Clock {
  time = 1000;
  turns: (() => void)[] = [];
  timers: { at: number; run: () => void }[] = [];
  now = () => this.time;
  monotonic = () => this.time;
  uptime = () => this.time;
  nextTurn = (run: () => void) => void this.turns.push(run);
  after = (delayMs: number, run: () => void) => {
    const timer = { at: this.time + delayMs, run };
    this.timers.push(timer);
    return () => void (this.timers = this.timers.filter((other) => other !== timer));
  };

  turn(): void {
    for (const run of this.turns.splice(0)) run();
  }

  pass(ms: number): void {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.run();
  }
}

const plenty = async () => ({ bavail: 1e6, bsize: 4096 });

function failToSync(): never {
  throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
}

let db: Database.Database;
let file: string;
let stage: Stage;
let commit: GroupCommit;
let condition: Condition;
let faults: Error[];
/** Runs in place of COMMIT. */
let failing: ((commit: () => void) => void) | null;
let begun: number;
let undone: number;
let isLogFull: boolean;
/** The number of pages in the log. */
let pages: number;
/** Counts how often the log was moved into the database. */
let moved: number;
let onMove: () => void;

beforeEach(() => {
  file = join(temporaryDirectory(), "x.db");
  failing = null;
  const detach = onPrepare(file, (sql, make) => {
    const made = make() as Database.Statement<[]>;
    if (sql !== "COMMIT") return made;
    const commit = () => void made.run();
    return { run: () => (failing ?? ((real) => real()))(commit) } as never;
  });
  db = new Database(file);
  onTestFinished(() => void db.close());
  onTestFinished(detach);
  db.exec("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT");
  stage = new Stage();
  faults = [];
  begun = undone = moved = pages = 0;
  isLogFull = false;
  onMove = () => {};
  condition = new Condition(db, { dir: ".", floorBytes: 0, statfs: plenty, onFault: (error) => faults.push(error) });
  commit = new GroupCommit(db, {
    clock: stage,
    condition,
    defer: stage.nextTurn,
    shares: new Map([["three", { weight: 3, ratePerSecond: null, maxPending: null }]]),
    log: {
      isFull: (full = 500) => isLogFull || pages >= full,
      move: () => {
        onMove();
        isLogFull = false;
        pages = 0;
        moved++;
      },
    },
    onBegin: () => begun++,
    onEnd: () => {},
    onRollback: () => undone++,
  });
});

const add = (a: number) => () => Number(db.prepare("INSERT INTO t (a) VALUES (?)").run(a).lastInsertRowid);
const rows = () => db.prepare("SELECT a FROM t ORDER BY a").pluck().all();
const event = { events: 1, deliveries: 1 };
const result = { events: 0, deliveries: 1, patient: true };

describe("group commit", () => {
  it("commits all of a turn in one transaction and answers each with its own result", async () => {
    const answers = Promise.all([commit.run(add(1)), commit.run(add(2)), commit.run(add(3))]);
    expect(rows()).toEqual([]);
    stage.turn();
    expect(await answers).toEqual([1, 2, 3]);
    expect(begun).toBe(1);
  });

  it("answers nothing before the commit", async () => {
    let answered = false;
    const writing = commit.run(() => void expect(answered).toBe(false)).then(() => (answered = true));
    await Promise.resolve();
    expect(answered).toBe(false);
    stage.turn();
    await writing;
    expect(db.inTransaction).toBe(false);
  });

  it("waits a moment for company only right after a commit", async () => {
    const first = commit.run(add(1), event);
    stage.turn();
    await first;
    stage.pass(0.5);
    const second = commit.run(add(2), event);
    expect({ turns: stage.turns.length, timers: stage.timers.map(({ at }) => at - stage.time) }).toEqual({
      turns: 0,
      timers: [1.5],
    });
    stage.pass(1.5);
    await second;
    stage.pass(2);
    const third = commit.run(add(3), event);
    expect(stage.turns).toHaveLength(1);
    stage.turn();
    await third;
  });

  it("moves a full log in a turn of its own, when what was committed is answered", async () => {
    isLogFull = true;
    const first = commit.run(add(1), event);
    stage.turn();
    await first;
    expect(moved).toBe(0);
    stage.turn();
    expect({ moved, turns: stage.turns.length, timers: stage.timers.length }).toEqual({
      moved: 1,
      turns: 0,
      timers: 0,
    });
  });

  it("lets one small commit go before a full log is moved, and no large one", async () => {
    const batch = { events: 100, deliveries: 100, published: { tenant: "flood", bytes: 3 * 1024 * 1024 } };
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1024 } };
    isLogFull = true;
    const flood = [commit.run(add(1), batch), commit.run(add(2), batch)];
    stage.turn();
    const victims = [commit.run(add(3), small)];
    stage.turn();
    expect({ rows: rows(), moved }).toEqual({ rows: [1, 3], moved: 0 });
    victims.push(commit.run(add(4), small));
    stage.turn();
    stage.turn();
    expect({ rows: rows(), moved }).toEqual({ rows: [1, 3], moved: 1 });
    isLogFull = true;
    stage.turn();
    expect(rows()).toEqual([1, 3, 4]);
    stage.turn();
    stage.turn();
    expect({ rows: rows(), moved }).toEqual({ rows: [1, 3, 4], moved: 2 });
    stage.turn();
    expect(rows()).toEqual([1, 2, 3, 4]);
    await Promise.all([...flood, ...victims]);
  });

  it("lets what was published be sent before it commits a large batch, and before it moves the log", async () => {
    const sent: object[] = [];
    const publish = async (a: number) => {
      await commit.run(add(a), { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1024 } });
      // Senders write in the next turn too.
      stage.nextTurn(() => sent.push({ rows: rows(), moved }));
    };
    const turns = async () => {
      for (; stage.turns.length > 0; await new Promise((resolve) => setImmediate(resolve))) stage.turn();
    };
    const first = [publish(1), commit.run(add(2), batch("flood"))];
    await turns();
    await Promise.all(first);
    stage.pass(2);
    isLogFull = true;
    const second = publish(3);
    await turns();
    await second;
    expect({ sent, moved }).toEqual({
      sent: [
        { rows: [1], moved: 0 },
        { rows: [1, 2, 3], moved: 0 },
      ],
      moved: 1,
    });
  });

  it("holds up a large batch for one turn, however much the daemon writes of its own", async () => {
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1024 } };
    const all = [commit.run(add(1), small), commit.run(add(2), batch("flood"))];
    for (const own of [3, 4]) {
      stage.turn();
      all.push(commit.run(add(own)));
    }
    stage.turn();
    expect(rows()).toEqual([1, 2, 3, 4]);
    await Promise.all(all);
  });

  it("commits what is large beside small publishes that never end", async () => {
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 30_000 } };
    const large = { events: 100, deliveries: 100, published: { tenant: "flood", bytes: 300_000 } };
    const all = [commit.run(add(0), small)];
    stage.turn();
    all.push(commit.run(add(1000), large));
    for (let at = 1; at <= 6; at++) {
      all.push(commit.run(add(at), small));
      stage.pass(10);
      stage.turn();
    }
    expect(rows()).toContain(1000);
    for (let left = 6; left > 0; left--) stage.turn();
    await Promise.all(all);
  });

  it("lets pieces that are large share a commit while nobody else publishes, and no longer than that", async () => {
    const large = { events: 0, deliveries: 0, published: { tenant: "flood", bytes: 200_000 } };
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1024 } };
    const alone = [1, 2, 3].map((at) => commit.run(add(at), large));
    stage.turn();
    await Promise.all(alone);
    expect(begun).toBe(1);
    const first = commit.run(add(10), small);
    stage.pass(10);
    stage.turn();
    await first;
    const before = begun;
    const beside = [11, 12, 13].map((at) => commit.run(add(at), large));
    for (let left = 8; left > 0; left--) stage.turn();
    await Promise.all(beside);
    expect(begun - before).toBe(3);
  });

  it("moves what a large batch added to the log before the next one", async () => {
    const large = { events: 100, deliveries: 100, published: { tenant: "flood", bytes: 3 * 1024 * 1024 } };
    const small = { events: 100, deliveries: 100, published: { tenant: "flood", bytes: 100 * 1024 } };
    const write = (added: number) => () => void (pages += added);
    const flood = [write(13), write(400), write(400)].map((work, at) => commit.run(work, at === 0 ? small : large));
    const seen = [];
    while (stage.turns.length > 0) {
      stage.turn();
      seen.push({ pages, moved });
    }
    await Promise.all(flood);
    expect(seen).toEqual([
      { pages: 13, moved: 0 },
      { pages: 13, moved: 0 },
      { pages: 413, moved: 0 },
      { pages: 0, moved: 1 },
      { pages: 400, moved: 1 },
      { pages: 0, moved: 2 },
    ]);
  });

  describe("beside a tenant that publishes, a large batch", () => {
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1024 } };
    /** Each batch takes 8 ms, and the log's move after it 4. */
    const batchesAfter = async (publishes: readonly (() => Promise<unknown>)[], tenant = "flood") => {
      isLogFull = false;
      for (const publish of publishes) {
        const done = publish();
        stage.turn();
        stage.pass(2);
        await done;
      }
      const ends: number[] = [];
      const large = Array.from({ length: 3 }, () =>
        commit.run(() => {
          stage.time += 8;
          isLogFull = true;
          ends.push(stage.time - begunAt);
        }, batch(tenant)),
      );
      const begunAt = stage.time;
      for (let step = 0; ends.length < 3 && step < 200; step++) {
        stage.turn();
        if (stage.turns.length === 0) stage.pass(1);
      }
      await Promise.all(large);
      return ends;
    };
    const settle = async () => {
      for (; stage.turns.length + stage.timers.length > 0; await Promise.resolve()) {
        stage.turn();
        if (stage.turns.length === 0) stage.pass(1);
      }
    };
    beforeEach(() => {
      onMove = () => void (stage.time += 4);
    });

    it("waits for as long as the one before it, and its move, took", async () => {
      expect(await batchesAfter([() => commit.run(add(1), small)])).toEqual([8, 32, 56]);
    });

    it("waits by the weight of its tenant", async () => {
      expect(await batchesAfter([() => commit.run(add(1), small)], "three")).toEqual([8, 24, 40]);
    });

    it("does not wait if nobody else published in the last second", async () => {
      expect(await batchesAfter([])).toEqual([8, 20, 32]);
      await settle();
      const own = { ...small, published: { tenant: "flood", bytes: 1024 } };
      expect(await batchesAfter([() => commit.run(add(1), own)])).toEqual([8, 20, 32]);
      await settle();
      const other = commit.run(add(2), small);
      await settle();
      await other;
      stage.pass(1001);
      expect(await batchesAfter([])).toEqual([8, 20, 32]);
    });

    it("lets others publish meanwhile, even if it is its turn", async () => {
      const kilobytes = { ...small, published: { tenant: "victim", bytes: 100 * 1024 } };
      const all: Promise<unknown>[] = [commit.run(add(1), kilobytes)];
      await settle();
      const order: string[] = [];
      const write = (name: string, ms: number) => () => {
        stage.time += ms;
        order.push(name);
      };
      all.push(...["one", "two"].map((name) => commit.run(write(name, 8), batch(name))));
      stage.turn();
      all.push(commit.run(write("victim", 1), kilobytes), commit.run(write("victim", 1), kilobytes));
      await settle();
      await Promise.all(all);
      expect(order).toEqual(["one", "victim", "victim", "two"]);
    });
  });

  it("lets many results wait 5 ms for an event to ride with", async () => {
    const many = Array.from({ length: 16 }, (_, at) => commit.run(add(at), result));
    stage.pass(4.9);
    expect({ turns: stage.turns.length, begun }).toEqual({ turns: 0, begun: 0 });
    stage.pass(0.1);
    await Promise.all(many);
    expect(begun).toBe(1);
  });

  it("lets a few results wait 50 ms for an event to ride with", async () => {
    const alone = commit.run(add(1), result);
    stage.pass(49.9);
    expect({ turns: stage.turns.length, begun }).toEqual({ turns: 0, begun: 0 });
    stage.pass(0.1);
    await alone;
    stage.pass(10);
    const riding = [commit.run(add(2), result), commit.run(add(3), event)];
    stage.turn();
    await Promise.all(riding);
    expect({ begun, timers: stage.timers }).toEqual({ begun: 2, timers: [] });
  });

  it("holds at most 256 events or 5,000 deliveries, but takes one larger request whole", async () => {
    const sizes = [
      { events: 200, deliveries: 1 },
      { events: 57, deliveries: 1 },
      { events: 1, deliveries: 5001 },
      { events: 1, deliveries: 1 },
    ];
    const order: number[] = [];
    const all = Promise.all(sizes.map((size, index) => commit.run(() => order.push(index), size)));
    const transactions: number[] = [];
    while (stage.turns.length > 0) {
      stage.turn();
      transactions.push(order.length);
    }
    await all;
    expect(transactions).toEqual([1, 2, 3, 4]);
    expect(order).toEqual([0, 1, 2, 3]);
  });

  const batch = (tenant: string, bytes = 3_000_000) => ({ events: 100, deliveries: 100, published: { tenant, bytes } });

  it("commits a publish of one tenant within two commits, whatever another has waiting", async () => {
    const committed: string[] = [];
    const write = (name: string) => () => void committed.push(name);
    const flood = Array.from({ length: 100 }, () => commit.run(write("flood"), batch("flood")));
    for (let at = 0; at < 5; at++) stage.turn();
    const small = { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1000 } };
    const victims = Array.from({ length: 50 }, () => commit.run(write("victim"), small));
    const before = begun;
    stage.turn();
    await Promise.all(victims);
    expect({ commits: begun - before, flooded: committed.filter((name) => name === "flood").length }).toEqual({
      commits: 1,
      flooded: 5,
    });
    commit.flush();
    await Promise.all(flood);
    expect(begun - before).toBe(96);
  });

  it("shares commits out by the weights of tenants, and by bytes", async () => {
    const committed: string[] = [];
    const write = (name: string) => () => void committed.push(name);
    const all = ["one", "three"].flatMap((tenant) =>
      Array.from({ length: 40 }, () => commit.run(write(tenant), batch(tenant))),
    );
    for (let at = 0; at < 40; at++) stage.turn();
    expect(committed.filter((name) => name === "three")).toHaveLength(30);
    commit.flush();
    await Promise.all(all);
  });

  it("commits no more than 1,000 results at once, so that a publish waits for no more of them", async () => {
    const before = begun;
    const results = Array.from({ length: 30 }, (_, at) => commit.run(add(at), { events: 0, deliveries: 100 }));
    const publish = commit.run(add(100), { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1000 } });
    stage.turn();
    await publish;
    expect({ begun: begun - before, rows: rows().length }).toEqual({ begun: 1, rows: 11 });
    while (stage.turns.length > 0) stage.turn();
    await Promise.all(results);
    expect(begun - before).toBe(3);
  });

  it("lets neither a flood of publishes nor the daemon's own work keep the other waiting", async () => {
    const order: string[] = [];
    const large = { events: 0, deliveries: 5000 };
    const all = Array.from({ length: 3 }, (_, at) => [
      commit.run(() => order.push(`publish ${at}`), batch("flood")),
      commit.run(() => order.push(`own ${at}`), large),
    ]).flat();
    while (stage.turns.length > 0) stage.turn();
    await Promise.all(all);
    expect(order).toEqual(["own 0", "publish 0", "own 1", "publish 1", "own 2", "publish 2"]);
  });

  it("undoes all of a large batch when its commit fails, and nothing of the others'", async () => {
    const many = () => {
      for (let a = 10; a < 500; a++) add(a)();
    };
    const victim = commit.run(add(1), { events: 1, deliveries: 1, published: { tenant: "victim", bytes: 1000 } });
    const flood = commit.run(many, batch("flood"));
    stage.turn();
    expect([await victim, rows()]).toEqual([1, [1]]);
    failing = () => {
      throw sqliteError("SQLITE_BUSY");
    };
    stage.turn();
    stage.turn();
    await expect(flood).rejects.toMatchObject({ code: "storage_unavailable" });
    expect({ rows: rows(), open: db.inTransaction }).toEqual({ rows: [1], open: false });
  });

  it("does not wait for company when it has enough", async () => {
    const first = commit.run(add(1), event);
    stage.turn();
    await first;
    const many = commit.run(add(2), { events: 256, deliveries: 256 });
    expect(stage.turns).toHaveLength(1);
    stage.turn();
    await many;
  });

  it("refuses only the one that threw, and the others are committed", async () => {
    const faulty = () => {
      add(2)();
      throw new Error("a bug");
    };
    const answers = Promise.allSettled([commit.run(add(1)), commit.run(faulty), commit.run(add(3))]);
    stage.turn();
    expect(await answers).toMatchObject([{ value: 1 }, { reason: { message: "a bug" } }, { value: 3 }]);
    expect(rows()).toEqual([1, 3]);
    expect({ undone, state: condition.state }).toEqual({ undone: 2, state: "ready" });
  });

  it("refuses all of a transaction when the disk is full, until there is space again", async () => {
    db.pragma(`max_page_count = ${Math.ceil(statSync(file).size / 4096) + 2}`);
    const large = () => db.prepare("INSERT INTO t VALUES (?, ?)").run(5, "x".repeat(100_000));
    const answers = Promise.allSettled([commit.run(add(1)), commit.run(large)]);
    stage.turn();
    expect(await answers).toMatchObject([{ reason: { code: "storage_full" } }, { reason: { code: "storage_full" } }]);
    expect({ rows: rows(), state: condition.state, faults }).toEqual({ rows: [], state: "disk_full", faults: [] });
    expect(() => condition.requireSpace()).toThrow("storage_full");
    await condition.look();
    expect(condition.state).toBe("ready");
    stage.pass(10);
    const small = commit.run(add(1));
    stage.turn();
    await small;
  });

  it("ends with the first error after which nothing is known of the disk", async () => {
    const answers = Promise.allSettled([commit.run(add(1)), commit.run(failToSync)]);
    stage.turn();
    expect(await answers).toMatchObject([
      { reason: { code: "storage_unavailable" } },
      { reason: { code: "storage_unavailable" } },
    ]);
    expect(faults).toMatchObject([{ code: "SQLITE_IOERR_FSYNC" }]);
    stage.pass(10);
    const later = commit.run(add(2));
    stage.turn();
    await expect(later).rejects.toMatchObject({ code: "storage_unavailable" });
    expect({ faults: faults.length, state: condition.state, rows: rows() }).toEqual({
      faults: 1,
      state: "store_unavailable",
      rows: [],
    });
  });

  it.each(["SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR_WRITE"])(
    "answers nobody with success, and undoes everything, when the COMMIT itself fails: %s",
    async (code) => {
      failing = () => {
        throw sqliteError(code);
      };
      const answers = Promise.allSettled([commit.run(add(1)), commit.run(add(2)), commit.run(add(3))]);
      stage.turn();
      const expected = code === "SQLITE_FULL" ? "storage_full" : "storage_unavailable";
      const refused = { status: "rejected", reason: { code: expected } };
      expect(await answers).toMatchObject([refused, refused, refused]);
      expect({ undone, rows: rows(), open: db.inTransaction }).toEqual({ undone: 1, rows: [], open: false });
      if (code === "SQLITE_IOERR_WRITE") return;
      failing = null;
      stage.pass(10);
      const later = commit.run(add(1));
      stage.turn();
      expect(await later).toBe(1);
    },
  );

  it("answers nobody with success when the COMMIT says that it failed after it took effect", async () => {
    failing = (commit) => {
      commit();
      throw sqliteError("SQLITE_IOERR_FSYNC");
    };
    const answers = Promise.allSettled([commit.run(add(1)), commit.run(add(2))]);
    stage.turn();
    const refused = { reason: { code: "storage_unavailable" } };
    expect(await answers).toMatchObject([refused, refused]);
    expect({ undone, rows: rows(), faults: faults.length }).toEqual({ undone: 1, rows: [1, 2], faults: 1 });
  });

  it.each(["EDQUOT", "ENOSPC", "EFBIG"])(
    "takes a write that fails for a full disk, where the system then refuses more with %s",
    (code) => {
      const options = { dir: ".", floorBytes: 0, statfs: plenty, onFault: (error: Error) => faults.push(error) };
      const probed = new Condition(db, { ...options, probe: () => code });
      expect(probed.failed(sqliteError("SQLITE_IOERR_WRITE"))).toMatchObject({ code: "storage_full" });
      expect({ state: probed.state, faults }).toEqual({ state: "disk_full", faults: [] });
      // After a failed sync nothing is known about the disk, whether or not a quota caused it.
      expect(probed.failed(sqliteError("SQLITE_IOERR_FSYNC"))).toMatchObject({ code: "storage_unavailable" });
      expect(faults).toMatchObject([{ code: "SQLITE_IOERR_FSYNC" }]);
    },
  );

  it("takes a write that fails for a broken disk, where the system takes more", () => {
    expect(condition.failed(sqliteError("SQLITE_IOERR_WRITE"))).toMatchObject({ code: "storage_unavailable" });
    expect(faults).toMatchObject([{ code: "SQLITE_IOERR_WRITE" }]);
  });

  it("acknowledges nothing that it would not sync, should anything weaken the database after it was opened", async () => {
    const before = commit.run(add(1));
    stage.turn();
    await before;
    db.pragma("synchronous = NORMAL");
    stage.pass(10);
    const refused = commit.run(add(2));
    stage.turn();
    await expect(refused).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(rows()).toEqual([1]);
    expect(faults).toMatchObject([{ exitCode: 74, message: expect.stringContaining("synchronous=FULL") }]);
  });

  it("outlasts another program's write lock", async () => {
    db.pragma("busy_timeout = 0");
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    const refused = commit.run(add(1));
    stage.turn();
    await expect(refused).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(condition.state).toBe("store_unavailable");
    other.close();
    stage.pass(10);
    const taken = commit.run(add(1));
    stage.turn();
    await taken;
    expect({ state: condition.state, faults }).toEqual({ state: "ready", faults: [] });
  });
});

describe("a full log", () => {
  it("that the disk does not let be moved ends nothing, and is moved later", () => {
    db.pragma("journal_mode = WAL");
    db.pragma("wal_autocheckpoint = 0");
    let full = true;
    const detachLog = onPrepare(file, (sql, make) => {
      const made = make() as Database.Statement<[]>;
      if (!sql.includes("PASSIVE")) return made;
      return { get: () => (full ? failFull() : made.get()) } as never;
    });
    onTestFinished(detachLog);
    const log = new Log(db, () => condition.requireUsable());
    for (let at = 0; at < 3; at++) add(at)();
    expect([log.isFull(3), log.isFull()]).toEqual([true, false]);
    log.move();
    expect(log.isFull(3)).toBe(true);
    full = false;
    log.move();
    expect(log.isFull(3)).toBe(false);
  });
});

function failFull(): never {
  throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
}
