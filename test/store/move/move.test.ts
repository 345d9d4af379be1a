/**
 * A store that moves between the file and PostgreSQL: everything arrives, continues where it was, and is in one place
 * only.
 */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, describe, expect, it, vi } from "vitest";
import { MIGRATIONS } from "../../../src/store/sqlite/engine/schema.ts";
import { applySteps } from "../../../src/store/sqlite/engine/open-database.ts";
import { FULL } from "../../../src/store/move/file-log.ts";
import { FULL as FULL_DATABASE } from "../../../src/store/postgres/engine/change-log.ts";
import { FileSide } from "../../../src/store/move/file-side.ts";
import { LateAttempts } from "../../../src/store/sqlite/attempts/attempts-by-time.ts";
import {
  giveUpMove,
  moveStore,
  type MovedTable,
  type MoveOptions,
  type MoveProgress,
} from "../../../src/store/move/move.ts";
import { restoreBackup } from "../../../src/store/restore/restore.ts";
import { FACTS, LEFT_OUT, OWN_FACTS, TABLES } from "../../../src/store/move/tables.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aDirectory, TestDaemon } from "../../harness/daemon.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { MAIN, it as onMachine } from "../../harness/process.ts";
import { TestReceiver } from "../../harness/receiver.ts";
import { addEndpoint, draft, dueNow, withoutCapacity, publishOne, START } from "../fixtures.ts";
import { createDatabase, open, openPostgresDatabase } from "../stores.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to move a store into");
afterAll(() => server?.stop());

const freshUrl = async () => server!.urlOf(await createDatabase(server!));

function move(dir: string, url: string, direction: MoveOptions["direction"], more: Partial<MoveOptions> = {}) {
  return moveStore({
    dir,
    url,
    direction,
    secretKeyFile: join(dir, "secret.key"),
    how: "move",
    resume: false,
    beside: false,
    onReady: () => {},
    now: Date.parse("2026-11-20T12:00:00.000Z"),
    monotonic: () => performance.now(),
    onProgress: () => {},
    ...more,
  });
}

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => "nothing",
    (error: Error & { hint?: string }) => `${error.message}; ${error.hint}`,
  );

