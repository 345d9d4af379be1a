/** The daemon on a store in PostgreSQL, from the first start to a restart, and while the database is away. */
import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import { settingsTexts } from "../../../src/config/schema.ts";
import { startDaemon } from "../../../src/daemon.ts";
import { aDirectory, testConfig, TestDaemon } from "../../harness/daemon.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { TestReceiver } from "../../harness/receiver.ts";
import { silentLog } from "../../../src/log.ts";
import { PostgresSide } from "../../../src/store/postgres/moving.ts";
import { createDatabase } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to serve on");
afterAll(() => server?.stop());

const freshUrl = async () => server!.urlOf(await createDatabase(server!));
const onStore = (url: string, more: Record<string, string> = {}) => ({ settings: { DATA_STORE: url, ...more } });

const liveLeases = (url: string): Promise<number> =>
  withClient(url, async (client) => (await client.query("SELECT 1 FROM node WHERE lease_until > now()")).rows.length);

/** Starts a proxy to the database, which can be cut or go silent. */
async function wire(url: string) {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let mode: "up" | "down" | "silent" = "up";
  let commits = 0;
  const lost = Promise.withResolvers<void>();
  const proxy = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    if (mode === "down") return socket.destroy();
    if (mode === "silent") return;
    const other = connect(Number(port), hostname);
    open.add(other);
    other.on("error", () => {});
    socket.on("close", () => other.destroy());
    other.on("close", () => socket.destroy());
    let isMute = false;
    socket.on("data", (data) => {
      if (commits > 0 && data.includes("COMMIT")) {
        commits--;
        isMute = true;
        // The wait is longer than the server takes to commit.
        setTimeout(() => {
          lost.resolve();
          socket.destroy();
        }, 200);
      }
      if (mode === "up") other.write(data);
    });
    other.on("data", (data) => void (mode === "up" && !isMute && socket.write(data)));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    proxy.close();
  });
  return {
    url: url.replace(/@[^/]+/, `@127.0.0.1:${(proxy.address() as AddressInfo).port}`),
    /** Passes the next commits to the server, and drops the responses. */
    loseCommits(count: number) {
      commits = count;
    },
    /** Resolves when the first of these commits has reached the server. */
    lost: () => lost.promise,
    set(next: typeof mode) {
      mode = next;
      for (const socket of open) socket.destroy();
      open.clear();
    },
  };
}

