/** What the store makes of a database that cannot be reached, goes away, or is another's. */
import { connect, createServer, type AddressInfo } from "node:net";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { ManualClock } from "../../harness/clock.ts";
import { ownPort } from "../../harness/port.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, EVERYTHING, publishOne } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to lose connections to");
afterAll(() => server?.stop());

const open = (url: string, dir = temporaryDirectory()) => openPostgresDatabase(url, { dir, clock: new ManualClock() });

/** Takes connections, and says nothing. */
async function silentHost(): Promise<string> {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void silent.close());
  return `127.0.0.1:${(silent.address() as AddressInfo).port}`;
}

/** The way to a server; once it is told to, it breaks for good at the next commit, before or after the server has that. */
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

describe.skipIf(server === null)("a store on PostgreSQL", () => {
  it("finds the host that takes writes behind one that is down and one that is silent", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const store = await open(url.replace("@", `@127.0.0.1:1,${await silentHost()},`));
    await addEndpoint(store);
    const { id } = await publishOne(store);
    expect((await store.reads.listEvents(EVERYTHING)).data).toMatchObject([{ id }]);
    // One that writes and two that read, and none for each host that was given up.
    const sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    expect((await withClient(url, (client) => client.query(sql))).rows).toEqual([{ count: "3" }]);
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

  it.skipIf(server?.copy === null)("takes no other's transaction for one that its server lost", async () => {
    const database = await createDatabase(server!);
    const url = server!.urlOf(database);
    const way = await breakableWay(url);
    const port = await ownPort();
    const store = await open(url.replace(/@[^/]*/, `@${way.host},127.0.0.1:${port}`));
    await addEndpoint(store);
    // What takes over has not heard of the commit, and gives its number to others.
    const heir = await server!.copy!(port);
    onTestFinished(() => heir.stop());
    const others = "DO $$ BEGIN FOR n IN 1..500 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$";
    await withClient(heir.urlOf(database), (client) => client.query(others));
    way.breakAt("before");
    await expect(publishOne(store)).rejects.toMatchObject({ code: "storage_unavailable" });
    expect((await store.reads.listEvents(EVERYTHING)).data).toEqual([]);
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