/** Returns everything that the API shows of a store. */
async function shown(daemon: TestDaemon): Promise<Record<string, unknown>> {
  const get = async (path: string) => {
    const { status, body } = await daemon.request("GET", path);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const events = await get("/v1/webhooks/events?limit=100");
  const attempts = await Promise.all(events.data.map(({ id }: { id: string }) => daemon.attempts(id)));
  const bodies = await Promise.all(events.data.map(({ id }: { id: string }) => daemon.event(id)));
  const paths = [
    "/v1/webhooks?limit=100",
    "/v1/webhooks/deliveries?limit=100",
    "/v1/webhooks/keys?tenant=acme",
    "/v1/webhooks/jobs",
    "/v1/webhooks/failures?since=2026-01-01T00:00:00Z",
    "/v1/webhooks/stats?window=6h",
    "/v1/audit?limit=100",
  ];
  const rest = await Promise.all(paths.map(get));
  const pairs = rest[0].data.flatMap((endpoint: { id: string }) =>
    events.data.map((event: { id: string }) => `/v1/webhooks/events/${event.id}/why?endpoint=${endpoint.id}`),
  );
  const reasons = await Promise.all(pairs.map(async (path: string) => (await get(path)).sentence));
  const { paused } = await get("/v1/status");
  return {
    events: events.data,
    attempts,
    bodies,
    paused,
    reasons,
    ...Object.fromEntries(paths.map((path, at) => [path, rest[at].data ?? rest[at]])),
  };
}

const EVENTS = "/v1/webhooks/events";

/** Makes a store with publishes, failures, a rotation, a half-done job and a pause. */
async function fill(clock: ManualClock) {
  const dir = aDirectory();
  const receiver = await TestReceiver.start([503, 200, { status: 503, body: "Zurück\t\\ \u{1f980}" }, 200, 200]);
  const daemon = await TestDaemon.start({ dir, clock });
  const { id: endpoint } = await daemon.register(receiver.url, {
    headers: { "x-secret": "a\\t" },
    description: "Ä\\N",
  });
  const other = { url: receiver.url, events: ["goal.achieved"], signatures: ["ed25519"] };
  const { id: held } = (await daemon.request("POST", "/v1/webhooks?tenant=acme", other)).body;
  const due = await daemon.publish('{"text":"\\u0000\\t\\\\x41 – \u{1f980}"}');
  await daemon.daemon.idle();
  const labels = { type: "budget.exceeded", data: {}, publisher_id: "order-7", tags: ["eu", "eu-west"] };
  const keyed = await daemon.request("POST", EVENTS, labels, { "idempotency-key": "a-key" });
  // The idempotency key from before the rekey must still be recognised.
  expect((await daemon.request("POST", "/v1/secret-key/rekey")).status).toBe(200);
  for (let left = 5; left > 0; left--) await daemon.publish({ left });
  await daemon.daemon.idle();
  await daemon.request("POST", `/v1/webhooks/${endpoint}/rotate-secret`, { overlap_seconds: 3600 });
  await daemon.request("POST", "/v1/webhooks/keys/rotate?tenant=acme", { overlap_seconds: 3600 });
  await daemon.request("PATCH", "/v1/webhooks/keys?tenant=acme", { published: true });
  await daemon.request("PATCH", `/v1/webhooks/${held}?tenant=acme`, { enabled: false, when_disabled: "hold" });
  await daemon.request("POST", `${EVENTS}?tenant=acme`, { type: "goal.achieved", data: { held: true } });
  const job = { action: "replay", filter: { status: "delivered" }, rate_per_second: 0.01 };
  await daemon.request("POST", "/v1/webhooks/jobs", job);
  await daemon.daemon.tick();
  await daemon.daemon.idle();
  // It can still be told why this one did not get the events before it.
  await daemon.register(receiver.url, { events: ["goal.achieved"] });
  await daemon.request("POST", "/v1/pause", { reason: "moving house" });
  clock.advance("1m");
  await daemon.daemon.tick();
  const before = await shown(daemon);
  await daemon.stop();
  return { dir, receiver, due, labels, keyed, before };
}

describe.skipIf(server === null)("a store that is moved", () => {
  it("leaves out no table, column or fact of either store without a reason", async () => {
    const file = new Database(":memory:");
    applySteps(file, 0, { migrations: MIGRATIONS });
    const ofFile = file
      .prepare<[], { name: string; column: string }>(
        `SELECT t.name, c.name AS column FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
      )
      .all();
    const url = await freshUrl();
    const ofPostgres = await withClient(url, async (client) => {
      const sql = `SELECT table_name AS name, column_name AS column FROM information_schema.columns
        WHERE table_schema = current_schema()`;
      return (await client.query<{ name: string; column: string }>(sql)).rows;
    });
    for (const [rows, own] of [
      [ofFile, "onlyFile"],
      [ofPostgres, "onlyPostgres"],
    ] as const) {
      const there = Map.groupBy(rows, ({ name }) => name);
      for (const name of Object.keys(LEFT_OUT)) there.delete(name);
      const found = [...there].map(([name, all]) => [name, all.map(({ column }) => column).toSorted()]);
      const moved = TABLES.map((table) => [table.name, [...table.columns, ...table[own]].toSorted()]);
      expect(Object.fromEntries(found)).toEqual(Object.fromEntries(moved));
    }
  });

  it("goes on in PostgreSQL and back in the file as if nothing had happened", async () => {
    const clock = new ManualClock();
    const { dir, receiver, due, labels, keyed, before } = await fill(clock);
    const sent = receiver.requests.length;
    const url = await freshUrl();
    const trial = await move(dir, url, "to_postgres", { how: "dry-run" });
    expect(trial.tables.find(({ name }) => name === "event")).toMatchObject({ rows: 8, sum: null });
    const there = await move(dir, url, "to_postgres");
    expect(there.tables.map(({ name, rows }) => [name, rows])).toEqual(
      trial.tables.map(({ name, rows }) => [name, rows]),
    );
    expect(await refusal(TestDaemon.start({ dir, clock }))).toMatch(
      /was moved to PostgreSQL; .*webhookd restore .*\.moved-/,
    );

    const settings = { DATA_STORE: url };
    const daemon = await TestDaemon.start({ dir, clock, settings });
    expect(await shown(daemon)).toEqual(before);
    const again = await daemon.request("POST", EVENTS, labels, { "idempotency-key": "a-key" });
    expect(again.body.id).toBe(keyed.body.id);
    expect(receiver.requests).toHaveLength(sent);
    await daemon.request("POST", "/v1/resume");
    // The rest of the job is paced.
    const isDelivered = async () => {
      clock.advance("1s");
      await daemon.daemon.tick();
      return ((await daemon.event(due)) as { status: string }).status;
    };
    await expect.poll(isDelivered).toBe("delivered");
    expect(await daemon.event(due)).toMatchObject({ deliveries: [{ attempts: 2 }] });
    await daemon.request("POST", "/v1/pause", { reason: "moving back" });
    const then = await shown(daemon);
    const count = receiver.requests.length;
    await daemon.stop();

    const names = readdirSync(dir);
    const trialBack = await move(dir, url, "to_file", { how: "dry-run" });
    expect([trialBack.tables.find(({ name }) => name === "event")!.rows, readdirSync(dir)]).toEqual([8, names]);
    const back = await move(dir, url, "to_file");
    expect(await refusal(TestDaemon.start({ dir, clock, settings }))).toMatch(/was moved to .*; start it there/);
    const last = await TestDaemon.start({ dir, clock });
    expect(await shown(last)).toEqual(then);
    expect(receiver.requests).toHaveLength(count);
    expect(back.tables.find(({ name }) => name === "event")!.rows).toBe(8);
    await last.stop();
    await receiver.close();
  });

  it("takes a large batch along, and says of no damaged event of it that it is sound", async () => {
    const clock = new ManualClock();
    const dir = aDirectory();
    const file = await open({ dir, clock });
    const endpoint = await addEndpoint(file);
    const texts = Array.from({ length: 20 }, (_, at) => `{"at": ${at}, "text": "${"x".repeat(30_000)}"}`);
    const large = texts.map((text) => draft({ data: Buffer.from(text) }));
    const published = await file.events.publish(large, START, withoutCapacity);
    const bodies = (await dueNow(file, endpoint)).map(({ body }) => Buffer.from(body).toString());
    await file.close();
    const db = new Database(join(dir, "webhookd.db"));
    db.exec("UPDATE large_data SET data = CAST(data || ' ' AS BLOB) WHERE num = 8");
    db.close();
    const url = await freshUrl();
    await move(dir, url, "to_postgres");
    const there = await openPostgresDatabase(url, { dir, clock });
    const claims = await dueNow(there, endpoint);
    expect(claims.map(({ event }) => event)).toEqual(published.map(({ id }) => id));
    expect(claims.flatMap(({ corrupt }, at) => (corrupt === true ? [at] : []))).toEqual([7]);
    const sound = claims.map(({ body }) => Buffer.from(body).toString()).toSpliced(7, 1);
    expect(sound).toEqual(bodies.toSpliced(7, 1));
    await there.close();
    await move(dir, url, "to_file");
    const back = await open({ dir, clock });
    const again = await dueNow(back, endpoint);
    expect(again.flatMap(({ corrupt }, at) => (corrupt === true ? [at] : []))).toEqual([7]);
    expect(again.map(({ body }) => Buffer.from(body).toString()).toSpliced(7, 1)).toEqual(bodies.toSpliced(7, 1));
  });

  it("shows in PostgreSQL what the first version recorded, which told less of a success", async () => {
    const clock = new ManualClock();
    const { dir, receiver } = await fill(clock);
    const file = new Database(join(dir, "webhookd.db"));
    const latest = "(SELECT max(event) FROM delivery WHERE connection IS NOT NULL)";
    expect(file.prepare(`UPDATE delivery SET connection = NULL WHERE event = ${latest}`).run().changes).toBe(1);
    file.close();
    const here = await TestDaemon.start({ dir, clock });
    const before = await shown(here);
    await here.stop();
    const url = await freshUrl();
    await move(dir, url, "to_postgres");
    const there = await TestDaemon.start({ dir, clock, settings: { DATA_STORE: url } });
    expect(await shown(there)).toEqual(before);
    await there.stop();
    await receiver.close();
  });

  it("is the same, row for row, after the way there and back", async () => {
    const { dir, receiver } = await fill(new ManualClock());
    await receiver.close();
    const file = new Database(join(dir, "webhookd.db"));
    const facts = file.prepare<[], string>("SELECT name FROM meta").pluck().all();
    for (const name of facts) expect([...FACTS, ...Object.keys(OWN_FACTS)]).toContain(name);
    file.exec(`INSERT INTO started SELECT event, endpoint, 1, 0 FROM delivery LIMIT 1;
      INSERT INTO manual_attempt SELECT event, endpoint, 1 FROM delivery LIMIT 1;
      INSERT INTO key_time VALUES (0, 1, 1);
      INSERT INTO ordering_key VALUES (7, 1, 'a key', 3, 9);
      INSERT INTO held_key SELECT 7, 2, event, endpoint, 9 FROM delivery LIMIT 1;
      UPDATE delivery SET ordering_key = 7, sequence = 2 WHERE (event, endpoint) = (SELECT event, endpoint FROM held_key);
      INSERT INTO type_definition VALUES ('a.b', '', 'g', '{}', '{}', 'warn', 1, 2, 1, NULL);
      INSERT INTO meta VALUES ('types_revision', 1);
      INSERT INTO late_response SELECT started_at, event, endpoint, number FROM attempt LIMIT 1`);
    file.close();
    const url = await freshUrl();
    const there = await move(dir, url, "to_postgres");
    const names = await withClient(url, async (client) => (await client.query("SELECT name FROM meta")).rows);
    for (const { name } of names) expect([...FACTS, ...Object.keys(OWN_FACTS)]).toContain(name);
    const indexes = (of: string) =>
      withClient(of, async (client) => {
        const sql = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY indexdef";
        return (await client.query<{ indexdef: string }>(sql)).rows.map(({ indexdef }) => indexdef);
      });
    expect(await indexes(url)).toEqual(await indexes(await freshUrl()));
    const back = await move(dir, url, "to_file");
    expect(back.tables).toEqual(there.tables);
    expect(there.tables.filter(({ rows }) => rows === 0).map(({ name }) => name)).toEqual([]);
  });

  onMachine("is whole after kill -9 and deaths at any page, between the pages and at the end", async ({ machine }) => {
    const { dir, receiver } = await fill(new ManualClock());
    await receiver.close();
    const url = await freshUrl();
    const file = new Database(join(dir, "webhookd.db"));
    const numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 30000)";
    file.exec(`INSERT INTO audit (key, actor, tenant, action, request, outcome)
      ${numbers} SELECT n, 'nobody', '*', 'none', 'none', 'done' FROM n`);
    file.close();
    const words = [MAIN, "migrate", "--to", url, "--data-dir", dir];
    await withClient(url, async (client) => {
      // The lock keeps the move from ending before it is killed.
      await client.query("BEGIN; LOCK TABLE manual_attempt");
      const killed = machine.spawn(process.execPath, words);
      const copied = async () => (await client.query("SELECT 1 FROM audit LIMIT 1")).rows;
      await expect.poll(copied, { interval: 1 }).not.toEqual([]);
      killed.kill("SIGKILL");
      expect(await killed.exit).toBe("SIGKILL");
    });
    const served = TestDaemon.start({ dir: aDirectory(), settings: { DATA_STORE: url } });
    expect(await refusal(served)).toMatch(/not finished; .*--resume/);
    expect(await refusal(move(dir, url, "to_postgres"))).toMatch(/contains an unfinished copy; .*--resume/);
    const dies = (doing: MoveProgress["doing"], after: number) => {
      let left = after;
      return (progress: MoveProgress) => {
        if (progress.doing === doing && left-- === 0) throw new Error("killed");
      };
    };
    // Each run gets a page or two further.
    for (let deaths = 0; deaths < 4; deaths++) {
      const more = { onProgress: dies("copying", 1), resume: true };
      expect(await refusal(move(dir, url, "to_postgres", more))).toMatch(/^killed/);
    }
    expect(existsSync(join(dir, "webhookd.db"))).toBe(true);
    const ended = machine.spawn(process.execPath, [...words, "--resume", "--json"]);
    expect(await ended.exit).toBe(0);
    const rows = new Map(JSON.parse(ended.stdout).tables.map((table: MovedTable) => [table.name, table.rows]));
    expect([rows.get("event"), Number(rows.get("audit")) > 30_000]).toEqual([8, true]);
    // A command may also be killed after everything was done, and run again.
    for (const resume of [true, false]) {
      expect(await refusal(move(dir, url, "to_postgres", { resume }))).toMatch(/was moved away earlier/);
    }

    expect(await refusal(move(dir, url, "to_file", { onProgress: dies("comparing", 9) }))).toMatch(/^killed/);
    // The copy is complete and the database is marked as moved. Only the file's final name is missing.
    const finish = vi.spyOn(FileSide.prototype, "finish").mockImplementationOnce(() => {
      throw new Error("killed");
    });
    expect(await refusal(move(dir, url, "to_file", { resume: true }))).toMatch(/^killed/);
    finish.mockRestore();
    const back = await move(dir, url, "to_file", { resume: true });
    expect(new Map(back.tables.map((table) => [table.name, table.rows]))).toEqual(rows);
    const daemon = await TestDaemon.start({ dir, clock: new ManualClock() });
    expect((await shown(daemon)).events).toHaveLength(8);
  });

  it("goes beside its daemon, with all that changes meanwhile, and when it is resumed", async () => {
    const clock = new ManualClock();
    const { dir, receiver } = await fill(clock);
    const url = await freshUrl();
    let daemon = await TestDaemon.start({ dir, clock });
    const { id: first } = await daemon.register(receiver.url, { uid: "one" });
    const { id: second } = await daemon.register(receiver.url, { uid: "two" });
    let changing: Promise<unknown> = daemon.request("POST", "/v1/resume");
    const patch = async (id: string, uid: string | null) =>
      expect((await daemon.request("PATCH", `/v1/webhooks/${id}`, { uid })).status).toBe(200);
    const change = async () => {
      const event = await daemon.publish();
      await patch(first, null);
      await patch(second, "one");
      await patch(first, "two");
      const { id } = await daemon.register(receiver.url, { uid: "new" });
      await daemon.publish();
      await daemon.request("DELETE", `/v1/webhooks/${id}`);
      await daemon.request("POST", `/v1/webhooks/events/${event}/replay`);
      await patch(first, null);
      await patch(second, "two");
      await patch(first, "one");
      clock.advance("20s");
      await daemon.daemon.tick();
    };
    const seen = new Set<string>();
    let dies = "";
    let isStopping = false;
    const onProgress = ({ doing, table }: MoveProgress) => {
      const step = `${doing} ${table}`;
      if (step === dies) throw new Error("killed");
      // Nothing may change while the store is shown.
      if (!isStopping && ["endpoint", "counter", "delivery", "attempt"].includes(table) && !seen.has(step)) {
        changing = changing.then(change);
      }
      seen.add(step);
    };
    let before: unknown = null;
    const stopping = async () => {
      isStopping = true;
      try {
        await changing;
        await daemon.request("POST", "/v1/pause", { reason: "moving" });
        before = await shown(daemon);
      } finally {
        await daemon.stop();
      }
    };
    let stopped: Promise<void> = Promise.resolve();
    const beside = { beside: true, onProgress, onReady: () => unawaited((stopped = stopping())) };

    const begun = Date.now();
    dies = "copying attempt";
    expect(await refusal(move(dir, url, "to_postgres", beside))).toMatch(/^killed/);
    dies = "";
    // A change advances the clock, so a status that waits for the store would give up.
    await changing;
    await daemon.publish();
    const open = async () => (await daemon.request("GET", "/v1/status")).body.open_move;
    // This time is from the host's clock.
    expect(Date.parse((await open()).since)).toBeGreaterThan(begun - 1);
    const there = await move(dir, url, "to_postgres", { ...beside, resume: true });
    await stopped;
    expect(there.tables.find(({ name }) => name === "event")!.rows).toBeGreaterThan(12);
    expect(there.stoppedMs).toBeLessThan(10_000);
    daemon = await TestDaemon.start({ dir, clock, settings: { DATA_STORE: url } });
    expect(await shown(daemon)).toEqual(before);

    seen.clear();
    isStopping = false;
    changing = daemon.request("POST", "/v1/resume");
    const back = await move(dir, url, "to_file", beside);
    await stopped;
    expect(back.tables.find(({ name }) => name === "event")!.rows).toBeGreaterThan(
      there.tables.find(({ name }) => name === "event")!.rows,
    );
    const file = new Database(join(dir, "webhookd.db"));
    const late = file.prepare("SELECT * FROM late_attempt").all();
    new LateAttempts(file).noteAll();
    expect(late).toEqual(file.prepare("SELECT * FROM late_attempt").all());
    expect(file.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'moving%'").all()).toEqual([]);
    file.close();
    daemon = await TestDaemon.start({ dir, clock });
    expect(await shown(daemon)).toEqual(before);

    // Giving up a move removes all that it left in a store that stays. A later move does not continue from that copy.
    dies = "copying event";
    const other = await freshUrl();
    expect(await refusal(move(dir, other, "to_postgres", beside))).toMatch(/^killed/);
    await giveUpMove({ dir, url: other, direction: "to_postgres", secretKeyFile: join(dir, "secret.key"), now: 0 });
    dies = "";
    expect(await refusal(move(dir, other, "to_postgres", { ...beside, resume: true }))).toMatch(
      /since the copy began is gone; another move/,
    );
    await daemon.publish();
    await daemon.stop();
    await receiver.close();
  });

  const IS_FULL =
    /since the copy began is gone: the list grew too long, so the move cannot continue; run the same command with --give-up/;

  it("lists no more than its share of a database while nobody goes on with the move", async () => {
    const [dir, url, into, clock] = [aDirectory(), await freshUrl(), aDirectory(), new ManualClock()];
    const daemon = await TestDaemon.start({ dir, clock, settings: { DATA_STORE: url } });
    const where = { secretKeyFile: join(dir, "secret.key"), beside: true };
    const dies = () => {
      throw new Error("killed");
    };
    expect(await refusal(move(into, url, "to_file", { ...where, onProgress: dies }))).toMatch(/^killed/);
    await withClient(url, async (client) => {
      const size = async () =>
        (await client.query("SELECT pg_relation_size('moving_change')::integer AS n")).rows[0]!.n;
      await daemon.publish();
      expect(await size()).toBe(8192);
      await client.query(`UPDATE pg_proc SET prosrc = replace(prosrc, '${FULL_DATABASE}', '8192')`);
      for (let left = 100; left > 0; left--) await daemon.publish();
      expect(await size()).toBe(8192);
      // There is space again, but the changes that were not listed are missing from the copy.
      await client.query("TRUNCATE moving_change");
      await daemon.publish();
      expect(await refusal(move(into, url, "to_file", { ...where, resume: true }))).toMatch(IS_FULL);
      await giveUpMove({ dir: into, url, direction: "to_file", secretKeyFile: where.secretKeyFile, now: 0 });
      const left =
        "SELECT proname FROM pg_proc WHERE proname LIKE 'moving%' UNION SELECT name FROM meta WHERE name LIKE 'moving%'";
      expect((await client.query(left)).rows).toEqual([]);
    });
    await daemon.stop();
  });

  it("lists no more than its share of the disk while nobody goes on with the move", async () => {
    const dir = aDirectory();
    const daemon = await TestDaemon.start({ dir, clock: new ManualClock() });
    const url = await freshUrl();
    const dies = () => {
      throw new Error("killed");
    };
    expect(await refusal(move(dir, url, "to_postgres", { beside: true, onProgress: dies }))).toMatch(/^killed/);
    const file = new Database(join(dir, "webhookd.db"));
    const last = () => file.prepare("SELECT max(n) FROM moving_change").pluck().get();
    await daemon.publish();
    expect(last()).toBeGreaterThan(0);
    file.prepare("INSERT INTO moving_change (n, name) VALUES (?, 'event')").run(FULL);
    await daemon.publish();
    expect(last()).toBe(FULL);
    const again = { beside: true, resume: true };
    expect(await refusal(move(dir, url, "to_postgres", again))).toMatch(IS_FULL);
    await giveUpMove({ dir, url, direction: "to_postgres", secretKeyFile: join(dir, "secret.key"), now: 0 });
    expect(file.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'moving%'").all()).toEqual([]);
    file.close();
    await daemon.stop();
  });

  it("is given up, and is what it was, by a restore of the file that was kept; sending is paused", async () => {
    const { dir, receiver } = await fill(new ManualClock());
    await receiver.close();
    await move(dir, await freshUrl(), "to_postgres");
    const kept = readdirSync(dir).find((name) => name.startsWith("webhookd.db.moved-"))!;
    await restoreBackup({
      dir,
      backup: join(dir, kept),
      secretKeyFile: join(dir, "secret.key"),
      clock: new ManualClock(),
      passphrase: null,
      mustUnseal: false,
      confirm: async () => true,
    });
    const daemon = await TestDaemon.start({ dir, clock: new ManualClock() });
    expect(await shown(daemon)).toMatchObject({ events: { length: 8 }, paused: { by: "restore" } });
  });

  it("takes nothing more from a process that was late, and did not know", async () => {
    const [node, url] = [aDirectory(), await freshUrl()];
    const late = await openPostgresDatabase(url, { dir: node, clock: new ManualClock(), leaseMs: 60_000 });
    await withClient(url, (client) => client.query("UPDATE node SET lease_until = now()"));
    await move(aDirectory(), url, "to_file", { secretKeyFile: join(node, "secret.key") });
    await expect(publishOne(late)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("is refused where it would mix, hide or lose something", async () => {
    const { dir, receiver } = await fill(new ManualClock());
    const [url, other] = [await freshUrl(), await freshUrl()];
    const daemon = await TestDaemon.start({ dir });
    expect(await refusal(move(dir, url, "to_postgres"))).toMatch(/^another webhookd .* is using/);
    await daemon.stop();
    const served = await TestDaemon.start({ dir: aDirectory(), settings: { DATA_STORE: other } });
    expect(await refusal(move(dir, other, "to_postgres"))).toMatch(/there is a store in .* already/);
    const empty = aDirectory();
    const key = join(served.dir, "secret.key");
    expect(await refusal(move(empty, other, "to_file", { secretKeyFile: key }))).toMatch(/^a daemon is using/);
    await served.stop();
    expect(await refusal(move(empty, other, "to_file"))).toMatch(/^the secret key .* is missing/);
    writeFileSync(join(empty, "secret.key"), "0c".repeat(32), { mode: 0o600 });
    expect(await refusal(move(empty, other, "to_file"))).toMatch(/was sealed with a different secret.key/);
    const wrong = { secretKeyFile: join(empty, "secret.key") };
    expect(await refusal(move(dir, url, "to_postgres", wrong))).toMatch(/is not the one this database was sealed with/);
    expect(await refusal(move(dir, other, "to_file", { secretKeyFile: key }))).toMatch(
      /there is a store in .* already/,
    );

    const dies = () => {
      throw new Error("killed");
    };
    expect(await refusal(move(dir, url, "to_postgres", { onProgress: dies }))).toMatch(/^killed/);
    const again = await TestDaemon.start({ dir });
    await again.publish();
    await again.stop();
    expect(await refusal(move(dir, url, "to_postgres", { resume: true }))).toMatch(/a daemon has run since/);

    const third = await freshUrl();
    const stopsAtComparing = ({ doing }: MoveProgress) => doing === "comparing" && dies();
    const stopped = { onProgress: stopsAtComparing };
    expect(await refusal(move(dir, third, "to_postgres", stopped))).toMatch(/^killed/);
    await withClient(third, (client) => client.query("UPDATE delivery SET attempts = attempts + 1 WHERE status = 2"));
    const differs = /differs from what is in .*: delivery;/;
    expect(await refusal(move(dir, third, "to_postgres", { resume: true }))).toMatch(differs);
    expect(existsSync(join(dir, "webhookd.db"))).toBe(true);
    await receiver.close();
  });
});