describe.skipIf(server === null)("a daemon on PostgreSQL", () => {
  it("publishes, signs, delivers and retries, and goes on after a restart", async () => {
    const [url, dir, clock] = [await freshUrl(), aDirectory(), new ManualClock()];
    const receiver = await TestReceiver.start([500, 200]);
    const first = await TestDaemon.start({ dir, clock, ...onStore(url) });
    expect(first.daemon.created).toBe(true);
    const { signing_secret } = await first.register(receiver.url);
    const id = await first.publish();
    await first.daemon.idle();
    expect(await first.event(id)).toMatchObject({ status: "pending", deliveries: [{ attempts: 1 }] });
    await first.stop();

    const daemon = await TestDaemon.start({ dir, clock, ...onStore(url) });
    expect(daemon.daemon.created).toBe(false);
    clock.advance("1m");
    await daemon.daemon.tick();
    await daemon.daemon.idle();
    expect(await daemon.event(id)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 2 }] });
    expect(receiver.requests).toHaveLength(2);
    for (const { headers, body } of receiver.requests) {
      expect(body).toEqual(receiver.requests[0]!.body);
      expect(headers["x-service-signature"]).toBe(createHmac("sha256", signing_secret).update(body).digest("hex"));
    }
    const { body: status } = await daemon.request("GET", "/v1/status");
    expect(status).toMatchObject({ state: "ready", not_sending: [] });
    expect(JSON.stringify(status)).not.toContain("postgres://");
    await receiver.close();
  });

  it("leaves backups and the disk to PostgreSQL: neither is a failure, nor a number that nobody knows", async () => {
    const errors: string[] = [];
    const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
    const daemon = await TestDaemon.start({ log, ...onStore(await freshUrl()) });
    const refused = await daemon.request("POST", "/v1/backups", {});
    expect(refused).toMatchObject({ body: { code: "backup_failed", detail: expect.stringContaining("pg_dump") } });
    const { body: status } = await daemon.request("GET", "/v1/status");
    expect(status.backup).toMatchObject({ last: null, failure: null });
    expect(errors).toEqual([]);
    const key = readFileSync(join(daemon.dir, "admin.key"), "utf8").trim();
    const metrics = await fetch(new URL("/metrics", daemon.url), { headers: { authorization: `Bearer ${key}` } });
    const text = await metrics.text();
    expect(text).toContain("webhookd_store_bytes");
    expect(text).not.toMatch(/^webhookd_disk_free_bytes /m);
  });

  it("answers 503 while its database is away, and goes on by itself with all that it acknowledged", async () => {
    const url = await freshUrl();
    const way = await wire(url);
    const receiver = await TestReceiver.start();
    const daemon = await TestDaemon.start({ clock: systemClock, leaseMs: 1500, ...onStore(way.url) });
    await daemon.register(receiver.url);
    const acked = [await daemon.publish()];
    way.set("down");
    await expect.poll(async () => (await daemon.request("POST", "/v1/webhooks/events", DRAFT)).status).toBe(503);
    const key = readFileSync(join(daemon.dir, "admin.key"), "utf8").trim();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const refused = await fetch(new URL("/v1/webhooks/events", daemon.url), {
      method: "POST",
      headers,
      body: JSON.stringify(DRAFT),
    });
    expect([refused.status, refused.headers.has("retry-after")]).toEqual([503, true]);
    // Once the lease has run out, another process could take the store.
    await expect.poll(() => liveLeases(url)).toBe(0);
    way.set("up");
    await expect.poll(async () => (await daemon.request("POST", "/v1/webhooks/events", DRAFT)).status).toBe(202);
    acked.push(await daemon.publish());
    for (const id of acked) await expect.poll(async () => (await daemon.event(id)).status).toBe("delivered");
    const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()).id);
    expect(acked.filter((id) => !sent.includes(id))).toEqual([]);
    await receiver.close();
  });

  it("acknowledges an event once whose commit was answered to nobody", async () => {
    const way = await wire(await freshUrl());
    const daemon = await TestDaemon.start({ clock: systemClock, ...onStore(way.url) });
    const receiver = await TestReceiver.start();
    await daemon.register(receiver.url);
    for (let round = 0; round < 3; round++) {
      way.loseCommits(1);
      await daemon.publish();
    }
    const { body } = await daemon.request("GET", "/v1/webhooks/events");
    expect(body.data).toHaveLength(3);
    await expect.poll(() => receiver.requests.length).toBe(3);
    await receiver.close();
  });

  it("sends at once what was committed after all, once its database tells it so", async () => {
    const way = await wire(await freshUrl());
    const lines: string[] = [];
    const note = (_: object, message: string) => void lines.push(message);
    const log = { ...silentLog, warn: note, error: note };
    const daemon = await TestDaemon.start({ clock: systemClock, log, ...onStore(way.url) });
    const receiver = await TestReceiver.start();
    await daemon.register(receiver.url);
    way.loseCommits(1);
    const publishing = daemon.request("POST", "/v1/webhooks/events", DRAFT);
    await way.lost();
    way.set("down");
    expect(await publishing).toMatchObject({ status: 503, body: { code: "storage_unavailable" } });
    expect(receiver.requests).toHaveLength(0);
    way.set("up");
    // The check that runs once a minute would find the event too.
    await expect.poll(() => receiver.requests.length, { timeout: 45_000 }).toBe(1);
    expect(lines.filter((line) => line.includes("deliveries"))).toEqual([
      "sending deliveries that were committed after all, although their caller was told that they were not",
    ]);
    // The event was created once, and later events are published as before.
    await daemon.publish();
    expect((await daemon.request("GET", "/v1/webhooks/events")).body.data).toHaveLength(2);
    await expect.poll(() => receiver.requests.length).toBe(2);
    await receiver.close();
  });

  it("is the only one on its database, until it ends or its lease runs out", async () => {
    const url = await freshUrl();
    const first = await TestDaemon.start({ clock: systemClock, ...onStore(url) });
    const [dir, key] = [aDirectory(), join(first.dir, "secret.key")];
    const other = { dir, clock: systemClock, leaseMs: 60_000, ...onStore(url, { DATA_SECRET_KEY_FILE: key }) };
    const config = testConfig(dir, other);
    const start = () => startDaemon(config, { log: silentLog, clock: systemClock, leaseMs: 30_000 });
    await first.stop();
    const second = await start();
    await expect(start()).rejects.toThrow("another webhookd");
    const third = testConfig(aDirectory(), other);
    await expect(startDaemon(third, { log: silentLog })).rejects.toThrow("another webhookd is using the PostgreSQL");
    await second.stop();
  });

  it("does not start without the key, and asks for another host's copy, as no backup of a file has it", async () => {
    const url = await freshUrl();
    await (await TestDaemon.start({ clock: systemClock, ...onStore(url) })).stop();
    const config = testConfig(aDirectory(), onStore(url));
    await expect(startDaemon(config, { log: silentLog })).rejects.toMatchObject({
      message: expect.stringMatching(/secret\.key is missing/),
      hint: expect.stringMatching(/^copy it from a host that uses this store(?!.*(?:restore|reissue))/),
    });
  });

  it("sends what another node committed late, behind what it has read since", async () => {
    const url = await freshUrl();
    const first = await TestDaemon.start({ clock: systemClock, ...onStore(url, { DATA_NODES: "true" }) });
    const key = join(first.dir, "secret.key");
    const config = testConfig(aDirectory(), onStore(url, { DATA_NODES: "true", DATA_SECRET_KEY_FILE: key }));
    const errors: string[] = [];
    const log = { ...silentLog, error: (_: object, message: string) => void errors.push(message) };
    const second = await startDaemon(config, { log });
    const receiver = await TestReceiver.start();
    await withClient(url, async (client) => {
      const ofSecond = `SELECT e.id FROM endpoint e JOIN slot s ON s.slot = e.slot JOIN node n ON n.id = s.owner
        WHERE n.number = 1 AND e.id = $1`;
      /** Registers an endpoint, and keeps it only if it belongs to the second node. */
      const register = async () => {
        const { id } = await first.register(receiver.url);
        const is = (await client.query(ofSecond, [id])).rowCount === 1;
        if (!is) await first.request("DELETE", `/v1/webhooks/${id}`);
        return is;
      };
      await expect.poll(register, { interval: 100 }).toBe(true);
      const sent = () => receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string);
      // The first node has written everything but this row, and cannot commit.
      await client.query("BEGIN; LOCK TABLE idempotency IN SHARE ROW EXCLUSIVE MODE");
      const publishing = first.request("POST", EVENTS, DRAFT, { "idempotency-key": "late" });
      const isHeldUp = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'idempotency'::regclass";
      await expect.poll(async () => (await client.query(isHeldUp)).rowCount).toBe(1);
      const authorization = `Bearer ${readFileSync(join(first.dir, "admin.key"), "utf8").trim()}`;
      const headers = { authorization, "content-type": "application/json" };
      for (let left = 3; left > 0; left--) {
        const published = await fetch(new URL(EVENTS, second.url), {
          method: "POST",
          headers,
          body: JSON.stringify(DRAFT),
        });
        await expect.poll(sent).toContain(((await published.json()) as { id: string }).id);
      }
      await client.query("COMMIT");
      const { id: late } = (await publishing).body;
      expect(late < sent().at(-1)!).toBe(true);
      await expect.poll(sent).toContain(late);
      // The check for deliveries missing from memory would find the event within a minute, but report a bug.
      expect(errors).toEqual([]);
    });
    await second.stop();
    await receiver.close();
  });

  it("says what is wrong with a database that it cannot use, and never shows the password", async () => {
    const url = "postgres://somebody:hunter2@127.0.0.1:1/none";
    const config = testConfig(aDirectory(), onStore(url));
    const error = await startDaemon(config, { log: silentLog }).catch((reason: unknown) => reason as Error);
    expect(error).toMatchObject({ exitCode: 74 });
    expect((error as Error).message).toContain("127.0.0.1:1/none cannot be used");
    const said = [error, String((error as Error).stack), settingsTexts(config.settings)];
    expect(JSON.stringify(said)).not.toContain("hunter2");
    const typo = () => testConfig(aDirectory(), onStore("postgres://somebody:hunter2@x@y/none"));
    expect(typo).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hunter2") }));
  });

  it("says that its store is being moved, and does not wait for it", async () => {
    const url = await freshUrl();
    const first = await TestDaemon.start({ clock: systemClock, ...onStore(url) });
    await first.stop();
    const secretKeyFile = join(first.dir, "secret.key");
    const side = await PostgresSide.connect(url, []);
    expect(await side.tryLock()).toBe(true);
    const config = testConfig(aDirectory(), onStore(url, { DATA_SECRET_KEY_FILE: secretKeyFile }));
    await expect(startDaemon(config, { log: silentLog })).rejects.toMatchObject({
      exitCode: 75,
      message: "`webhookd migrate --from` is moving the store out of this PostgreSQL database",
    });
    await side.close();
    await (await startDaemon(config, { log: silentLog })).stop();
  });
});

