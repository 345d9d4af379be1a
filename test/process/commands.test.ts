import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { version } from "../../src/build.ts";
import { it, MAIN, type Machine } from "../harness/process.ts";

describe.concurrent("webhookd replay", () => {
  it("speaks through the unix socket and exits 0 when the event was delivered", async ({ machine }) => {
    const { id, receiver } = await aFailedEvent(machine, 500, 500);
    const { code, stdout, stderr } = await machine.webhookd("replay", id);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(new RegExp(`^${id}  budget\\.exceeded\n.+  200 in \\d+ ms\nDelivered\\.\n$`));
    expect(receiver.requests[2]!.body).toEqual(receiver.requests[0]!.body);
  });

  it("speaks TCP with a key file and exits 0 when the event was delivered", async ({ machine }) => {
    const { id, daemon } = await aFailedEvent(machine, 500, 500);
    const words = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key"), "--json"];
    const { code, stdout } = await machine.webhookd("replay", id, ...words);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id, deliveries: [{ status: "delivered", attempt: { number: 3 } }] });
  });

  it("exits 8 and says what came back when the event failed again", async ({ machine }) => {
    const { id } = await aFailedEvent(machine, 500, 500, 503, 503);
    const { code, stdout } = await machine.webhookd("replay", id);
    expect(code).toBe(8);
    expect(stdout).toMatch(/503 in \d+ ms.*\nNot delivered\.\n$/);
  });

  it("exits 6 when there is nothing to replay", async ({ machine }) => {
    const { id } = await aFailedEvent(machine, 500, 500);
    expect(await machine.webhookd("replay", id)).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await machine.webhookd("replay", id);
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toMatch(/^webhookd: .*fail.*\n/);
  });

  it("exits 3 for an event that does not exist, and names it", async ({ machine }) => {
    await machine.serve();
    const { code, stderr } = await machine.webhookd("replay", "evt_00000000000000000000000000");
    expect(code).toBe(3);
    expect(stderr).toContain("evt_00000000000000000000000000");
  });

  it("exits 4 when the key is not the daemon's", async ({ machine }) => {
    const daemon = await machine.serve();
    const keyFile = join(machine.home, "wrong.key");
    writeFileSync(keyFile, "whk_nobodys\n");
    const id = await daemon.publish();
    const { code, stderr } = await machine.webhookd("replay", id, "--url", daemon.url, "--key-file", keyFile);
    expect(code).toBe(4);
    expect(stderr).toContain(keyFile);
    expect(stderr).not.toContain("nobodys");
  });

  it("exits 5 when there is no daemon, and names all that it tried", async ({ machine }) => {
    const { code, stderr } = await machine.webhookd("replay", "evt_00000000000000000000000000");
    expect(code).toBe(5);
    for (const place of ["webhookd.sock", "admin.key"]) expect(stderr).toContain(join(machine.dir, place));
    expect(stderr).toContain("webhookd serve");
  });

  it("exits 5 when the daemon was killed and has left its socket behind", async ({ machine }) => {
    await (await machine.serve()).kill9();
    const { code, stderr } = await machine.webhookd("replay", "evt_00000000000000000000000000");
    expect(code).toBe(5);
    expect(stderr).toContain(`${join(machine.dir, "webhookd.sock")} (nothing is listening there)`);
  });

  it.for([
    [["replay"]],
    [["replay", "evt_1", "ep_2"]],
    [["replay", "ep_1"]],
    [["replay", "evt_1", "--dry-rnu"]],
    [["events", "erase", "ep_1", "--yes"]],
    [["endpoints", "rm", "evt_1", "--yes"]],
  ])("exits 2 for %j and does nothing", async ([words], { machine }) => {
    const { code, stdout, stderr } = await machine.webhookd(...words!);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^webhookd: [^\n]+\n {2}.*Nothing was done/);
  });
});

