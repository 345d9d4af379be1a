/** Nodes whose hosts' clocks are wrong, or are set while they run. All use the clock of their database. */
import { join } from "node:path";
import type { Client } from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { type Clock, DatabaseClock, systemClock } from "../../../src/clock.ts";
import { startDaemon } from "../../../src/daemon.ts";
import type { Store } from "../../../src/store/store.ts";
import { silentLog } from "../../../src/log.ts";
import { aDirectory, testConfig, TestDaemon } from "../../harness/daemon.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { TestReceiver } from "../../harness/receiver.ts";
import { EVERYTHING, publishOne } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const DAY = 86_400_000;
const RUNG = 400;

class Host {
  /** Milliseconds by which the host's clock is ahead. */
  aheadMs: number;
  readonly lines: string[] = [];
  readonly clock: Clock = { ...systemClock, now: () => Date.now() + this.aheadMs };
  readonly log = {
    ...silentLog,
    error: (fields: object, message: string) => void this.lines.push(`${message} ${JSON.stringify(fields)}`),
    warn: (fields: object, message: string) => void this.lines.push(`${message} ${JSON.stringify(fields)}`),
  };

  constructor(aheadMs: number) {
    this.aheadMs = aheadMs;
  }

  /** Options for a daemon on this host. */
  get parts() {
    return { hostClock: this.clock, log: this.log, leaseMs: 60_000 };
  }
}

/** Starts two nodes. */
async function twoNodes(answers: readonly number[], aheadMs: readonly [number, number] = [0, 0]) {
  const url = server!.urlOf(await createDatabase(server!));
  const receiver = await TestReceiver.start(answers);
  const settings = { DATA_STORE: url, DATA_NODES: "true", RETRY_DELAYS: `${RUNG}ms,${RUNG}ms,1h` };
  const [first, second] = aheadMs.map((ahead) => new Host(ahead)) as [Host, Host];
  const daemon = await TestDaemon.start({ ...first.parts, settings });
  const ofSecond = { ...settings, DATA_SECRET_KEY_FILE: join(daemon.dir, "secret.key") };
  const other = await startDaemon(testConfig(aDirectory(), { ...second.parts, settings: ofSecond }), second.parts);
  onTestFinished(() => other.stop());
  return { url, receiver, daemon, first, second };
}

const OWNER = `SELECT n.number FROM endpoint e JOIN slot s ON s.slot = e.slot JOIN node n ON n.id = s.owner WHERE e.id = $1`;

async function ownerOf(client: Client, endpoint: string): Promise<number | undefined> {
  return (await client.query<{ number: number }>(OWNER, [endpoint])).rows[0]?.number;
}

/** Registers endpoints until one belongs to the second node, and deletes the others. */
async function endpointOfSecond(daemon: TestDaemon, client: Client, url: string): Promise<string> {
  let endpoint = "";
  const register = async () => {
    const { id } = await daemon.register(url);
    endpoint = id;
    const isThere = (await ownerOf(client, id)) === 1;
    if (!isThere) await daemon.request("DELETE", `/v1/webhooks/${id}`);
    return isThere;
  };
  await expect.poll(register, { interval: 50 }).toBe(true);
  return endpoint;
}

