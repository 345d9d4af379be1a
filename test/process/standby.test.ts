/**
 * Several processes on one PostgreSQL, of which one has the store: how a second one stands by, and how one that was
 * suspended ends.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { LEASE_MS } from "../../src/store/postgres/node.ts";
import { startServer } from "../harness/postgres.ts";
import { DaemonProcess, it, type Machine } from "../harness/process.ts";
import { createDatabase } from "../store/stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run processes on");
afterAll(() => server?.stop());

/** Starts a process that has the store, and one that stands by. */
async function pair(machine: Machine) {
  const key = join(machine.home, "secret.key");
  writeFileSync(key, "0b".repeat(32), { mode: 0o600 });
  const settings = {
    DATA_STORE: server!.urlOf(await createDatabase(server!)),
    DATA_SECRET_KEY_FILE: key,
    RETRY_DELAYS: "10m",
  };
  const [one, other] = [join(machine.home, "one"), join(machine.home, "other")];
  for (const dir of [one, other]) mkdirSync(dir, { mode: 0o700 });
  const began = performance.now();
  const first = await machine.serve({ dir: one, settings });
  const startMs = performance.now() - began;
  const standby = machine.start({ dir: other, settings: { ...settings, DATA_STANDBY: "true" } });
  await standby.json(({ msg }) => String(msg).startsWith("standing by"));
  const tookOver = async () => {
    const { url } = await standby.json(({ msg }) => msg === "listening");
    return new DaemonProcess(standby, String(url), one);
  };
  return { first, startMs, standby, tookOver, settings };
}

const idOf = ({ body }: { readonly body: Buffer }): string => JSON.parse(body.toString()).id;

describe.skipIf(server === null)("a process that stands by", () => {
  it("takes over from one that is killed under load, and nothing that was acknowledged is lost", async ({
    machine,
  }) => {
    const { first, startMs, tookOver, settings } = await pair(machine);
    const receiver = await machine.receiver();
    await first.register(receiver.url);
    const acked: string[] = [];
    const publishing = Array.from({ length: 8 }, async () => {
      for (;;) acked.push(await first.publish());
    }).map((publisher) => publisher.catch(() => {}));
    await expect.poll(() => acked.length).toBeGreaterThan(100);
    await first.kill9();
    await Promise.all(publishing);
    const killedAt = performance.now();
    const second = await tookOver();
    // A takeover waits for the lease of the dead process, a check of it, and work. The time of a start shows how long
    // work takes on this machine.
    expect(performance.now() - killedAt).toBeLessThan(2 * LEASE_MS + 5 * startMs);
    acked.push(await second.publish());
    for (const id of acked) expect(await second.settled(id)).toMatchObject({ status: "delivered" });
    const sent = new Set(receiver.requests.map(idOf));
    expect(acked.filter((id) => !sent.has(id))).toEqual([]);
    const refused = machine.start({ dir: first.dir, settings });
    expect(await refused.exit).toBe(75);
    expect(refused.stderr).toContain("[data] standby = true");
    expect(await second.stop()).toBe(0);
  });

  it("takes over from one that is suspended, which ends when it goes on, and changes nothing", async ({ machine }) => {
    const { first, tookOver } = await pair(machine);
    const late = Promise.withResolvers<void>();
    const receiver = await machine.receiver({ status: 200, until: late.promise }, 500);
    await first.register(receiver.url);
    const id = await first.publish();
    await receiver.next();
    first.process.kill("SIGSTOP");
    const second = await tookOver();
    await receiver.next();
    await expect.poll(async () => (await second.event(id)).deliveries[0].attempts).toBe(1);
    // The attempt of the first process succeeds, but too late.
    late.resolve();
    first.process.kill("SIGCONT");
    expect(await first.process.exit).toBe(75);
    expect(await second.event(id)).toMatchObject({
      status: "pending",
      deliveries: [{ attempts: 1 }],
    });
    expect(await second.attempts(id)).toMatchObject([{ number: 1, outcome: "failed" }]);
    expect(await second.stop()).toBe(0);
  });

  it("waits until one that stops has recorded what it has on the wire, longer than a lease", async ({ machine }) => {
    const { first, tookOver } = await pair(machine);
    const late = Promise.withResolvers<void>();
    const receiver = await machine.receiver({ status: 200, until: late.promise });
    await first.register(receiver.url);
    const id = await first.publish();
    await receiver.next();
    await first.beginStop();
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 1500));
    late.resolve();
    expect(await first.process.exit).toBe(0);
    const second = await tookOver();
    expect(await second.event(id)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 1 }] });
    expect(receiver.requests).toHaveLength(1);
    expect(await second.stop()).toBe(0);
  });

  it("ends at the first signal", async ({ machine }) => {
    const { first, standby } = await pair(machine);
    standby.kill("SIGTERM");
    expect(await standby.exit).toBe(143);
    expect(await first.stop()).toBe(0);
  });
});