describe.skipIf(server === null)("a node", () => {
  it("makes the store alone, also if others start on the same empty database at the same time", async () => {
    const name = `empty_${randomUUID().replaceAll("-", "")}`;
    await server!.ask(`CREATE DATABASE ${name}`);
    const secretKeyFile = join(aDirectory(), "secret.key");
    writeFileSync(secretKeyFile, "0b".repeat(32), { mode: 0o600 });
    const settings = { DATA_NODES: "true", DATA_SECRET_KEY_FILE: secretKeyFile };
    const begin = () =>
      startDaemon(testConfig(aDirectory(), onStore(server!.urlOf(name), settings)), { log: silentLog });
    const nodes = await Promise.all([begin(), begin(), begin()]);
    const made = nodes.filter(({ created }) => created).map(({ adminKeyFile }) => existsSync(adminKeyFile!));
    expect(made).toEqual([true]);
    for (const node of nodes) await node.stop();
  });

  it("looks whether its port is free before it comes among the others", async () => {
    const url = "postgres://somebody@127.0.0.1:1/none";
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const settings = { DATA_NODES: "true", SERVER_LISTEN: `127.0.0.1:${port}` };
    const config = testConfig(aDirectory(), onStore(url, settings));
    await expect(startDaemon(config, { log: silentLog })).rejects.toThrow(`cannot listen on 127.0.0.1:${port}`);
  });
});

const EVENTS = "/v1/webhooks/events";
const DRAFT = { type: "budget.exceeded", data: {} };