describe.skipIf(server === null)("nodes whose clocks are wrong", () => {
  it("have each event delivered at once, though the clock of its node was a day ahead for a moment", async () => {
    const { daemon, first, receiver, second, url } = await twoNodes([]);
    await withClient(url, async (client) => {
      await endpointOfSecond(daemon, client, receiver.url);
      await daemon.publish();
      first.aheadMs = DAY;
      for (let left = 5; left > 0; left--) await daemon.publish();
      first.aheadMs = 0;
      await expect.poll(() => receiver.requests.length).toBe(6);
      // Receivers refuse signatures from long ago or from the future.
      const signedAt = receiver.requests.map(({ headers }) => Number(headers["webhook-timestamp"]) * 1000);
      for (const at of signedAt) expect(Math.abs(at - Date.now())).toBeLessThan(60_000);
      const late = "SELECT 1 FROM event WHERE key / 2048 > (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
      expect((await client.query(late)).rowCount).toBe(0);
    });
    // The daemons report neither a bug nor a change of the clock, and no delivery had to be made due in time.
    expect([...first.lines, ...second.lines].filter((line) => /lost from|was set|due later/.test(line))).toEqual([]);
    await receiver.close();
  });

  it.each([
    [3000, -3000],
    [-3000, 3000],
  ] as const)("make no retry early or late, though they are %i and %i ms off", async (one, other) => {
    const { daemon, receiver, url } = await twoNodes([503, 503], [one, other]);
    await withClient(url, async (client) => {
      const endpoint = await endpointOfSecond(daemon, client, receiver.url);
      const published = performance.now();
      await daemon.publish();
      await expect.poll(() => receiver.requests.length, { interval: 5 }).toBe(1);
      // A node that went by its own clock would wait 3 s.
      expect(performance.now() - published).toBeLessThan(2500);
      // The second node plans the retry, and the first makes it.
      await client.query("UPDATE node SET draining = true WHERE number = 1");
      await expect.poll(() => ownerOf(client, endpoint), { interval: 20 }).toBe(0);
      await expect.poll(() => receiver.requests.length, { interval: 20 }).toBe(3);
      const { rows } = await client.query<{ started: number; ended: number }>(
        `SELECT started_at::double precision AS started, started_at::double precision + duration_ms AS ended
         FROM attempt ORDER BY number`,
      );
      const [a, b, c] = receiver.requests.map(({ at }) => at);
      expect(b! - a!).toBeGreaterThan(RUNG - 20);
      expect(c! - b!).toBeGreaterThan(RUNG - 20);
      // The times that the nodes recorded agree with those of the receiver.
      for (const [at, row] of rows.slice(1).entries()) expect(row.started - rows[at]!.ended).toBeGreaterThan(RUNG - 20);
      expect(Math.abs(rows[1]!.started - rows[0]!.started - (b! - a!))).toBeLessThan(200);
    });
    await receiver.close();
  });

  it("find what was put off by whoever wrote it, within 15 s, and call it no bug", async () => {
    const { daemon, first, receiver, second, url } = await twoNodes([]);
    await withClient(url, async (client) => {
      await endpointOfSecond(daemon, client, receiver.url);
      // The trigger writes due times as a node with a clock of its own would.
      await client.query(
        `CREATE FUNCTION put_off() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN NEW.due_at := NEW.due_at + ${DAY}; RETURN NEW; END';
         CREATE TRIGGER put_off BEFORE INSERT ON delivery FOR EACH ROW EXECUTE FUNCTION put_off()`,
      );
      for (let left = 3; left > 0; left--) await daemon.publish();
      await expect.poll(() => receiver.requests.length, { timeout: 15_000 }).toBe(3);
    });
    const lines = [...first.lines, ...second.lines];
    expect(lines.filter((line) => line.includes("lost from memory"))).toEqual([]);
    const told = lines.filter((line) => line.startsWith("deliveries were due later than their ladder allows"));
    expect(told.length).toBeGreaterThan(0);
    await receiver.close();
  });

  it.each([true, false])("ask for the time whenever they renew their lease (alone: %s)", async (alone) => {
    const url = server!.urlOf(await createDatabase(server!));
    const [host, dir] = [new ManualClock(), temporaryDirectory()];
    const clock = new DatabaseClock(host);
    const { ownership } = await openPostgresDatabase(url, { clock, dir, leaseMs: 60_000, alone });
    expect(clock.aheadMs).toBeNull();
    await ownership.renew();
    await expect.poll(() => clock.aheadMs, { interval: 5 }).not.toBeNull();
    // The clock is set far away from the real time.
    host.step(DAY);
    const before = clock.aheadMs!;
    host.advance(DAY);
    await ownership.renew();
    await expect.poll(() => clock.aheadMs, { interval: 5 }).toBeGreaterThan(before + DAY / 2);
  });

  it("all date events by the clock once one found that it had been ahead", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const [clock, dir] = [new ManualClock(), temporaryDirectory()];
    const start = () => openPostgresDatabase(url, { clock, dir, leaseMs: 60_000 });
    const [a, b] = [await start(), await start()];
    const received = async (store: Store) => {
      const { id } = await publishOne(store, {}, clock.now());
      return (await store.reads.getEvent(null, id))!.receivedAt;
    };
    clock.step(DAY);
    expect(await received(a)).toBe(clock.now());
    clock.step(-DAY);
    expect(await received(a)).toBe(clock.now());
    await b.ownership.renew();
    for (const store of [b, a, b]) {
      clock.advance(60_000);
      expect(await received(store)).toBe(clock.now());
    }
    const { data } = await b.reads.listEvents({ ...EVERYTHING, since: clock.now() - 90_000 });
    expect(data).toHaveLength(2);
  });

  it("say so, and stay ready", async () => {
    const { daemon, first, second } = await twoNodes([], [3000, 0]);
    const status = async () => (await daemon.request("GET", "/v1/status")).body;
    const seen = async () => (await status()).nodes.map((node: any) => node.clock_ahead_ms);
    const about = (ms: number) => expect.closeTo(ms, -3);
    await expect.poll(seen).toEqual([about(3000), about(0)]);
    expect((await status()).clock_ahead_ms).toEqual(about(3000));
    const ready = await fetch(new URL("/readyz", daemon.url));
    expect([ready.status, ready.headers.get("x-webhookd-clock")]).toEqual([200, "3.0 s ahead of PostgreSQL"]);
    const isTold = (line: string) => line.startsWith("the clock of this host is 3.0 s ahead of PostgreSQL's; ");
    await expect.poll(() => first.lines.filter(isTold)).toHaveLength(1);
    expect(second.lines.filter((line) => line.includes("clock"))).toEqual([]);
  });
});
