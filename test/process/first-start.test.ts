import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, statSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { it, type DaemonProcess, type Machine } from "../harness/process.ts";
import { Random } from "../sim/random.ts";

describe.concurrent("a first start", () => {
  it("makes a data directory and files that no other user may read", async ({ machine }) => {
    const { dir } = await machine.serve();
    expect(modeOf(dir)).toBe("700");
    const names = readdirSync(dir);
    expect(names).toEqual(
      expect.arrayContaining(["STORE", "admin.key", "secret.key", "webhookd.db", "webhookd.db-wal", "webhookd.sock"]),
    );
    expect(names.map((name) => `${name} ${modeOf(join(dir, name))}`)).toEqual(names.map((name) => `${name} 600`));
  });

  it("prints JSON lines and says where the admin's key is and which file to copy", async ({ machine }) => {
    const daemon = await machine.serve({ dev: false });
    expect(await daemon.stop()).toBe(0);
    const lines = daemon.process.lines.map((line) => JSON.parse(line));
    for (const line of lines) expect(line).toEqual(expect.objectContaining({ level: expect.any(String) }));
    for (const { time } of lines) expect(new Date(time).toISOString()).toBe(time);
    expect(lines).toContainEqual(expect.objectContaining({ file: join(daemon.dir, "admin.key") }));
    expect(lines).toContainEqual(expect.objectContaining({ file: join(daemon.dir, "secret.key"), level: "warn" }));
    expect(daemon.process.stderr).toBe("");
  });

  it("says neither again when it is not the first", async ({ machine }) => {
    await (await machine.serve()).stop();
    const { process } = await machine.serve();
    expect(process.stdout).not.toMatch(/admin\.key|secret\.key|created a new store/);
  });

  it("prints no key or secret, whatever it works on and however much it logs", async ({ machine }) => {
    const receiver = await machine.receiver(500);
    const daemon = await machine.serve({
      flags: ["--log-level", "debug"],
      settings: { RETRY_DELAYS: "1ms" },
    });
    const headers = { "x-api-key": "canary-header-value" };
    const { signing_secret } = await daemon.register(receiver.url, { headers });
    const wrong = "whk_canarycanarycanarycanary";
    expect((await daemon.request("GET", "/v1/keys", undefined, wrong)).status).toBe(401);
    const { body: key } = await daemon.request("POST", "/v1/keys", { name: "app", scopes: ["publish"] });
    expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
    expect(await daemon.stop()).toBe(0);

    const printed = daemon.process.stdout + daemon.process.stderr;
    const secrets = [contentOf(daemon, "admin.key"), contentOf(daemon, "secret.key"), signing_secret, key.key, wrong];
    for (const secret of [...secrets, headers["x-api-key"]]) expect(printed).not.toContain(secret);
    // The secret part of each key, without its id.
    for (const token of [contentOf(daemon, "admin.key"), key.key]) expect(printed).not.toContain(token.slice(-40));
    expect(printed).toContain("delivery.attempted");
  });
});

describe("a first start that is killed", () => {
  it("twenty times, at moments spread over what it does with its files, is finished by the next one", async ({
    machine,
  }) => {
    mkdirSync(machine.dir, { mode: 0o700 });
    const random = new Random(20);
    for (let round = 0; round < 20; round++) {
      const process = machine.start();
      const watcher = watch(machine.dir);
      await once(watcher, "change");
      watcher.close();
      await delay(4 * (round + random.next()));
      process.kill("SIGKILL");
      expect(await process.exit, process.stderr).toBe("SIGKILL");
    }
    await publishesAndDelivers(machine);
  });

  const files = [
    "webhookd.lock",
    "secret.key.tmp",
    "secret.key",
    "webhookd.db",
    "webhookd.db-wal",
    "admin.key",
    "STORE",
  ];
  it.for(files)("as soon as %s is there is finished by the next one", async (name, { machine }) => {
    mkdirSync(machine.dir, { mode: 0o700 });
    const process = machine.start();
    const watcher = watch(machine.dir, (_, changed) => changed === name && process.kill("SIGKILL"));
    expect(await process.exit, process.stderr).toBe("SIGKILL");
    watcher.close();
    await publishesAndDelivers(machine);
  });
});

async function publishesAndDelivers(machine: Machine): Promise<void> {
  const receiver = await machine.receiver();
  const daemon = await machine.serve();
  const { signing_secret } = await daemon.register(receiver.url);
  expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
  expect(receiver.verify(receiver.requests[0]!, signing_secret)).toBe(true);
  expect(await daemon.stop()).toBe(0);
  // The first check of the disk's space creates the reserve that a start on a full disk uses.
  const names = readdirSync(daemon.dir).filter((name) => !name.startsWith("webhookd.reserve-"));
  expect(names.sort()).toEqual(["STORE", "admin.key", "secret.key", "webhookd.db", "webhookd.lock"]);
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

function contentOf({ dir }: DaemonProcess, name: string): string {
  return readFileSync(join(dir, name), "utf8").trim();
}
