import { describe, expect } from "vitest";
import { it } from "../harness/process.ts";

describe.concurrent("a data directory", () => {
  it("is held by one daemon: a second one exits 75 and says who has it since when", async ({ machine }) => {
    const first = await machine.serve();
    const second = machine.start();
    expect(await second.exit).toBe(75);
    expect(second.stderr).toMatch(
      new RegExp(
        `^webhookd: another webhookd \\(process ${first.process.child.pid} on .+, started \\d{4}-.+Z\\) is using`,
      ),
    );
    expect(second.stderr).toContain(machine.dir);
    expect(second.stdout).not.toContain("listening");
  });

  // Closing a file drops every lock that the process has on it, so nothing but SQLite may ever open the locked file.
  it("is held still after all that a daemon does with its files", async ({ machine }) => {
    const first = await machine.serve();
    expect((await first.request("POST", "/v1/backups", {})).status).toBe(201);
    expect((await first.request("POST", "/v1/secret-key/rekey")).status).toBe(200);
    expect((await first.request("GET", "/v1/status")).status).toBe(200);
    first.process.kill("SIGHUP");
    await first.process.json(({ msg }) => /SIGHUP|reload/i.test(String(msg)));
    const second = machine.start();
    const listens = second.json(({ msg }) => msg === "listening").then(() => "it listens");
    expect(await Promise.race([second.exit, listens.catch(() => second.exit)])).toBe(75);
  });

  it("and that one goes on as if there had been no second: port, socket, deliveries", async ({ machine }) => {
    const receiver = await machine.receiver();
    const first = await machine.serve();
    await first.register(receiver.url);
    expect(await machine.start().exit).toBe(75);
    expect(await first.settled(await first.publish())).toMatchObject({ status: "delivered" });
    expect(await machine.webhookd("keys", "list")).toMatchObject({ code: 0 });
    expect(await first.stop()).toBe(0);
  });

  it("can be had at once when its daemon was killed, with its socket and all that was acknowledged", async ({
    machine,
  }) => {
    const receiver = await machine.receiver("hang");
    const first = await machine.serve();
    await first.register(receiver.url);
    const id = await first.publish();
    await receiver.next();
    expect(await first.kill9()).toBe("SIGKILL");

    const second = await machine.serve();
    expect(await second.settled(id)).toMatchObject({ status: "delivered" });
    expect(await machine.webhookd("keys", "list")).toMatchObject({ code: 0 });
    // The attempt that the kill cut off left no row, and its number is used again.
    expect(await second.attempts(id)).toEqual([expect.objectContaining({ number: 1, outcome: "succeeded" })]);
    expect(receiver.requests.map(({ headers }) => headers["webhook-id"])).toEqual([id, id]);
  });
});
