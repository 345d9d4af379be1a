/** The store's reaction to a database that cannot be reached, goes away, or belongs to another store. */
import { connect, createServer, type AddressInfo } from "node:net";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../../harness/clock.ts";
import { ownPort } from "../../harness/port.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { Database } from "../../../src/store/postgres/engine/database.ts";
import { CONNECTIONS } from "../../../src/store/postgres/fault.ts";
import { addEndpoint, delivered, draft, dueNow, EVERYTHING, withoutCapacity, publishOne, START } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to lose connections to");
afterAll(() => server?.stop());

const open = (url: string, dir = temporaryDirectory()) => openPostgresDatabase(url, { dir, clock: new ManualClock() });

/** Creates a role and a database that it owns, and returns the URL for that role. */
async function asAnother(role: string): Promise<string> {
  await server!.ask(`CREATE ROLE ${role} LOGIN`);
  await server!.ask(`CREATE DATABASE of_${role} OWNER ${role}`);
  return server!.urlOf(`of_${role}`).replace("//test@", `//${role}@`);
}

/**
 * Starts a node that owns no slots, and adds an endpoint. The transaction of a publish then also notifies the owner.
 */
async function ofSeveral() {
  const url = server!.urlOf(await createDatabase(server!));
  const store = await openPostgresDatabase(url, {
    dir: temporaryDirectory(),
    clock: new ManualClock(),
    leaseMs: 60_000,
  });
  await addEndpoint(store);
  return { url, store };
}

/** Accepts connections and sends nothing. */
async function silentHost(): Promise<string> {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void silent.close());
  return `127.0.0.1:${(silent.address() as AddressInfo).port}`;
}

/**
 * Starts a proxy to a server. Once told to, it breaks for good at the next commit, before or after the server gets it.
 */