describe.concurrent("webhookd keys", () => {
  it("makes a key that may do what its scopes say and nothing else", async ({ machine }) => {
    const daemon = await machine.serve();
    const { code, stdout, stderr } = await machine.webhookd("keys", "create", "--name", "app", "--scope", "publish");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^whk_\S+\n$/);
    expect(stderr).toMatch(/^key_\S+ app: publish for tenant default\n/);
    const key = stdout.trim();
    const event = { type: "budget.exceeded", data: {} };
    const endpoint = { url: "https://example.com/hook", events: ["budget.exceeded"] };
    expect(await daemon.request("POST", "/v1/webhooks/events", event, key)).toMatchObject({ status: 202 });
    expect(await daemon.request("POST", "/v1/webhooks", endpoint, key)).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
  });

  it("lists keys without what opens the door", async ({ machine }) => {
    const daemon = await machine.serve();
    const { stdout: token } = await machine.webhookd("keys", "create", "--name", "app", "--scope", "read,publish");
    const { code, stdout } = await machine.webhookd("keys", "list");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^key_\S+ +admin +admin +\* /m);
    expect(stdout).toMatch(/^key_\S+ +app +read,publish +default .* never +valid$/m);
    for (const key of [token.trim(), daemon.key]) expect(stdout).not.toContain(key.slice(-40));
  });

  it("revokes a key for good, at once and after a restart", async ({ machine }) => {
    const before = await machine.serve();
    const { stdout } = await machine.webhookd("keys", "create", "--name", "app", "--scope", "read", "--json");
    const { id, key } = JSON.parse(stdout);
    expect(await before.request("GET", "/v1/webhooks", undefined, key)).toMatchObject({ status: 200 });
    expect(await machine.webhookd("keys", "revoke", id)).toMatchObject({ code: 0 });
    expect(await before.request("GET", "/v1/webhooks", undefined, key)).toMatchObject({ status: 401 });
    await before.kill9();
    const after = await machine.serve();
    expect(await after.request("GET", "/v1/webhooks", undefined, key)).toMatchObject({ status: 401 });
  });
});

describe.concurrent("webhookd status, pause and resume", () => {
  it("work on a daemon that was started with the brake on", async ({ machine }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve({ flags: ["--paused"] });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    const { code, stdout } = await machine.webhookd("status", "--wait");
    expect([code, stdout]).toEqual([0, expect.stringContaining("PAUSED")]);
    expect(receiver.requests).toEqual([]);
    expect(await machine.webhookd("resume")).toMatchObject({ code: 0 });
    expect(await daemon.settled(id)).toMatchObject({ status: "delivered" });
    expect(await machine.webhookd("pause", "enough")).toMatchObject({ code: 0 });
    expect((await daemon.request("GET", "/v1/status")).body.paused).toMatchObject({ reason: "enough", by: "socket" });
  });
});

describe.concurrent("webhookd version", () => {
  it("says it in one line, needs no daemon and makes no file", async ({ machine }) => {
    const ended = { code: 0, stdout: `webhookd ${version}\n`, stderr: "" };
    expect(await machine.webhookd("version")).toEqual(ended);
    expect(await machine.webhookd("--version")).toEqual(ended);
  });
});

/** Creates an event that used up its ladder of two attempts. The daemon keeps running. */
async function aFailedEvent(machine: Machine, ...script: number[]) {
  const receiver = await machine.receiver(...script);
  const daemon = await machine.serve({ settings: { RETRY_DELAYS: "1ms" } });
  await daemon.register(receiver.url);
  const id = await daemon.publish();
  expect(await daemon.settled(id)).toMatchObject({ status: "failed" });
  return { id, receiver, daemon };
}

describe.concurrent("output that cannot be written", () => {
  const isHere = existsSync("/dev/full");
  if (!isHere) console.warn("SKIPPED: there is no /dev/full here, which is a disk without room");
  const intoFull = (machine: Machine, ...words: string[]) =>
    machine.spawn("/bin/sh", ["-c", 'exec "$@" > /dev/full', "sh", process.execPath, MAIN, ...words]);

  it.skipIf(!isHere)("is reported once on stderr, with advice, and exits 74", async ({ machine }) => {
    await machine.serve();
    const create = intoFull(machine, "keys", "create", "--name", "x", "--scope", "read");
    expect(await create.exit).toBe(74);
    expect(create.stderr).toMatch(/^[^]*webhookd: the output could not be written: ENOSPC.*\n {2}What was asked.*\n$/);
    expect(create.stderr.match(/ENOSPC/g)).toHaveLength(1);
    const list = intoFull(machine, "keys", "list", "--json");
    expect(await list.exit).toBe(74);
  });

  it.skipIf(!isHere)("of a log does not end the daemon, and does not count as its failure", async ({ machine }) => {
    const daemon = intoFull(machine, "serve", "--dev", "--listen", "127.0.0.1:0", "--data-dir", machine.dir);
    await expect.poll(() => existsSync(join(machine.dir, "webhookd.sock"))).toBe(true);
    expect((await machine.webhookd("events", "list")).code).toBe(0);
    daemon.kill("SIGTERM");
    expect(await daemon.exit).toBe(0);
  });
});
