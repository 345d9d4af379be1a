/** PostgreSQL falls silent: packets are dropped, but no connection is refused. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "pg";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { Link } from "../harness/link.ts";
import { startServer, withClient } from "../harness/postgres.ts";
import { DaemonProcess, it, type Machine } from "../harness/process.ts";
import { createDatabase } from "../store/stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to be cut off from");
afterAll(() => server?.stop());

/** The promised time, and a margin for a busy machine. */
const TOLD_MS = 3000;
const BUSY_MS = 1500;

/** Starts one of several nodes, behind a link that can be silenced. */
async function linked(machine: Machine, settings: Readonly<Record<string, string>> = {}) {
  const database = await createDatabase(server!);
  const direct = server!.urlOf(database);
  const link = await Link.to(Number(new URL(direct).port));
  onTestFinished(() => link.close());
  const url = `postgres://test@127.0.0.1:${link.port}/${database}`;
  const key = join(machine.home, "secret.key");
  writeFileSync(key, "0b".repeat(32), { mode: 0o600 });
  const all = { DATA_SECRET_KEY_FILE: key, DATA_NODES: "true", RETRY_DELAYS: "10m", ...settings };
  const daemon = await machine.serve({ settings: { ...all, DATA_STORE: url } });
  const beside = () => {
    const dir = join(machine.home, "beside");
    mkdirSync(dir, { mode: 0o700 });
    return machine.start({ dir, settings: { ...all, DATA_STORE: direct } });
  };
  return { beside, daemon, direct, link };
}

const timed = async <T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> => {
  const begun = performance.now();
  const value = await work();
  return { value, ms: performance.now() - begun };
};

describe.skipIf(server === null)("while PostgreSQL is silent", () => {
  it("publishes get 503, and probes and people are told since when, within three seconds", async ({ machine }) => {
    const { daemon, link } = await linked(machine);
    const ready = async () => (await fetch(new URL("/readyz", daemon.url))).status;
    await daemon.publish();
    expect(await ready()).toBe(200);
    link.silence();
    const began = performance.now();
    const event = { type: "budget.exceeded", data: {} };
    const publish = () => daemon.request("POST", "/v1/webhooks/events", event);
    // The first publish is sent before the daemon can know of the silence, and another comes later.
    const first = await timed(publish);
    expect(first.value.status).toBe(503);
    expect(first.ms).toBeLessThan(TOLD_MS + BUSY_MS);
    const isTold = expect.poll(ready, { timeout: TOLD_MS + BUSY_MS, interval: 50 });
    await isTold.toBe(503);
    expect(performance.now() - began).toBeLessThan(TOLD_MS + BUSY_MS);
    const later = await timed(publish);
    expect(later.value.status).toBe(503);
    expect(later.ms).toBeLessThan(1000);
    const { ms, value: shown } = await timed(() => machine.webhookd("status"));
    expect(ms).toBeLessThan(TOLD_MS + BUSY_MS);
    expect(shown.stdout).toContain("store_unavailable");
    expect(shown.stdout).toMatch(/NO STORE {2}for \d+s: PostgreSQL at 127\.0\.0\.1:\d+.*does not answer/);
    expect(shown.code).toBe(8);
    await daemon.process.json(({ msg }) => String(msg).startsWith("the store cannot be used: PostgreSQL at"));
    link.resume();
    await expect.poll(ready, { timeout: 10_000 }).toBe(200);
    await daemon.publish();
  });

  it("but not where it only is slow: a lock that is held, and a commit that waits", async ({ machine }) => {
    const { daemon, direct } = await linked(machine);
    await daemon.publish();
    await withClient(direct, async (other) => {
      await other.query("BEGIN; LOCK TABLE event IN ACCESS EXCLUSIVE MODE");
      const publishing = daemon.publish();
      const waits = "SELECT 1 FROM pg_locks WHERE NOT granted";
      await expect.poll(async () => (await other.query(waits)).rows.length).toBeGreaterThan(0);
      await new Promise((resolve) => setTimeout(resolve, TOLD_MS + BUSY_MS));
      expect((await fetch(new URL("/readyz", daemon.url))).status).toBe(200);
      await other.query("COMMIT");
      await publishing;
    });
  });
});

describe.skipIf(server === null)("a node that is cut off for longer than its lease", () => {
  it("owns nothing meanwhile, joins the others again by itself, and loses nothing", async ({ machine }) => {
    const { beside, daemon, direct, link } = await linked(machine);
    const receiver = await machine.receiver();
    for (let left = 12; left > 0; left--) await daemon.register(receiver.url);
    const started = beside();
    const { url } = await started.json(({ msg }) => msg === "listening");
    const other = new DaemonProcess(started, String(url), daemon.dir);
    const owners = (client: Client) =>
      client.query<{ n: number }>(
        "SELECT count(*)::integer AS n FROM slot s JOIN node o ON o.id = s.owner GROUP BY o.id",
      );
    await withClient(direct, async (client) => {
      const shares = async () => (await owners(client)).rows.map(({ n }) => n).toSorted((a, b) => a - b);
      await expect.poll(shares, { timeout: 20_000 }).toEqual([512, 512]);
      const acked = [await daemon.publish(), await other.publish()];
      // No attempt may be in flight when the link breaks: the other node would repeat it.
      for (const id of acked) await other.settled(id);
      link.silence();
      // The other node has all slots once the lease has expired.
      await expect.poll(shares, { timeout: 20_000 }).toEqual([1024]);
      acked.push(await other.publish());
      const refused = await daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: {} });
      expect(refused.status).toBe(503);
      link.resume();
      await daemon.process.json(({ msg }) => String(msg).includes("it has joined them again"));
      await expect.poll(shares, { timeout: 20_000 }).toEqual([512, 512]);
      await expect
        .poll(
          () =>
            daemon.publish().then(
              (id) => acked.push(id) > 0,
              () => false,
            ),
          { timeout: 10_000 },
        )
        .toBe(true);
      for (const id of acked) expect(await other.settled(id)).toMatchObject({ status: "delivered" });
      const times = Map.groupBy(receiver.requests, ({ body, path }) => `${path} ${JSON.parse(body.toString()).id}`);
      expect(receiver.requests.length).toBe(12 * acked.length);
      expect(times.size).toBe(acked.length);
    });
    expect(daemon.process.stdout).not.toContain("a bug");
    expect(await daemon.stop()).toBe(0);
    expect(await other.stop()).toBe(0);
  });
});