async function breakableWay(url: string) {
  const { hostname, port } = new URL(url);
  let breaks: "before" | "after" | null = null;
  let isBroken = false;
  const way = createServer((from) => {
    if (isBroken) return void from.destroy();
    const to = connect(Number(port), hostname);
    const cut = () => [from, to].forEach((socket) => socket.destroy());
    for (const socket of [from, to]) socket.on("error", cut).on("close", cut);
    from.on("data", (bytes) => {
      const isCommit = breaks !== null && bytes.includes("COMMIT");
      if (isCommit) isBroken = true;
      if (isCommit && breaks === "before") cut();
      else to.write(bytes);
    });
    to.on("data", (bytes) => (isBroken && bytes.includes("COMMIT") ? cut() : from.write(bytes)));
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void way.close());
  return {
    host: `127.0.0.1:${(way.address() as AddressInfo).port}`,
    breakAt: (when: "before" | "after") => (breaks = when),
  };
}

/**
 * Starts a proxy to a server. Once told to, it loses the next commit, and then the response to the query that asks
 * about it.
 */
async function forgetfulWay(url: string) {
  const { hostname, port } = new URL(url);
  let loses: "nothing" | "commit" | "answer" = "nothing";
  const way = createServer((from) => {
    const to = connect(Number(port), hostname);
    const cut = () => [from, to].forEach((socket) => socket.destroy());
    for (const socket of [from, to]) socket.on("error", cut).on("close", cut);
    let isMute = false;
    from.on("data", (bytes) => {
      if (loses === "commit" && bytes.includes("COMMIT")) {
        loses = "answer";
        cut();
        return;
      }
      if (loses === "answer" && bytes.includes("DO UPDATE SET at = c.at")) {
        loses = "nothing";
        isMute = true;
      }
      to.write(bytes);
    });
    to.on("data", (bytes) => (isMute ? cut() : from.write(bytes)));
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void way.close());
  return { host: `127.0.0.1:${(way.address() as AddressInfo).port}`, lose: () => (loses = "commit") };
}

describe.skipIf(server === null)("statements on PostgreSQL", () => {
  const asked = async <T>(ask: (database: Database) => Promise<T>) => {
    const database = new Database(server!.urlOf(await createDatabase(server!)));
    return ask(database).finally(() => database.close());
  };

  it("take columns as they are, whatever is in them", async () => {
    const rows = [
      { a: -32_768, b: -2_147_483_648, c: Number.MIN_SAFE_INTEGER, d: "", e: Buffer.alloc(0) },
      { a: 32_767, b: 2_147_483_647, c: Number.MAX_SAFE_INTEGER, d: 'é{"\\\n,NULL', e: Buffer.from([0, 255, 92]) },
      { a: 0, b: -1, c: -4_294_967_297, d: "NULL", e: Buffer.from("{}") },
      { a: null, b: null, c: null, d: null, e: null },
    ];
    const sql = `SELECT * FROM unnest($1::smallint[], $2::integer[], $3::bigint[], $4::text[], $5::bytea[])
      AS n (a, b, c, d, e)`;
    const columns = (["a", "b", "c", "d", "e"] as const).map((name) => rows.map((row) => row[name]));
    expect(await asked((database) => database.rows(sql, columns))).toEqual(rows);
    expect(await asked((database) => database.rows(sql, [[], [], [], [], []]))).toEqual([]);
    // The server refuses invalid values.
    const half = asked((database) => database.rows("SELECT unnest($1::bigint[])", [[1.5]]));
    await expect(half).rejects.toThrow("invalid input syntax for type bigint");
  });

  it("are committed as webhookd wants it, whatever the database and the address say", async () => {
    const database = await createDatabase(server!);
    await server!.ask(`ALTER DATABASE ${database} SET synchronous_commit = off`);
    await server!.ask(`ALTER DATABASE ${database} SET client_min_messages = error`);
    await server!.ask(`ALTER DATABASE ${database} SET default_transaction_isolation = serializable`);
    const url = `${server!.urlOf(database)}?options=-csearch_path%3Dpublic%20-clock_timeout%3D1&statement_timeout=2000`;
    const asked = new Database(url);
    onTestFinished(() => asked.close());
    const sql = `SELECT array_agg(current_setting(name) ORDER BY name) AS settings FROM unnest(ARRAY[
      'client_min_messages', 'lock_timeout', 'search_path', 'statement_timeout', 'synchronous_commit',
      'transaction_isolation']) AS n (name)`;
    const settings = ["warning", "0", "public", "0", "on", "read committed"];
    expect(await asked.rows(sql)).toEqual([{ settings }]);
    expect(await asked.lease.rows(sql)).toEqual([{ settings }]);
    expect(await asked.transaction((tx) => tx.rows(sql))).toEqual([{ settings }]);
  });

  it("find rows by their keys, also where they were planned while the table was empty", async () => {
    const plan = await asked(async (database) => {
      await database.script("CREATE TABLE thing (key bigint PRIMARY KEY, state integer)");
      const keys = `unnest(ARRAY[${Array.from({ length: 200 }, (_, at) => at).join()}]) AS n (key)`;
      return database.rows(`EXPLAIN (COSTS OFF) UPDATE thing t SET state = 1 FROM ${keys} WHERE t.key = n.key`);
    });
    expect(JSON.stringify(plan)).toContain("Index Scan using thing_pkey");
  });
});

describe.skipIf(server === null)("a store on PostgreSQL", () => {
  it("finds the host that takes writes behind one that is down and one that is silent", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url.replace("@", `@127.0.0.1:1,${await silentHost()},`));
    await addEndpoint(store);
    const { id } = await publishOne(store);
    expect((await store.reads.listEvents(EVERYTHING)).data).toMatchObject([{ id }]);
    // These are all connections that the store ever opens. Failed hosts cost no others.
    const sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    expect((await withClient(url, (client) => client.query(sql))).rows).toEqual([{ count: String(CONNECTIONS) }]);
  });

  it("goes on after its connections were cut, and loses nothing that it answered", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url);
    await addEndpoint(store);
    const answered = [(await publishOne(store)).id];
    for (let round = 0; round < 5; round++) {
      const publishing = Array.from({ length: 20 }, () =>
        publishOne(store).then(
          ({ id }) => void answered.push(id),
          (error: unknown) => expect(error).toMatchObject({ code: "storage_unavailable" }),
        ),
      );
      await withClient(url, (client) =>
        client.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        ),
      );
      await Promise.all(publishing);
    }
    await expect
      .poll(() =>
        publishOne(store).then(
          ({ id }) => answered.push(id) > 0,
          () => false,
        ),
      )
      .toBe(true);
    const there = new Set((await store.reads.listEvents({ ...EVERYTHING, limit: 1000 })).data.map(({ id }) => id));
    expect(answered.filter((id) => !there.has(id))).toEqual([]);
  });

  it("finds out that a commit was made whose answer was lost", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const way = await breakableWay(url);
    const store = await open(url.replace("@", `@${way.host},`));
    await addEndpoint(store);
    way.breakAt("after");
    const { id } = await publishOne(store);
    expect((await store.reads.listEvents(EVERYTHING)).data).toMatchObject([{ id }]);
  });

  it("takes no question of its own, whose answer was lost, for the commit that it asks about", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const way = await forgetfulWay(url);
    const store = await open(url.replace(/@[^/]*/, `@${way.host}`));
    await addEndpoint(store);
    way.lose();
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect((await store.reads.listEvents(EVERYTHING)).data).toEqual([]);
    await publishOne(store);
    expect((await store.reads.listEvents(EVERYTHING)).data).toHaveLength(1);
  });

  it.skipIf(server?.copy === null)("takes no other's transaction for one that its server lost", async () => {
    const database = await createDatabase(server!);
    const url = server!.urlOf(database);
    const way = await breakableWay(url);
    const port = await ownPort();
    const store = await open(url.replace(/@[^/]*/, `@${way.host},127.0.0.1:${port}`));
    await addEndpoint(store);
    // The server that takes over does not know the commit, and gives its number to other transactions.
    const heir = await server!.copy!(port);
    onTestFinished(() => heir.stop());
    const others = "DO $$ BEGIN FOR n IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
    await withClient(heir.urlOf(database), (client) => client.query(others));
    way.breakAt("before");
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect((await store.reads.listEvents(EVERYTHING)).data).toEqual([]);
  });

  it("says of each statement behind one that failed in its transaction how that one failed", async () => {
    const database = new Database(server!.urlOf(await createDatabase(server!)));
    onTestFinished(() => database.close());
    const ended: PromiseSettledResult<unknown>[] = [];
    const work = database.transaction(async (tx) => {
      const asked = [tx.rows("SELECT 1"), tx.rows("SELECT 1 / 0"), tx.change("SELECT 1"), tx.script("SELECT 1")];
      ended.push(...(await Promise.allSettled(asked)));
      await Promise.all(asked);
    });
    await expect(work).rejects.toMatchObject({ code: "22012" });
    const failed = { status: "rejected", reason: { code: "22012" } };
    expect(ended).toMatchObject([{ status: "fulfilled" }, failed, failed, failed]);
  });

  it("records an attempt of which a row is there that cannot be", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url);
    await addEndpoint(store);
    const claims = [await publishOne(store), await publishOne(store), await publishOne(store)].map(
      ({ fresh }) => fresh[0]!,
    );
    await store.deliveries.record([delivered(claims[0]!)]);
    await withClient(url, (client) =>
      client.query(
        `INSERT INTO attempt (event, endpoint, number, url, trigger, round, retry, started_at, duration_ms, outcome, truncated)
         SELECT d.event, d.endpoint, 1, 'https://example.com/stray', 0, 1, 0, 0, 0, 1, 0
         FROM delivery d WHERE d.attempts = 0 ORDER BY d.event LIMIT 1`,
      ),
    );
    const recorded = await store.deliveries.record(claims.slice(1).map((claim) => delivered(claim)));
    expect(recorded.map(({ result }) => result)).toEqual(["applied", "applied"]);
    const urls = await withClient(url, async (client) => (await client.query("SELECT url FROM attempt")).rows);
    expect(urls.filter(({ url: one }) => one.endsWith("stray"))).toHaveLength(1);
    expect(urls).toHaveLength(3);
  });

  it("says that the storage is unavailable where a page of a table is damaged, and works beside it", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url);
    const endpoint = await addEndpoint(store);
    await store.events.publish([draft()], START, withoutCapacity);
    await withClient(url, (client) =>
      client.query(
        `CREATE FUNCTION damaged() RETURNS bigint LANGUAGE plpgsql AS $$
           BEGIN RAISE 'invalid page in block 7 of relation' USING ERRCODE = 'data_corrupted'; END $$;
         CREATE FUNCTION damaged_for() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN IF NEW.tenant = 'other' THEN PERFORM damaged(); END IF; RETURN NEW; END $$;
         CREATE TRIGGER damaged BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION damaged_for()`,
      ),
    );
    const published = await Promise.allSettled(["default", "other"].map((tenant) => publishOne(store, { tenant })));
    expect(published).toMatchObject([
      { status: "fulfilled" },
      { status: "rejected", reason: { code: "storage_unavailable" } },
    ]);
    await withClient(url, (client) =>
      client.query(
        `ALTER TABLE delivery RENAME TO d;
         CREATE VIEW delivery AS SELECT event, endpoint, slot, status, attempts, round, retry, trigger, ordering_key, sequence,
           damaged() AS due_at FROM d`,
      ),
    );
    await expect(dueNow(store, endpoint)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("says that the storage is unavailable while it has no right to a table, and goes on once it has", async () => {
    const url = await asAnother("limited");
    const store = await open(url);
    await addEndpoint(store);
    await withClient(url, (client) => client.query("REVOKE ALL ON event, manual_attempt FROM limited"));
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(store.deliveries.requestedAttempts(null, 1)).rejects.toMatchObject({ code: "storage_unavailable" });
    await withClient(url, (client) => client.query("GRANT ALL ON event, manual_attempt TO limited"));
    await publishOne(store);
    expect(await store.deliveries.requestedAttempts(null, 1)).toEqual([]);
  });

  it("says what is wrong, though every statement after that only says that its transaction has failed", async () => {
    const { url, store } = await ofSeveral();
    await withClient(url, (client) =>
      client.query(
        `CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION full_disk()`,
      ),
    );
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_full" });
  });

  it("says that it takes nothing while commits are refused, and that it does again once one is made", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const clock = new ManualClock();
    const store = await openPostgresDatabase(url, { dir: temporaryDirectory(), clock });
    await addEndpoint(store);
    const state = async () => (await store.upkeep.checkSpace()).state;
    await withClient(url, async (client) => {
      const stop = async (with_: string) => {
        await client.query(
          `CREATE OR REPLACE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE 'stop' USING ERRCODE = '${with_}'; END $$;
           CREATE TRIGGER stop BEFORE INSERT ON last_commit FOR EACH ROW EXECUTE FUNCTION stop()`,
        );
        await publishOne(store).catch(() => {});
      };
      const goOn = () => client.query("DROP TRIGGER stop ON last_commit");
      expect(await state()).toBe("ready");
      await stop("read_only_sql_transaction");
      expect(await store.upkeep.condition()).toMatchObject({ state: "store_unavailable" });
      expect(await state()).toBe("store_unavailable");
      await goOn();
      expect(await state()).toBe("ready");
      await stop("disk_full");
      await goOn();
      // The commit of this check may have used the last space.
      expect(await state()).toBe("disk_full");
      clock.advance(10_000);
      expect(await state()).toBe("ready");
    });
  });

  it("waits for locks, though its role gives them up at once", async () => {
    const url = await asAnother("hasty");
    await withClient(url, (client) => client.query("ALTER ROLE hasty SET lock_timeout = 1"));
    const store = await open(url);
    await addEndpoint(store);
    await withClient(url, async (other) => {
      await other.query("BEGIN; LOCK TABLE event, manual_attempt IN ACCESS EXCLUSIVE MODE");
      const work = Promise.all([publishOne(store), store.deliveries.requestedAttempts(null, 1)]);
      const waits = "SELECT 1 FROM pg_locks WHERE NOT granted";
      await expect.poll(async () => (await other.query(waits)).rows.length).toBe(2);
      await other.query("COMMIT");
      await work;
    });
  });

  it("says that the storage is unavailable where others are faster again and again", async () => {
    const { url, store } = await ofSeveral();
    await withClient(url, (client) =>
      client.query(
        `CREATE FUNCTION outrun() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END $$;
         CREATE TRIGGER outrun BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION outrun();
         CREATE TRIGGER outrun BEFORE INSERT ON stream_batch FOR EACH ROW EXECUTE FUNCTION outrun()`,
      ),
    );
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    await expect(store.ownership.stream!.tell("x")).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("says that the storage is unavailable when no host can be reached", async () => {
    await expect(open("postgres://test@127.0.0.1:1/none")).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("refuses a database that was sealed with another key", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url);
    await store.close();
    await expect(open(url)).rejects.toThrow("is not the one this database was sealed with");
  });
});
