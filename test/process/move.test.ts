/** A store that moves to PostgreSQL and back while its daemon publishes and sends. */
import { afterAll, describe, expect } from "vitest";
import { startServer, withClient } from "../harness/postgres.ts";
import { MAIN, it, type DaemonProcess, type Machine } from "../harness/process.ts";
import type { MovedTable } from "../../src/store/move/move.ts";
import { createDatabase } from "../store/stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to move a store into");
afterAll(() => server?.stop());

const RETRY_AFTER = "10s";

/** Publishes all the time, and records the ids of acknowledged events. */
function publishTo(daemon: DaemonProcess, acked: string[]): Promise<unknown> {
  return Promise.all(
    Array.from({ length: 3 }, async () => {
      for (;;) acked.push(await daemon.publish());
    }).map((publisher) => publisher.catch(() => {})),
  );
}

/** Moves the store while the daemon runs, and stops the daemon when the command says so. */
async function moveBeside(machine: Machine, daemon: DaemonProcess, words: readonly string[]) {
  const moving = machine.spawn(process.execPath, [MAIN, "migrate", ...words, "--online", "--json"]);
  const said = () => moving.stderr;
  const ended = moving.exit.then((code) => expect([code, said()]).toEqual([0, expect.stringContaining("Stop ")]));
  await Promise.race([ended, expect.poll(said, { timeout: 120_000 }).toMatch(/^Stop .* now\./m)]);
  expect(await daemon.stop()).toBe(0);
  await ended;
  const moved = JSON.parse(moving.stdout) as { tables: MovedTable[]; stoppedMs: number };
  expect(moved.stoppedMs).toBeLessThan(10_000);
  return new Map(moved.tables.map(({ name, rows }) => [name, rows]));
}

describe.skipIf(server === null)("a store that is moved beside its daemon", () => {
  it("loses nothing, sends nothing twice, and its ladders go on", async ({ machine }) => {
    const url = server!.urlOf(await createDatabase(server!));
    const receiver = await machine.receiver();
    const failing = await machine.receiver(...Array.from({ length: 10 }, () => 503));
    const settings = { RETRY_DELAYS: RETRY_AFTER };
    const first = await machine.serve({ settings });
    await first.register(receiver.url);
    const { id: left } = await first.register(failing.url);
    const acked: string[] = [];
    const publishing = publishTo(first, acked);
    await expect.poll(() => failing.requests.length).toBeGreaterThan(10);
    await first.request("PATCH", `/v1/webhooks/${left}`, { events: ["goal.achieved"] });

    // After a killed move the next one continues, and the daemon notices nothing.
    await withClient(url, async (client) => {
      const killed = machine.spawn(process.execPath, [MAIN, "migrate", "--to", url, "--online"]);
      const begun = async () => (await client.query("SELECT to_regclass('delivery') IS NOT NULL AS is")).rows[0].is;
      await expect.poll(begun).toBe(true);
      killed.kill("SIGKILL");
      await killed.exit;
    });
    const again = ["--to", url, "--resume"];
    const there = await moveBeside(machine, first, again);
    await publishing;
    expect(there.get("event")).toBeGreaterThanOrEqual(acked.length);

    const second = await machine.serve({ settings: { ...settings, DATA_STORE: url } });
    const publishingThere = publishTo(second, acked);
    const { id: gone } = await second.register(receiver.url, { events: ["goal.achieved"] });
    await second.request("DELETE", `/v1/webhooks/${gone}`);
    const back = await moveBeside(machine, second, ["--from", url]);
    await publishingThere;
    expect(back.get("event")).toBeGreaterThan(there.get("event")!);

    const third = await machine.serve({ settings });
    acked.push(await third.publish());
    for (const id of acked) expect(await third.settled(id)).toMatchObject({ status: "delivered" });
    const idOf = ({ body }: { body: Buffer }): string => JSON.parse(body.toString()).id;
    const ids = receiver.requests.map(idOf);
    // No attempt was in flight when a daemon stopped, so none was repeated.
    expect([new Set(ids).size, ids.length]).toEqual([back.get("event")! + 1, back.get("event")! + 1]);
    expect(acked.filter((id) => !ids.includes(id))).toEqual([]);
    for (const [id, requests] of Map.groupBy(failing.requests, idOf)) {
      const attempts = (await third.attempts(id)).filter((attempt) => JSON.stringify(attempt).includes(left));
      expect(attempts.map(({ number }) => number)).toEqual(requests.map((_, at) => at + 1));
    }
    expect(await third.stop()).toBe(0);
  });
});
