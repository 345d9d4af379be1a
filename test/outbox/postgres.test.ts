/** Tests of an outbox in PostgreSQL: its transactions, its rights, and a server that is away. */
import { join } from "node:path";
import { Client } from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { CLAIM_MS, lastingFrom } from "../../src/domain/outbox/key.ts";
import { startDaemon } from "../../src/daemon.ts";
import { silentLog } from "../../src/log.ts";
import { aDirectory, testConfig } from "../harness/daemon.ts";
import { draft, withCapacity } from "../store/fixtures.ts";
import { Link } from "../harness/link.ts";
import { createDatabase, openPostgresDatabase } from "../store/stores.ts";
import { eventsOf, insertRow, onPostgres, reading, requireServer, ROLE } from "./outbox.ts";

const WAIT = { timeout: 20_000, interval: 20 };

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Returns a log, and its lines about outboxes. */
function listening() {
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void (message.includes("outbox") && lines.push(message));
  return { lines, log: { ...silentLog, error: note, warn: note, info: note } };
}

it("does not skip the rows of a transaction that lasts longer than later ones", async () => {
  const application = await onPostgres();
  const { daemon } = await reading(application);
  const long = await connected(application.url);
  await long.query("BEGIN");
  await insertRow(long, { data: '{"n":1}' });
  await application.insert({ data: '{"n":2}' });
  await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(1), WAIT);
  await long.query("COMMIT");
  await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(2), WAIT);
  await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
});

it("is shared by nodes: each row becomes one event", async () => {
  const application = await onPostgres();
  const server = await requireServer();
  const settings = { DATA_STORE: server.urlOf(await createDatabase(server)), DATA_NODES: "true" };
  const { daemon } = await reading(application, { settings, leaseMs: 60_000, paused: true });
  const ofOther = { ...settings, DATA_SECRET_KEY_FILE: join(daemon.dir, "secret.key") };
  const config = testConfig(aDirectory(), { hostClock: systemClock, settings: ofOther });
  const parts = { log: silentLog, hostClock: systemClock, leaseMs: 60_000 };
  const other = await startDaemon({ ...config, outboxes: [application.outbox] }, parts);
  onTestFinished(() => other.stop());
  for (let round = 0; round < 5; round++) {
    await application.insert(...Array.from({ length: 400 }, (_, n) => ({ data: `{"n":${round * 400 + n}}` })));
  }
  await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
  expect(await eventsOf(daemon)).toHaveLength(2000);
});

it("is read again after each cut of its connection, and no row is lost or doubled", async () => {
  const application = await onPostgres();
  const { daemon } = await reading(application, { paused: true });
  const client = await connected(application.url);
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 30; n++) await insertRow(client, { data: `{"n":${round * 30 + n}}` });
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`);
  }
  await vi.waitFor(async () => expect(await application.rows()).toEqual([]), WAIT);
  expect(await eventsOf(daemon)).toHaveLength(300);
});

it.each([
  [
    "without the right to delete",
    `REVOKE DELETE ON webhookd_outbox FROM ${ROLE}`,
    `GRANT DELETE ON webhookd_outbox TO ${ROLE}`,
    "the user lacks a right to the table",
  ],
  [
    "with another schema",
    "ALTER TABLE webhookd_outbox RENAME COLUMN data TO payload",
    "ALTER TABLE webhookd_outbox RENAME COLUMN payload TO data",
    "has no column data",
  ],
  [
    "without its table",
    "ALTER TABLE webhookd_outbox RENAME TO other",
    "ALTER TABLE other RENAME TO webhookd_outbox",
    "there is no table webhookd_outbox",
  ],
  [
    "locked by somebody",
    "BEGIN; LOCK TABLE webhookd_outbox IN ACCESS EXCLUSIVE MODE",
    "COMMIT",
    "webhookd's statements",
  ],
])("says within 5 s that it is %s, publishes by the API, and goes on by itself", async (_what, breaks, mends, said) => {
  const application = await onPostgres();
  const { lines, log } = listening();
  const { daemon } = await reading(application, { log });
  await vi.waitFor(() => expect(lines).toEqual(["the outbox is read"]), WAIT);
  const owner = await connected(application.url);
  await owner.query(breaks);
  const brokenAt = performance.now();
  await vi.waitFor(() => expect(lines[1]).toContain(said), WAIT);
  expect(performance.now() - brokenAt).toBeLessThan(10_000);
  await daemon.publish();
  await owner.query(mends);
  await vi.waitFor(() => expect(lines.slice(2)).toEqual(["the outbox is read again"]), WAIT);
  await application.insert({ data: '{"n":1}' });
  await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(2), WAIT);
});

it("refuses a row that a process has read long ago, because its key may have been used and forgotten since", async () => {
  const server = await requireServer();
  const url = server.urlOf(await createDatabase(server));
  const store = await openPostgresDatabase(url, { dir: aDirectory(), clock: systemClock });
  const publish = (key: string, readAt: number) => {
    const idempotency = { key, fingerprint: Buffer.alloc(32), expiresAt: lastingFrom(readAt) };
    return store.events.publish([draft({ idempotency })], Date.now(), withCapacity);
  };
  await expect(publish("old", Date.now() - CLAIM_MS - 1000)).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(await publish("new", Date.now() - CLAIM_MS / 2)).toHaveLength(1);
  expect(await store.idempotency.lasting(0, Date.now(), 10)).toEqual([expect.objectContaining({ key: "new" })]);
});

it("says within 5 s that its server is silent, publishes by the API, and goes on by itself", async () => {
  const application = await onPostgres();
  const url = new URL(application.url);
  const link = await Link.to(Number(url.port));
  onTestFinished(() => link.close());
  const through = `postgres://${ROLE}@127.0.0.1:${link.port}${url.pathname}`;
  const { lines, log } = listening();
  const outbox = { ...application.outbox, database: { kind: "postgres", url: through } } as const;
  const { daemon } = await reading({ ...application, outbox }, { log });
  await vi.waitFor(() => expect(lines).toEqual(["the outbox is read"]), WAIT);
  link.silence();
  const silentAt = performance.now();
  await vi.waitFor(() => expect(lines[1]).toContain("it does not answer"), WAIT);
  expect(performance.now() - silentAt).toBeLessThan(10_000);
  await daemon.publish();
  const { body: retried } = await daemon.request("POST", "/v1/outboxes/shop/retry", {});
  expect(retried).toMatchObject({ code: "outbox_unavailable", retryable: true });
  const { body } = await daemon.request("GET", "/v1/outboxes");
  const what: unknown = expect.stringContaining("it does not answer");
  expect(body.data).toMatchObject([{ name: "shop", up: false, trouble: { what } }]);
  await application.insert({});
  link.resume();
  await vi.waitFor(async () => expect(await eventsOf(daemon)).toHaveLength(2), WAIT);
  await vi.waitFor(() => expect(lines.slice(2)).toEqual(["the outbox is read again"]), WAIT);
});
